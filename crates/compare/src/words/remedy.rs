//! Remedies. They name only options that the plan does not have already.

use steady_model::{Effort, Ending, Interval, Metric, Nanos, Record};
use steady_stats::{MIN_PAIRS, time_to_exclude};

use super::{count, noun};
use crate::units::{round_time_up, round_up, time_option, time_setting};

/// The largest budget that a remedy names.
const TOO_LONG: Nanos = Nanos(86_400 * 1_000_000_000);

/// With more than this ratio to the effort spent, an estimate may be several times too large or too small.
const ROUGH: f64 = 5.0;

/// What would probably lead to a verdict. `ratio` is the estimated effort, as a multiple of the effort spent so far.
pub(crate) fn effort_for_verdict(record: &Record, ratio: Option<f64>) -> String {
    match ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0) {
        Some(ratio) => effort_for(record, ratio, "would probably give a verdict"),
        None => format!("it is not known how much longer a verdict would take; {}", more_effort(record)),
    }
}

/// What would probably decide a condition whose limit is inside the interval of the change.
pub(crate) fn effort_for_condition(record: &Record, limit: f64, change: f64, interval: &Interval) -> String {
    /// The largest ratio that a remedy names.
    const RATIO_MAX: f64 = 100.0;
    match time_to_exclude(limit, change, interval).filter(|ratio| *ratio <= RATIO_MAX) {
        Some(ratio) => effort_for(record, ratio, "would probably decide it"),
        None => "the estimate is so close to the limit that it is not known how much time would decide it".to_owned(),
    }
}

/// What would give an interval if there are too few pairs, by the time or the runs of these pairs. A time has a margin,
/// because pairs under load do not all take the same time.
pub(crate) fn effort_for_interval(record: &Record, pairs: usize) -> String {
    /// The margin of a time.
    const MARGIN: f64 = 2.0;
    let margin = if let Limit::Budget(_) = limit(record) { MARGIN } else { 1.0 };
    effort_for(record, margin * MIN_PAIRS as f64 / pairs as f64, "would give an interval")
}

/// Advice to measure more, by the option that limits the effort now.
pub(crate) fn more_effort(record: &Record) -> String {
    match limit(record) {
        Limit::Budget(budget) => format!("set --budget to more than {}", time_setting(budget)),
        Limit::Pairs(option, pairs) => format!("set {option} to more than {pairs}"),
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
        (Effort::Budget(_), Some(most)) if record.blocks.len() as u64 >= most => Limit::Pairs("--max-runs", most),
        (Effort::Budget(budget), _) => Limit::Budget(budget),
    }
}

/// The option that gives `ratio` times the effort spent so far, and what that effort would do.
fn effort_for(record: &Record, ratio: f64, does: &str) -> String {
    let within = match limit(record) {
        Limit::Budget(budget) => {
            let wanted = round_time_up(ratio * record.elapsed.seconds());
            if wanted > TOO_LONG {
                return format!("more than a day {does}: a coarser --resolution needs less time");
            }
            if wanted > budget {
                let rough = if ratio > ROUGH { " (a rough estimate)" } else { "" };
                return format!("about {} {does}{rough}: --budget {}", time_setting(wanted), time_option(wanted));
            }
            format!("the budget of {} {does}", time_setting(budget))
        }
        Limit::Pairs(option, pairs) => {
            let wanted = round_up(ratio * record.blocks.len() as f64).min(1e15) as u64;
            let (one, many) = if record.plan.commands.len() > 2 { ("block", "blocks") } else { ("pair", "pairs") };
            if wanted > pairs {
                return format!("about {} {does}: {option} {wanted}", count(wanted as usize, one, many));
            }
            format!("all {} {does}", count(usize::try_from(pairs).unwrap_or(usize::MAX), one, many))
        }
    };
    let unspent = record.ending == Ending::Interrupted;
    if unspent { format!("{within}: do not interrupt it") } else { more_effort(record) }
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
