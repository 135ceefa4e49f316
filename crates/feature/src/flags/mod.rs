//! Options that several features have, and what their values mean.

mod output;
mod values;

pub use output::{FileFlags, Form, FormatFlag, OutputFlags};
pub use values::{confidence, duration, resolution, size, span};
