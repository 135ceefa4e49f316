//! Runs as JSON.

use serde::Serialize;
use serde_json::Value;
use steady_model::{Kept, Metric, Reading, RunKind, Seed, Timestamp};
use steady_render::json::{self, Schema};
use steady_render::timestamp;

/// The schema of what is written here.
pub const SCHEMA: Schema = Schema { name: "steady.history/1", what: "a history" };

/// Runs. A reading that is absent is null, with the reason in `<name>_absent` next to it.
#[derive(Serialize)]
struct Runs<'a> {
    runs: Vec<Listed<'a>>,
}

/// A run: what tells it from others, and what it says.
#[derive(Serialize)]
struct Listed<'a> {
    id: i64,
    kind: RunKind,
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
pub fn judged_run_json_text(kept: &Kept, verdicts: Value) -> String {
    text(vec![Listed { verdicts: Some(verdicts), ..listed(kept) }])
}

/// One run of the history, with what it says in sentences.
pub fn said_run_json_text(kept: &Kept, sentences: &[String]) -> String {
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
        kind: facts.kind,
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
