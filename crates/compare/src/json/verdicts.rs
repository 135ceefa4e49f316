//! The verdicts in JSON.

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::{GateState, Joined, Judgement, Plan, Record, Report};

use crate::document::sentence;
use crate::judge::{state, untested};

/// The verdict on one command relative to the first, by one metric. Effects are relative changes (NEW / OLD - 1).
#[derive(Serialize, JsonSchema)]
pub(super) struct MetricVerdict<'a> {
    #[serde(flatten)]
    judgement: &'a Judgement,
    /// Whether the condition of `--fail-if` holds. Missing without a condition, and for secondary metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<GateState>,
    /// The unit of `pairs` if it is draws of snapshots.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    /// The verdict in words. Only exports of the history have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sentence: Option<String>,
}

impl<'a> MetricVerdict<'a> {
    /// The verdict, and whether the condition holds.
    fn new(judgement: &'a Judgement, plan: Option<&Plan>, is_tested: bool) -> Self {
        let fail_if = plan.and_then(|plan| plan.fail_if).filter(|_| judgement.primary);
        let condition = fail_if.map(|fail_if| state(fail_if, judgement, is_tested));
        MetricVerdict { judgement, condition, unit: None, sentence: None }
    }
}

/// A verdict of one comparison, without its sentence.
pub(super) fn of<'a>(record: &Record, judgement: &'a Judgement) -> MetricVerdict<'a> {
    let unit = record.has_draws().then_some("draw");
    MetricVerdict { unit, ..MetricVerdict::new(judgement, Some(&record.plan), untested(record).is_none()) }
}

/// A verdict of one comparison with its sentence, for the history.
pub(super) fn stated<'a>(report: &Report, judgement: &'a Judgement) -> MetricVerdict<'a> {
    let (record, sentence) = (&report.record, Some(sentence(report, judgement)));
    MetricVerdict { sentence, ..MetricVerdict::new(judgement, Some(&record.plan), untested(record).is_none()) }
}

/// A joint verdict of all sources.
pub(super) fn joined<'a>(joined: &Joined, judgement: &'a Judgement) -> MetricVerdict<'a> {
    let is_tested = joined.sources.iter().all(|source| untested(&source.report.record).is_none());
    MetricVerdict::new(judgement, joined.plan(), is_tested)
}
