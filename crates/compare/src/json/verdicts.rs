//! The verdicts.

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::{DecidedBy, Judgement, Layout, LayoutEffect, Metric, Reading, Record, Report, Undecided, Verdict};
use steady_render::json::{ends, finite};

use crate::document::sentence;

/// The verdict on one command beside the first, by one metric. Effects are relative changes (NEW / OLD - 1).
#[derive(Serialize, JsonSchema)]
pub(super) struct MetricVerdict {
    /// Which cost it is about.
    metric: Metric,
    /// Which command.
    command: usize,
    /// Whether this is the metric that stopped the measuring and carries the error guarantee.
    primary: bool,
    /// The verdict.
    verdict: Verdict,
    /// Whether the whole interval lies within the resolution.
    within_resolution: bool,
    /// The statistic that the verdict and `change` come from.
    decided_by: DecidedBy,
    /// The size of the effect.
    change: Reading<f64>,
    /// The lower end of its interval.
    low: Reading<f64>,
    /// The upper end.
    high: Reading<f64>,
    /// The lower end of the interval over all pairs, on which the verdict stands.
    verdict_low: Reading<f64>,
    /// The upper end.
    verdict_high: Reading<f64>,
    /// The effect on the usual run.
    usual_change: Reading<f64>,
    /// The lower end of its interval.
    usual_low: Reading<f64>,
    /// The upper end.
    usual_high: Reading<f64>,
    /// The effect on the mean cost.
    mean_change: Reading<f64>,
    /// The lower end of its interval.
    mean_low: Reading<f64>,
    /// The upper end.
    mean_high: Reading<f64>,
    /// The confidence of the intervals.
    confidence: Reading<f64>,
    /// How many pairs, or draws of snapshots, it rests on.
    pairs: usize,
    /// Why it is undecided, where it is.
    undecided: Option<Undecided>,
    /// How many times the effort would probably settle it.
    effort_to_settle_ratio: Reading<f64>,
    /// By how much load that moved widened the interval, beside all pairs being as quiet as the quietest quarter. Missing if
    /// several comparisons are joined: it is each one's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reading<f64>")]
    widening_ratio: Option<Reading<f64>>,
    /// The effect by layout.
    layouts: Vec<LayoutVerdict>,
    /// What `pairs` counts, if that is draws of snapshots.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    /// The verdict in words, in the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    sentence: Option<String>,
}

/// An effect as one layout saw it.
#[derive(Serialize, JsonSchema)]
struct LayoutVerdict {
    /// The layout.
    layout: Layout,
    /// The estimate.
    change: Reading<f64>,
    /// The lower end of its interval.
    low: Reading<f64>,
    /// The upper end.
    high: Reading<f64>,
    /// How many pairs it rests on.
    pairs: usize,
}

impl From<&LayoutEffect> for LayoutVerdict {
    fn from(effect: &LayoutEffect) -> Self {
        let [low, high] = ends(&Ok(effect.interval));
        let change = finite(effect.change, "not a number");
        LayoutVerdict { layout: effect.layout, change, low, high, pairs: effect.pairs }
    }
}

impl From<&Judgement> for MetricVerdict {
    fn from(judgement: &Judgement) -> Self {
        let [low, high] = ends(&judgement.interval);
        let [verdict_low, verdict_high] = ends(&judgement.verdict_interval);
        let [usual_low, usual_high] = ends(&judgement.usual.interval);
        let [mean_low, mean_high] = ends(&judgement.mean.interval);
        let is_open = judgement.undecided.is_some();
        let settled = if is_open { "no effort is known to settle it" } else { "the verdict is in" };
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
            undecided: judgement.undecided,
            effort_to_settle_ratio: finite(judgement.effort_to_settle.unwrap_or(f64::NAN), settled),
            widening_ratio: Some(finite(judgement.widening.unwrap_or(f64::NAN), "too few pairs to tell")),
            layouts: judgement.layouts.iter().map(LayoutVerdict::from).collect(),
            unit: None,
            sentence: None,
        }
    }
}

/// A verdict of a record.
pub(super) fn of(record: &Record, judgement: &Judgement) -> MetricVerdict {
    MetricVerdict { unit: record.is_warm().then_some("draw"), ..judgement.into() }
}

/// A verdict with its sentence.
pub(super) fn stated(report: &Report, judgement: &Judgement) -> MetricVerdict {
    MetricVerdict { sentence: Some(sentence(report, judgement)), ..judgement.into() }
}

/// A verdict of all sources together.
pub(super) fn joined(judgement: &Judgement) -> MetricVerdict {
    MetricVerdict { widening_ratio: None, ..judgement.into() }
}
