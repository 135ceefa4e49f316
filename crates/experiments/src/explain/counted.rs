//! What is counted at the kernel itself while the command runs, and by whom.

use steady_linux::tracepoints::{TreeCounts, cost_per_call};
use steady_linux::tracer::CallCounts;
use steady_model::{Absent, CallCount, Nanos, Reading};

/// What was counted of a tree, beside what wait4(2) tells.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counted {
    pub(super) forks: Reading<u64>,
    pub(super) threads: Reading<u64>,
    pub(super) execs: Reading<u64>,
    pub(super) calls: Reading<u64>,
    pub(super) by_name: Reading<Vec<CallCount>>,
    /// What the counting cost the tree.
    pub(super) cost: Reading<Nanos>,
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

    /// By the tracepoints, at what one of them costs here.
    pub(super) fn at_points(counts: Reading<TreeCounts>) -> Self {
        let remedy = |Absent(why)| Absent(format!("{why}; --trace counts them"));
        let counts = match counts.map_err(remedy) {
            Ok(counts) => counts,
            Err(why) => return Counted::nothing(&why),
        };
        let passed = [counts.calls, counts.forks, counts.threads, counts.execs].iter().sum::<u64>();
        Counted {
            forks: Ok(counts.forks),
            threads: Ok(counts.threads),
            execs: Ok(counts.execs),
            calls: Ok(counts.calls),
            by_name: Err(Absent::because("only --trace tells them by name")),
            cost: cost_per_call().map(|one| Nanos(one.0.saturating_mul(passed))),
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
