//! What is counted at the kernel itself while the command runs, and by whom.

use steady_linux::tracepoints::{self, CountingCost, TreeCounts};
use steady_linux::tracer::CallCounts;
use steady_model::{Absent, CallCount, Nanos, Reading};

/// What was counted of a tree, besides what wait4(2) reports.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counted {
    pub(super) forks: Reading<u64>,
    pub(super) threads: Reading<u64>,
    pub(super) execs: Reading<u64>,
    pub(super) calls: Reading<u64>,
    pub(super) by_name: Reading<Vec<CallCount>>,
    /// What the counting costs here.
    pub(super) cost: Reading<CountingCost>,
    /// Who counted.
    pub(super) by: &'static str,
}

impl Counted {
    /// Nothing, for this reason.
    pub(super) fn nothing(why: &Absent) -> Self {
        Counted {
            forks: Err(why.clone()),
            threads: Err(why.clone()),
            execs: Err(why.clone()),
            calls: Err(why.clone()),
            by_name: Err(why.clone()),
            cost: Err(Absent::because("nothing was counted by it")),
            by: "",
        }
    }

    /// By the tracepoints, of which each task inherited so many counters, at what they cost here.
    pub(super) fn at_points(counts: Reading<TreeCounts>, inherited: u64) -> Self {
        let remedy = |Absent(why)| Absent(format!("{why}; --trace counts them"));
        let counts = match counts.map_err(remedy) {
            Ok(counts) => counts,
            Err(why) => return Counted::nothing(&why),
        };
        let made = counts.made.ok_or_else(|| Absent::because("exit records were to tell it, and there are none"));
        Counted {
            forks: made.clone().map(|made| made.forks),
            threads: made.clone().map(|made| made.threads),
            execs: made.map(|made| made.execs),
            calls: Ok(counts.calls),
            by_name: Err(Absent::because("only --trace tells them by name")),
            cost: tracepoints::cost().map(|cost| CountingCost {
                per_task: cost.per_task.map(|one| Nanos(one.0.saturating_mul(inherited))),
                ..cost
            }),
            by: "tracepoints",
        }
    }

    /// By the tracer.
    pub(super) fn by_tracer(counts: &CallCounts) -> Self {
        Counted {
            forks: Ok(counts.forks),
            threads: Ok(counts.threads),
            execs: Ok(counts.execs),
            calls: Ok(counts.calls()),
            by_name: Ok(counts.by_name()),
            cost: Err(Absent::because("a tracer stops it at each of its calls: its times hold that")),
            by: "a tracer",
        }
    }
}
