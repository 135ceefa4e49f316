//! Shows a [`steady_model::Report`]: as text, as Markdown and as a page for people, as JSON and CSV for programs; and reads
//! that JSON back into the record that it was made of. Shows the runs of a history, too. Pure
//! functions: no files, no clock, no environment.
#![forbid(unsafe_code)]

mod csv;
mod html;
mod json;
mod markdown;
mod text;
mod words;

pub use steady_render::json::ReadError;
pub(crate) use steady_render::units;
pub use steady_render::{Style, ascii};

pub use csv::warm_bench_csv;
pub use csv::warm_status_csv;
pub use csv::{csv, explain_csv, explain_pair_csv};
pub use html::warm_bench_html;
pub use html::warm_status_html;
pub use html::{explain_html, explain_pair_html, html};
pub use json::{
    EXPLAIN_SCHEMA, HISTORY_SCHEMA, JOINED_SCHEMA, LOAD_SCHEMA, RULERS_SCHEMA, SCHEMA, explain_json, explain_json_text,
    explain_pair_json, explain_pair_json_text, explains_a_pair, joined_json, joined_json_text, json, json_text,
    load_json, load_json_text, read_explain_pair_record, read_explain_record, read_load_record, read_record,
    read_ruler_record, rulers_json, rulers_json_text, run_json_text, runs_json_text, said_run_json_text,
};
pub use json::{WARM_SCHEMA, warm_status_json, warm_status_json_text};
pub use json::{read_warm_bench_record, warm_bench_json, warm_bench_json_text};
pub use markdown::warm_bench_markdown;
pub use markdown::warm_status_markdown;
pub use markdown::{explain_markdown, explain_pair_markdown, markdown};
pub use text::warm_bench_text;
pub use text::warm_status_text;
pub use text::{
    explain_pair_text, explain_text, joined_text, other_run_text, run_text, runs_text, said_run_text, sentence,
    summary, text,
};
pub use words::explain::{explain_pair_summary, explain_summary};
pub use words::one_line;
pub use words::warm::bench::warm_bench_summary;
pub use words::warning_message;
