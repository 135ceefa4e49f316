//! Options that several features have, and what their values mean.

mod output;
mod values;

pub use output::{FileFlags, Form, FormatFlag, OutputFlags};
pub use values::{IgnoredFailures, chosen_cpus, confidence, duration, failures, resolution, size, span};
