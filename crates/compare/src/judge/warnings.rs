//! The warnings of a report.

use std::path::{Path, PathBuf};

use steady_feature::typed;
use steady_model::{
    Cold, Command, DecidedBy, Effort, Ending, Judgement, Layout, Metric, Outcome, Record, Undecided, Verdict, Warning,
};

use super::evidence::{least_pairs, succeeded};
use super::status::untested;
use steady_process::runner::how;

/// The share of throttled time above which there is a warning.
const THROTTLED: f64 = 0.01;

pub(super) fn warnings(record: &Record, judgements: &[Judgement]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if record.ending == Ending::Interrupted {
        warnings.push(Warning::Interrupted);
    }
    if let Some(Cold { command, reason }) = &record.cold {
        warnings.push(Warning::Cold { command: *command, reason: reason.clone() });
    }
    warnings.extend(untested(record).filter(|_| !record.blocks.is_empty()));
    warnings.extend(unexpanded(record));
    warnings.extend(shims(record));
    // With unequal failures, more pairs would not lead to a verdict either.
    let least = least_pairs(&record.plan);
    let is_short = |one: &&Judgement| one.pairs < least && one.undecided != Ok(Undecided::UnequalFailures);
    let short = judgements.iter().filter(|judgement| judgement.primary).filter(is_short);
    warnings.extend(short.map(|judgement| Warning::TooFewPairs { pairs: judgement.pairs }));
    warnings.extend(record.unfinished.map(|command| Warning::Unfinished { command }));
    let failed = failed(record);
    warnings.extend(budget_exceeded(record, judgements).filter(|_| failed.is_empty()));
    warnings.extend(failed);
    warnings.extend(about_runs(record));
    warnings.extend(waiting(record));
    if let Ok(ratio) = record.activity.throttled_ratio
        && ratio > THROTTLED
    {
        warnings.push(Warning::Throttled { ratio });
    }
    let primary = || judgements.iter().filter(|judgement| judgement.primary);
    warnings.extend(
        primary()
            .filter(|judgement| disagree(judgement))
            .map(|judgement| Warning::LayoutsDisagree { command: judgement.command, metric: judgement.metric }),
    );
    warnings.extend(
        primary()
            .filter(|judgement| judgement.mean_open && !mean_goes_the_other_way(judgement))
            .map(|judgement| Warning::MeanUncertain { command: judgement.command, metric: judgement.metric }),
    );
    warnings.extend(
        primary()
            .filter(|judgement| mean_goes_the_other_way(judgement))
            .map(|judgement| Warning::MeanOtherWay { command: judgement.command, metric: judgement.metric }),
    );
    warnings.extend(
        primary()
            .filter(|judgement| judgement.undecided == Ok(Undecided::BelowGrain))
            .map(|judgement| Warning::BelowGrain { metric: judgement.metric }),
    );
    warnings.dedup();
    warnings
}

/// A warning for each command that was probably meant for a shell, which would have expanded parts of it.
fn unexpanded(record: &Record) -> impl Iterator<Item = Warning> {
    record.plan.commands.iter().enumerate().filter_map(|(command, one)| {
        let parts: Vec<String> = typed::unexpanded(&one.name, &one.argv).into_iter().map(str::to_owned).collect();
        (!parts.is_empty()).then_some(Warning::Unexpanded { command, parts })
    })
}

/// One warning for each shim.
fn shims(record: &Record) -> impl Iterator<Item = Warning> {
    let shims: Vec<Option<&Path>> = record.plan.commands.iter().map(shim).collect();
    let is_first = move |command: &usize| shims[*command].is_some() && !shims[..*command].contains(&shims[*command]);
    (0..record.plan.commands.len()).filter(is_first).map(|command| Warning::Shim { command })
}

/// The shim of a version manager that a command runs: its program, or the interpreter of that script.
pub(crate) fn shim(command: &Command) -> Option<&Path> {
    let started = std::iter::once(&command.program).chain(&command.interpreter);
    started.map(PathBuf::as_path).find(|program| typed::is_shim(program))
}

/// A warning if the budget was exceeded to get the pairs that a verdict needs, and there are some.
fn budget_exceeded(record: &Record, judgements: &[Judgement]) -> Option<Warning> {
    /// An excess up to this factor has no warning, because the last pair may take longer than expected.
    const SLACK: f64 = 1.1;
    let Effort::Budget(budget) = record.plan.effort else { return None };
    let few = judgements.iter().any(|judgement| judgement.primary && judgement.pairs <= least_pairs(&record.plan));
    let exceeded = few
        && !record.blocks.is_empty()
        && record.plan.pairs_min.is_none()
        && record.elapsed.seconds() > SLACK * budget.seconds();
    exceeded.then_some(Warning::BudgetExceeded { budget, elapsed: record.elapsed })
}

