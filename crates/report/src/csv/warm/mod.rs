//! Programs kept warm, as comma-separated values.

mod status;

pub use status::warm_status_csv;
