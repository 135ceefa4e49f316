//! Records of all kinds, as the history keeps them and shows them again.

use steady_feature::Record;
use steady_history::{judged_run_json_text, other_run_text, runs_json_text, said_run_json_text, said_run_text};
use steady_model::{Kept, RunKind};
use steady_render::json::ReadError;

use crate::features;
use crate::flags::ListFormat;
use crate::output::style;

/// The record whose JSON is `text`, judged again where there is something to judge.
pub(super) fn read(kind: RunKind, text: &str) -> Result<Box<dyn Record>, ReadError> {
    (features::record_kind(kind).read)(text)
}

/// The text of a record's JSON: all of it.
pub(super) fn export(record: &dyn Record) -> String {
    record.json(true)
}

/// A record by itself, in short.
pub(super) fn shown(record: &dyn Record, kept: &Kept, format: ListFormat) -> String {
    let sentences = record.sentences();
    match (format, record.verdicts()) {
        (ListFormat::Json, Some(verdicts)) => judged_run_json_text(kept, verdicts),
        (ListFormat::Text, _) if sentences.is_empty() => other_run_text(kept, style()),
        (ListFormat::Json, None) if sentences.is_empty() => runs_json_text(std::slice::from_ref(kept)),
        (ListFormat::Text, _) => said_run_text(kept, &sentences, style()),
        (ListFormat::Json, None) => said_run_json_text(kept, &sentences),
    }
}
