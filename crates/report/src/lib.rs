//! Shows a [`steady_model::Report`]: as text, as Markdown and as a page for people, as JSON and CSV for programs; and reads
//! that JSON back into the record that it was made of. Pure functions: no files, no clock, no environment.
#![forbid(unsafe_code)]

mod csv;
mod json;
mod markdown;
mod text;
mod units;
mod words;

pub use csv::csv;
pub use json::{ReadError, SCHEMA, json, json_text, read_record};
pub use markdown::markdown;
pub use text::{Style, sentence, text};
pub use words::warning_message;
