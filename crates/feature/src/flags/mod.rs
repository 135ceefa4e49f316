//! Options that several features have, and what their values mean.

mod output;
pub(crate) mod values;
mod verdict;

pub use output::{FileFlags, Form, FormatFlag, OutputFlags};
pub use values::{IgnoredFailures, duration, failures, size, span};
pub use verdict::{GateFlags, PrecisionFlags};
