//! Programs kept warm, as text.

mod status;

pub use status::warm_status_text;
