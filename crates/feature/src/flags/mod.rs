//! Options that several features have, and what their values mean.

mod output;
pub(crate) mod values;

pub use output::{FileFlags, Form, FormatFlag, OutputFlags};
pub use values::{IgnoredFailures, confidence, duration, failures, resolution, size, span};
