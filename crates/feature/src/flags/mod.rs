//! Options that several features have, and what their values mean.

mod failures;
mod output;
mod values;
mod verdict;

pub use failures::{IgnoredFailures, failures};
pub use output::{FileFlags, Form, FormatFlag, OutputFlags};
pub use values::{duration, size, span};
pub use verdict::{GateFlags, PrecisionFlags};
