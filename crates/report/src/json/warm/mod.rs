//! The JSON of programs kept warm; what it tells of is its `kind`.

mod status;

pub use status::{warm_status_json, warm_status_json_text};

/// The name and version of what is told of programs kept warm.
pub const WARM_SCHEMA: &str = "steady.warm/1";
