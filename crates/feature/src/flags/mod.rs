//! Options that several features have, and what their values mean.

mod failures;
mod output;
mod values;

pub use failures::{IgnoredFailures, failures};
pub use output::{FileFlags, Form, FormatFlag, OutputFlags};
pub use values::{confidence, duration, resolution, size, span};
