//! Shows records of all kinds.

use steady_feature::Record;
use steady_history::{
    run_json_text_with_sentences, run_json_text_with_verdicts, run_text, run_text_with_sentences, runs_json_text,
};
use steady_model::Kept;

use crate::flags::ListFormat;
use crate::output::style;

/// The JSON of a record with all samples, as the history stores it.
pub(super) fn export(record: &dyn Record) -> String {
    record.json(true)
}

/// The facts and the results of one run.
pub(super) fn shown(record: &dyn Record, kept: &Kept, format: ListFormat) -> String {
    let sentences = record.sentences();
    match (format, record.verdicts()) {
        (ListFormat::Json, Some(verdicts)) => run_json_text_with_verdicts(kept, verdicts),
        (ListFormat::Text, _) if sentences.is_empty() => run_text(kept, style()),
        (ListFormat::Json, None) if sentences.is_empty() => runs_json_text(std::slice::from_ref(kept)),
        (ListFormat::Text, _) => run_text_with_sentences(kept, &sentences, style()),
        (ListFormat::Json, None) => run_json_text_with_sentences(kept, &sentences),
    }
}
