//! Remedies. They name only options that the plan does not have already.

use steady_model::{Effort, Ending, Interval, Judgement, Metric, Nanos, Record, Verdict};
use steady_stats::time_to_exclude;

use super::{noun, pairs_of_each};
use crate::judge::least_pairs;
use crate::units::{round_time_up, round_up, time_option, time_setting};

/// The largest budget that a remedy names.
const TOO_LONG: Nanos = Nanos(86_400 * 1_000_000_000);

/// The largest ratio to the effort spent that a remedy names.
pub const RATIO_MAX: f64 = 100.0;

/// Why no remedy names what would decide a condition.
pub const TOO_CLOSE: &str = "the estimate is so close to the limit that it is not known how much time would decide it";

/// What follows an effort that is this ratio of the effort spent. A large ratio may be several times too large or too
/// small.
pub fn roughness(ratio: f64) -> &'static str {
    const ROUGH: f64 = 5.0;
    if ratio > ROUGH { " (a rough estimate)" } else { "" }
}

/// What would probably lead to a verdict. `ratio` is the estimated effort, as a multiple of the effort spent so far.
pub(crate) fn effort_for_verdict(record: &Record, ratio: Option<f64>) -> String {
    match ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0) {
        Some(ratio) => effort_for(record, ratio, "would probably give a verdict"),
        None => format!("it is not known how much longer a verdict would take; {}", more_effort(record)),
    }
}

/// What would probably decide a condition whose limit is inside the interval of the change.
pub(crate) fn effort_for_condition(record: &Record, limit: f64, change: f64, interval: &Interval) -> String {
    effort_to_exclude(record, limit, change, interval).unwrap_or_else(|| TOO_CLOSE.to_owned())
}

/// What would probably show whether the mean cost agrees with the verdict on the usual run.
pub(crate) fn effort_for_mean(record: &Record, judgement: Option<&Judgement>) -> String {
    let effort = || {
        let judgement = judgement?;
        let (change, interval) = (*judgement.mean.change.as_ref().ok()?, judgement.mean.interval.as_ref().ok()?);
        let limit = match judgement.verdict {
            Verdict::Same => record.plan.resolution.copysign(change),
            Verdict::Faster | Verdict::Slower | Verdict::Undecided => 0.0,
        };
        effort_to_exclude(record, limit, change, interval)
    };
    effort().unwrap_or_else(|| more_effort(record))
}

/// What would probably exclude `limit` from the interval of a change. `None` if the estimate is too close to it.
fn effort_to_exclude(record: &Record, limit: f64, change: f64, interval: &Interval) -> Option<String> {
    let ratio = time_to_exclude(limit, change, interval).filter(|ratio| *ratio <= RATIO_MAX)?;
    Some(effort_for(record, ratio, "would probably decide it"))
}

/// What would give an interval if there are too few pairs, by the time or the runs of these pairs. A time has a margin,
/// because pairs under load do not all take the same time.
pub(crate) fn effort_for_interval(record: &Record, pairs: usize) -> String {
    /// The margin of a time.
    const MARGIN: f64 = 2.0;
    let (does, least) = ("would give an interval", least_pairs(&record.plan));
    match limit(record) {
        Limit::Budget(_) => effort_for(record, MARGIN * least as f64 / pairs as f64, does),
        // Unlike numbers that are estimated, this one is not rounded: every run more costs the user time.
        Limit::Pairs(option, given) => {
            let wanted = (least * record.rounds()).div_ceil(pairs) as u64;
            let about = if pairs == record.rounds() { "" } else { "about " };
            if wanted > given {
                return format!("{about}{} {does}: {option} {wanted}", pairs_of_each(&record.plan, wanted));
            }
            effort_left(record, &format!("all {}", pairs_of_each(&record.plan, given)), does)
        }
    }
}

/// Advice to measure twice as much, by the option that limits the effort now.
pub(crate) fn more_effort(record: &Record) -> String {
    match limit(record) {
        Limit::Budget(budget) => format!("try --budget {}", time_option(Nanos(budget.0.saturating_mul(2)))),
        Limit::Pairs(option, pairs) => format!("try {option} {}", pairs.saturating_mul(2)),
    }
}

/// What limits the effort of a comparison.
enum Limit {
    Budget(Nanos),
    /// An option and its number of pairs.
    Pairs(&'static str, u64),
}

fn limit(record: &Record) -> Limit {
    match (record.plan.effort, record.plan.pairs_max) {
        (Effort::Pairs(pairs), _) => Limit::Pairs("--runs", pairs),
        (Effort::Budget(_), Some(most)) if record.rounds() as u64 >= most => Limit::Pairs("--max-runs", most),
        (Effort::Budget(budget), _) => Limit::Budget(budget),
    }
}

/// The option that gives `ratio` times the effort spent so far, and what that effort would do.
fn effort_for(record: &Record, ratio: f64, does: &str) -> String {
    match limit(record) {
        Limit::Budget(budget) => {
            let wanted = round_time_up(ratio * record.elapsed.seconds());
            if wanted > TOO_LONG {
                format!("more than a day {does}: a coarser --resolution needs less time")
            } else if wanted > budget {
                let rough = roughness(ratio);
                format!("about {} {does}{rough}: --budget {}", time_setting(wanted), time_option(wanted))
            } else {
                effort_left(record, &format!("the budget of {}", time_setting(budget)), does)
            }
        }
        Limit::Pairs(option, pairs) => {
            let wanted = round_up(ratio * record.rounds() as f64).min(1e15) as u64;
            if wanted > pairs {
                return format!("about {} {does}: {option} {wanted}", pairs_of_each(&record.plan, wanted));
            }
            effort_left(record, &format!("all {}", pairs_of_each(&record.plan, pairs)), does)
        }
    }
}

/// What the effort would do that an interrupted comparison had left.
fn effort_left(record: &Record, within: &str, does: &str) -> String {
    match record.ending {
        Ending::Interrupted => format!("{within} {does}: do not interrupt it"),
        Ending::Decided | Ending::Spent => more_effort(record),
    }
}

/// What helps if the difference between runs is smaller than the resolution of the clock.
pub(crate) fn more_work(record: &Record, metric: Metric) -> String {
    let work = "give each run more work: a larger input, or a loop";
    if metric == Metric::Wall || metric.is_count() || record.plan.metric == Some(Metric::Wall) {
        work.to_owned()
    } else {
        format!("{work}; or compare {}, whose clock is finer: --metric wall", noun(Metric::Wall))
    }
}
