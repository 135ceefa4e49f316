//! Shows a [`steady_model::Report`]: as text, as Markdown and as a page for people, as JSON and CSV for programs; and reads
//! that JSON back into the record that it was made of. Shows the runs of a history, too. Pure
//! functions: no files, no clock, no environment.
#![forbid(unsafe_code)]

mod csv;
mod document;
mod json;
mod text;
mod words;

pub use steady_render::json::ReadError;
pub(crate) use steady_render::units;
pub use steady_render::{Style, ascii};

pub use csv::csv;
pub use document::{document, headline, joined_document, sentence};
pub use json::{
    HISTORY_SCHEMA, JOINED_SCHEMA, SCHEMA, joined_json, joined_json_text, json, json_text, judged_run_json_text,
    read_record, read_record_of, record_fields, runs_json_text, said_run_json_text, verdicts_json,
};
pub use text::{other_run_text, runs_text, said_run_text, summary};
pub use words::one_line;
pub use words::warning_message;
