//! Shows a [`steady_model::Report`]: as text, as Markdown and as a page for people, as JSON and CSV for programs; and reads
//! that JSON back into the record that it was made of. Shows the runs of a history too. Pure functions: no files, no clock,
//! no environment.
#![forbid(unsafe_code)]

mod csv;
mod html;
mod json;
mod markdown;
mod text;
mod units;
mod words;

pub use csv::csv;
pub use html::html;
pub use json::{
    HISTORY_SCHEMA, JOINED_SCHEMA, ReadError, SCHEMA, joined_json, joined_json_text, json, json_text, read_record,
    run_json_text, runs_json_text,
};
pub use markdown::markdown;
pub use text::{Style, joined_text, run_text, runs_text, sentence, summary, text};
pub use words::load::load_sentences;
pub use words::warning_message;
