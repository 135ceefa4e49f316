//! What helps: only options that are not in use already, which the plan knows.

use steady_model::{Effort, Ending, Metric, Nanos, Record};

use super::{count, noun};
use crate::units::{round_up, time_setting};

/// Beyond this no budget is worth naming.
const TOO_LONG: Nanos = Nanos(86_400 * 1_000_000_000);

/// What would probably settle an open question, from how many times the effort so far it takes.
pub(crate) fn settling(record: &Record, ratio: Option<f64>) -> String {
    match ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0) {
        Some(ratio) => wanted(record, ratio, "would probably settle it"),
        None => format!("it is not known how much longer it would take; {}", more_effort(record)),
    }
}

/// What gives the verdict more to stand on.
pub(crate) fn more_effort(record: &Record) -> String {
    match record.plan.effort {
        Effort::Budget(budget) => format!("give it more than {} with --budget", time_setting(budget)),
        Effort::Pairs(pairs) => format!("ask for more than {pairs} with --runs"),
    }
}

/// The option that gives `ratio` times the effort spent so far, and what that would do.
pub(crate) fn wanted(record: &Record, ratio: f64, does: &str) -> String {
    let within = match record.plan.effort {
        Effort::Budget(budget) => {
            let wanted = round_up(ratio * record.elapsed.seconds());
            if wanted > TOO_LONG.seconds() {
                return format!("more than a day {does}: a coarser --resolution settles it sooner");
            }
            if wanted > budget.seconds() {
                let time = time_setting(Nanos::from_seconds(wanted));
                return format!("about {time} {does}: --budget {wanted}s");
            }
            format!("the budget of {} {does}", time_setting(budget))
        }
        Effort::Pairs(pairs) => {
            let wanted = round_up(ratio * record.blocks.len() as f64).min(1e15) as u64;
            if wanted > pairs {
                let blocks = if record.plan.commands.len() > 2 { ("block", "blocks") } else { ("pair", "pairs") };
                return format!("about {} {does}: --runs {wanted}", count(wanted as usize, blocks.0, blocks.1));
            }
            format!("all {pairs} {does}")
        }
    };
    let unspent = record.ending == Ending::Interrupted;
    if unspent { format!("{within}: let it run to its end") } else { more_effort(record) }
}

/// What helps where a run costs less than the clock can tell.
pub(crate) fn more_work(record: &Record, metric: Metric) -> String {
    let work = "give each run more work: a larger input, or a loop";
    if metric == Metric::Wall || record.plan.metric == Some(Metric::Wall) {
        work.to_owned()
    } else {
        format!("{work}; or judge {}, whose clock is finer: --metric wall", noun(Metric::Wall))
    }
}