/// A warning for each command with failed runs, with the numbers of all its runs.
fn failed(record: &Record) -> Vec<Warning> {
    let warn = |command: usize| {
        let runs = || record.blocks.iter().flat_map(|block| &block.runs).filter(move |run| run.command == command);
        let mut failed = runs().filter(|run| !succeeded(&record.plan, run));
        let first = how(&failed.next()?.outcome);
        Some(Warning::Failures { command, failed: 1 + failed.count(), runs: runs().count(), first })
    };
    (0..record.plan.commands.len()).filter_map(warn).collect()
}

/// The warnings about runs that count although they failed or left processes behind.
pub(crate) fn about_runs(record: &Record) -> impl Iterator<Item = Warning> {
    ignored(record).chain(left_behind(record))
}

/// A warning for each command with runs whose status counts as a success although it is not 0.
fn ignored(record: &Record) -> impl Iterator<Item = Warning> {
    let of = |command: usize| {
        let runs = record.blocks.iter().filter_map(move |block| Some(block.run_of(command)?.1));
        let statuses = runs.clone().filter(|run| succeeded(&record.plan, run)).filter_map(|run| match run.outcome {
            Outcome::Exited(0) | Outcome::Signalled(_) | Outcome::TimedOut => None,
            Outcome::Exited(status) => Some(status),
        });
        let status = statuses.clone().next()?;
        Some(Warning::FailuresIgnored { command, failed: statuses.count(), runs: runs.count(), status })
    };
    (0..record.plan.commands.len()).filter_map(of)
}

/// A warning if the metric includes much time that the runs spent waiting for a CPU. Only wall time certainly includes
/// it. A number that the commands report does so if its unit is one of time.
fn waiting(record: &Record) -> Option<Warning> {
    /// The smallest share of the wall time with a warning.
    const MUCH: f64 = 0.1;
    let metric = Some(record.primary).filter(|metric| match metric {
        Metric::Custom(custom) => is_time(custom.unit()),
        other => *other == Metric::Wall,
    })?;
    let ratio = super::load::load(record).run_delay_ratio.ok().filter(|ratio| *ratio > MUCH)?;
    Some(Warning::Waiting { metric, ratio })
}

/// Returns whether a unit is one of time, also per operation: `ms`, `ns/op`.
fn is_time(unit: &str) -> bool {
    const UNITS: [&str; 9] = ["s", "ms", "us", "µs", "μs", "ns", "min", "h", "sec"];
    UNITS.contains(&unit.split('/').next().unwrap_or_default().trim())
}

fn left_behind(record: &Record) -> Vec<Warning> {
    let count = |command| {
        let runs = record.blocks.iter().flat_map(|block| &block.runs).filter(|run| run.command == command);
        runs.map(|run| u64::from(run.left_behind)).sum()
    };
    (0..record.plan.commands.len())
        .map(|command| Warning::LeftBehind { command, processes: count(command) })
        .filter(|warning| !matches!(warning, Warning::LeftBehind { processes: 0, .. }))
        .collect()
}

/// Returns whether the usual run gives the verdict, but the estimate of the mean has the opposite sign. A few expensive
/// runs may reverse the total cost.
fn mean_goes_the_other_way(judgement: &Judgement) -> bool {
    let Ok(mean) = judgement.mean.change else { return false };
    judgement.decided_by == DecidedBy::UsualRun
        && match judgement.verdict {
            Verdict::Faster | Verdict::Slower if judgement.is_more() => mean < 0.0,
            Verdict::Faster | Verdict::Slower => mean > 0.0,
            Verdict::Same | Verdict::Undecided => false,
        }
}

/// Returns whether the intervals of both layouts are disjoint.
fn disagree(judgement: &Judgement) -> bool {
    let of = |layout| judgement.layouts.iter().find(|effect| effect.layout == layout);
    let (Some(turns), Some(duet)) = (of(Layout::Turns), of(Layout::Duet)) else { return false };
    turns.interval.intersection(&duet.interval).is_none()
}

#[cfg(test)]
mod tests {
    use super::is_time;

    #[test]
    fn units_of_time_are_known() {
        for unit in ["s", "ms", "us", "µs", "ns/op", "min", "h"] {
            assert!(is_time(unit), "{unit}");
        }
        for unit in ["", "1/s", "req/s", "MB", "m", "1"] {
            assert!(!is_time(unit), "{unit}");
        }
    }
}
