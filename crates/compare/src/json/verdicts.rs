//! The verdicts in JSON.

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::{
    Absent, DecidedBy, FailIf, GateState, Joined, Judgement, Layout, LayoutEffect, Metric, Reading, Record, Report,
    Undecided, Verdict,
};
use steady_render::json::{ends, finite};

use crate::document::sentence;
use crate::judge::state;

/// The verdict on one command relative to the first, by one metric. Effects are relative changes (NEW / OLD - 1).
#[derive(Serialize, JsonSchema)]
pub(super) struct MetricVerdict {
    /// The metric of the verdict.
    metric: Metric,
    /// The index of the command.
    command: usize,
    /// Whether this is the metric that stopped the measuring and carries the error guarantee.
    primary: bool,
    /// The verdict on the command.
    verdict: Verdict,
    /// Whether the whole interval lies within the resolution.
    within_resolution: bool,
    /// The statistic that the verdict and `change` come from.
    decided_by: DecidedBy,
    /// The size of the effect.
    change: Reading<f64>,
    /// The lower end of the interval of `change`.
    low: Reading<f64>,
    /// The upper end of the interval of `change`.
    high: Reading<f64>,
    /// The lower end of the interval over all pairs, on which the verdict is based.
    verdict_low: Reading<f64>,
    /// The upper end of the interval over all pairs.
    verdict_high: Reading<f64>,
    /// The effect on the usual run.
    usual_change: Reading<f64>,
    /// The lower end of the interval of `usual_change`.
    usual_low: Reading<f64>,
    /// The upper end of the interval of `usual_change`.
    usual_high: Reading<f64>,
    /// The effect on the mean cost.
    mean_change: Reading<f64>,
    /// The lower end of the interval of `mean_change`.
    mean_low: Reading<f64>,
    /// The upper end of the interval of `mean_change`.
    mean_high: Reading<f64>,
    /// The confidence of the intervals.
    confidence: Reading<f64>,
    /// The number of pairs, or of draws of snapshots.
    pairs: usize,
    /// Whether the condition of `--fail-if` holds. Missing without a condition, and for secondary metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<GateState>,
    /// Why the verdict is undecided. Not available if there is a verdict, or if a secondary metric was not measured.
    undecided: Reading<Undecided>,
    /// The effort that would probably give a verdict, as a multiple of the effort spent.
    effort_to_settle_ratio: Reading<f64>,
    /// The factor by which changing load widened the interval, compared with all pairs being as quiet as the quietest
    /// quarter. Missing in joint verdicts, because each source has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reading<f64>")]
    widening_ratio: Option<Reading<f64>>,
    /// The effect by layout.
    layouts: Vec<LayoutVerdict>,
    /// The unit of `pairs` if it is draws of snapshots.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    /// The verdict in words. Only exports of the history have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sentence: Option<String>,
}

/// The effect in one layout.
#[derive(Serialize, JsonSchema)]
struct LayoutVerdict {
    /// The layout of these pairs.
    layout: Layout,
    /// The estimate of the effect.
    change: Reading<f64>,
    /// The lower end of its interval.
    low: Reading<f64>,
    /// The upper end of its interval.
    high: Reading<f64>,
    /// The number of pairs in this layout.
    pairs: usize,
}

impl From<&LayoutEffect> for LayoutVerdict {
    fn from(effect: &LayoutEffect) -> Self {
        let [low, high] = ends(&Ok(effect.interval));
        let change = finite(effect.change, "not a number");
        LayoutVerdict { layout: effect.layout, change, low, high, pairs: effect.pairs }
    }
}

impl MetricVerdict {
    /// The verdict, and whether the condition holds.
    fn new(judgement: &Judgement, fail_if: Option<FailIf>, is_tested: bool) -> Self {
        let [low, high] = ends(&judgement.interval);
        let [verdict_low, verdict_high] = ends(&judgement.verdict_interval);
        let [usual_low, usual_high] = ends(&judgement.usual.interval);
        let [mean_low, mean_high] = ends(&judgement.mean.interval);
        let is_open = judgement.undecided.is_some();
        let settled = if is_open { "the effort for a verdict is not known" } else { "there is a verdict" };
        // A secondary metric that no pair has was not measured, and more pairs may not help.
        let unmeasured = judgement.change.as_ref().err().filter(|_| judgement.pairs == 0 && !judgement.primary);
        let number = |value: Option<f64>, why: &str| match unmeasured {
            Some(absent) => Err(absent.clone()),
            None => finite(value.unwrap_or(f64::NAN), why),
        };
        MetricVerdict {
            metric: judgement.metric,
            command: judgement.command,
            primary: judgement.primary,
            verdict: judgement.verdict,
            within_resolution: judgement.within_resolution,
            decided_by: judgement.decided_by,
            change: judgement.change.clone(),
            low,
            high,
            verdict_low,
            verdict_high,
            usual_change: judgement.usual.change.clone(),
            usual_low,
            usual_high,
            mean_change: judgement.mean.change.clone(),
            mean_low,
            mean_high,
            confidence: finite(judgement.confidence, "not a number"),
            pairs: judgement.pairs,
            condition: fail_if.filter(|_| judgement.primary).map(|fail_if| state(fail_if, judgement, is_tested)),
            undecided: match unmeasured {
                Some(absent) => Err(absent.clone()),
                None => judgement.undecided.ok_or_else(|| Absent::because("there is a verdict")),
            },
            effort_to_settle_ratio: number(judgement.effort_to_settle, settled),
            widening_ratio: Some(number(judgement.widening, "there are too few pairs")),
            layouts: judgement.layouts.iter().map(LayoutVerdict::from).collect(),
            unit: None,
            sentence: None,
        }
    }
}

/// A verdict of one comparison, without its sentence.
pub(super) fn of(record: &Record, judgement: &Judgement) -> MetricVerdict {
    let unit = record.has_draws().then_some("draw");
    MetricVerdict { unit, ..MetricVerdict::new(judgement, record.plan.fail_if, !record.unused_revisions) }
}

/// A verdict of one comparison with its sentence, for the history.
pub(super) fn stated(report: &Report, judgement: &Judgement) -> MetricVerdict {
    let sentence = Some(sentence(report, judgement));
    let record = &report.record;
    MetricVerdict { sentence, ..MetricVerdict::new(judgement, record.plan.fail_if, !record.unused_revisions) }
}

/// A joint verdict of all sources.
pub(super) fn joined(joined: &Joined, judgement: &Judgement) -> MetricVerdict {
    let fail_if = joined.plan().and_then(|plan| plan.fail_if);
    let is_tested = joined.sources.iter().all(|source| !source.report.record.unused_revisions);
    MetricVerdict { widening_ratio: None, ..MetricVerdict::new(judgement, fail_if, is_tested) }
}
