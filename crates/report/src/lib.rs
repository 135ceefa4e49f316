//! Shows a [`steady_model::Report`]: as text for people, as JSON for programs, and reads that JSON back into the
//! record that it was made of. Pure functions: no files, no clock, no environment.
#![forbid(unsafe_code)]

mod json;
mod text;
mod units;
mod words;

pub use json::{ReadError, SCHEMA, json, json_text, read_record};
pub use text::{Style, sentence, text};
pub use words::warning_message;
