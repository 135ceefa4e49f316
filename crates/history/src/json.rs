//! The runs of the history as JSON.

use serde::Serialize;
use serde_json::Value;
use steady_model::{Kept, Metric, Reading, RunKind, Seed, Timestamp};
use steady_render::json::{self, Schema};
use steady_render::timestamp;

/// The schema of this JSON.
pub const SCHEMA: Schema = Schema { name: "steady.history/1", what: "a history" };

/// Runs of the history. A reading that is not available is null, and `<name>_absent` has the reason.
#[derive(Serialize)]
struct Runs<'a> {
    runs: Vec<Listed<'a>>,
}

/// A run: its facts, and its verdicts or sentences.
#[derive(Serialize)]
struct Listed<'a> {
    id: i64,
    kind: &'a RunKind,
    #[serde(with = "timestamp")]
    started: Timestamp,
    commands: &'a [String],
    pairs: &'a Reading<usize>,
    complete: bool,
    metric: &'a Reading<Metric>,
    verdict: &'a str,
    hostname: &'a Reading<String>,
    kernel: &'a Reading<String>,
    revision: &'a Reading<String>,
    seed: &'a Reading<Seed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdicts: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sentences: Option<Vec<String>>,
}

/// Runs of the history as indented text that ends with a newline.
pub fn runs_json_text(runs: &[Kept]) -> String {
    text(runs.iter().map(listed).collect())
}

/// One run of the history, with its verdicts.
pub fn run_json_text_with_verdicts(kept: &Kept, verdicts: Value) -> String {
    text(vec![Listed { verdicts: Some(verdicts), ..listed(kept) }])
}

/// One run of the history, with its results in sentences.
pub fn run_json_text_with_sentences(kept: &Kept, sentences: &[String]) -> String {
    let sentences = sentences.iter().map(|text| text.replace('\u{a0}', " ")).collect();
    text(vec![Listed { sentences: Some(sentences), ..listed(kept) }])
}

fn text(runs: Vec<Listed<'_>>) -> String {
    json::text(&SCHEMA, &Runs { runs })
}

fn listed(kept: &Kept) -> Listed<'_> {
    let facts = &kept.facts;
    Listed {
        id: kept.id,
        kind: &facts.kind,
        started: facts.started,
        commands: &facts.commands,
        pairs: &facts.pairs,
        complete: facts.complete,
        metric: &facts.primary,
        verdict: &facts.verdict,
        hostname: &facts.hostname,
        kernel: &facts.kernel,
        revision: &facts.revision,
        seed: &facts.seed,
        verdicts: None,
        sentences: None,
    }
}
