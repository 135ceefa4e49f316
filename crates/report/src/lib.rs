//! Shows a [`steady_model::Report`]: as text, as Markdown and as a page for people, as JSON and CSV for programs; and reads
//! that JSON back into the record that it was made of. Shows the runs of a history, too. Pure
//! functions: no files, no clock, no environment.
#![forbid(unsafe_code)]

mod csv;
mod document;
mod html;
mod json;
mod markdown;
mod text;
mod words;

pub use steady_render::json::ReadError;
pub(crate) use steady_render::units;
pub use steady_render::{Style, ascii};

pub use csv::csv;
pub use csv::release_csv;
pub use document::{document, headline, joined_document, sentence};
pub use html::release_html;
pub use json::{
    HISTORY_SCHEMA, JOINED_SCHEMA, SCHEMA, joined_json, joined_json_text, json, json_text, judged_run_json_text,
    read_record, read_record_of, record_fields, runs_json_text, said_run_json_text, verdicts_json,
};
pub use json::{RELEASE_SCHEMA, read_release_report, release_json, release_json_text};
pub use markdown::release_markdown;
pub use text::{other_run_text, runs_text, said_run_text, summary};
pub use text::{release_answer_text, release_text};
pub use words::one_line;
pub use words::release::{release_sight, release_summary};
pub use words::warning_message;
