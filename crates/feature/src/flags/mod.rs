//! Options that several features share, and the parsers of their values.

mod output;
pub(crate) mod values;
mod verdict;

pub use output::{FileFlags, Form, FormatFlag, OutputFlags};
pub use values::{IgnoredFailures, age, duration, failures, size, span, whole_number};
pub use verdict::{GateFlags, PrecisionFlags};
