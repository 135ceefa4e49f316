//! Warnings in words, each with its remedy.

use std::path::Path;

use steady_feature::typed;
use steady_model::{Command, FailureRule, Interval, Judgement, Layout, Metric, Outcome, Record, Report, Warning};

use super::{
    capital, count, effort_for_interval, effort_for_mean, less, more_effort, more_work, noun, signed, subject,
};
use crate::judge::{least_pairs, shim, warnings_about_runs};
use crate::units::{duration, percent, time_setting};

/// A warning as a sentence or two: what happened, how that changes the figures, and the remedy.
pub(crate) fn warning_message(report: &Report, warning: &Warning) -> String {
    message(report, warning).replace('\u{a0}', " ")
}

/// As [`warning_message`], with non-breaking spaces between numbers and units.
pub(crate) fn message(report: &Report, warning: &Warning) -> String {
    let record = &report.record;
    match warning {
        Warning::Failures { command, failed, runs, first } => failures(report, *command, *failed, *runs, first),
        Warning::LeftBehind { command, processes } => {
            left_behind(record, *command, *processes, &subject(&record.plan, *command))
        }
        Warning::LayoutsDisagree { command, metric } => disagreement(report, *command, *metric),
        Warning::Throttled { ratio } => {
            let helps = if record.primary == Metric::Cpu { "" } else { ", or compare CPU time: --metric cpu" };
            let share = percent(*ratio);
            format!(
                "The control group's quota throttled the commands for {share} of the time, which is part of their wall \
                 time. Raise the quota{helps}."
            )
        }
        Warning::Unfinished { command } => format!(
            "A run of {} did not end within the budget and was killed; it is in none of the figures. If the machine was \
             not too busy for it, the command sometimes hangs: --timeout ends such runs, and they count as failures.",
            subject(&record.plan, *command)
        ),
        Warning::FailuresIgnored { command, failed, runs, status } => {
            failures_ignored(*failed, *runs, *status, &subject(&record.plan, *command))
        }
        Warning::Waiting { metric, ratio } => {
            let share = format!("{} of {}", percent(*ratio), super::time_with_run_delay(record));
            match metric {
                Metric::Custom(custom) => format!(
                    "Waiting for a CPU took {share}. If {} includes that time, its change depends on the load.",
                    custom.name()
                ),
                _ => format!(
                    "Wall time includes the time spent waiting for a CPU, here {share}, and its change then depends on \
                     the load. --metric elapsed leaves that time out."
                ),
            }
        }
        Warning::Cold { command, reason } => {
            let who = command.map_or_else(String::new, |command| {
                let program = record
                    .plan
                    .commands
                    .get(command)
                    .map_or_else(String::new, |command| super::one_line(&command.program.display().to_string()));
                format!("there is none of '{program}', the program of {}: ", subject(&record.plan, command))
            });
            format!("All runs were started as usual, not from snapshots: {who}{reason}.")
        }
        Warning::Unexpanded { command, parts } => {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let (series, them) = (typed::series(&parts), if parts.len() == 1 { "it" } else { "them" });
            format!(
                "{} ran without a shell, so the program got {} as written. If a shell should expand {them}, add --shell.",
                capital(&subject(&record.plan, *command)),
                super::one_line(&series)
            )
        }
        Warning::Shim { command } => record.plan.commands.get(*command).map_or_else(String::new, shim_measured),
        Warning::BudgetExceeded { budget, elapsed } => format!(
            "Under this load, the budget of {} was too short for the {} pairs that a verdict needs. Measuring went on, \
             for at most twice the budget, and took {}.",
            time_setting(*budget),
            least_pairs(&record.plan),
            duration(*elapsed)
        ),
        Warning::TooFewPairs { pairs } => {
            let many = match record.has_draws() {
                true => super::units(record, *pairs),
                false => count(*pairs, "pair", "pairs"),
            };
            format!(
                "{} too few for a verdict. {}.",
                if *pairs == 1 { many + " is" } else { many + " are" },
                capital(&more_pairs(record, *pairs))
            )
        }
        Warning::UnusedRevisions => unused_revisions(record),
        Warning::OneRevision => {
            let revision = record.plan.commands.first().and_then(|first| first.revision.as_deref()).unwrap_or_default();
            format!("All revisions are the commit {revision}, so no change is tested.")
        }
        Warning::Interrupted => {
            let (spent, blocks) = (duration(record.elapsed), super::blocks(&record.plan, record.blocks.len()));
            let until = format!("Interrupted after {spent}: this report is based on the {blocks} measured until then.");
            match record.plan.commands.len() {
                0 | 1 => until,
                _ => format!(
                    "{until} Its intervals are wider than the displayed ones, which may have been the reason to interrupt."
                ),
            }
        }
        Warning::MeanUncertain { command, metric } => uncertain_mean(report, *command, *metric),
        Warning::MeanOtherWay { command, metric } => mean_other_way(report, *command, *metric),
        Warning::BelowGrain { metric } => {
            let what = noun(*metric);
            let how = match metric.is_count() {
                true => format!("In most pairs, both commands have the same {what}"),
                false => format!("The commands differ in {what} by less than the clock resolves"),
            };
            format!("{how}: {}.", more_work(record, *metric))
        }
    }
}

/// The warnings about runs that count although they failed or left processes behind, in words. Sentences call the
/// commands by these names.
pub fn about_runs(record: &Record, names: &[&str]) -> Vec<String> {
    let words = |warning: Warning| match warning {
        Warning::FailuresIgnored { command, failed, runs, status } => {
            Some(failures_ignored(failed, runs, status, names[command]))
        }
        Warning::LeftBehind { command, processes } => Some(left_behind(record, command, processes, names[command])),
        _ => None,
    };
    warnings_about_runs(record).filter_map(words).collect()
}

fn left_behind(record: &Record, command: usize, processes: u64, who: &str) -> String {
    let who = capital(who);
    if is_steady_warm(record, command) {
        return format!(
            "{who} leaves the background process of steady warm, which captures programs. It was killed at the end of \
             each run, and its CPU time until then is counted. If snapshots were missing before the comparison, capture \
             them first: steady warm --mode prewarm. To compare programs that all start from snapshots, use --warm \
             instead of steady warm."
        );
    }
    let many = count(usize::try_from(processes).unwrap_or(usize::MAX), "process", "processes");
    format!(
        "{who} left {many} behind. {} killed, and the CPU time until then is counted. If that work belongs to the \
         command, let the command wait for it.",
        if processes == 1 { "It was" } else { "They were" }
    )
}

fn failures_ignored(failed: usize, runs: usize, status: i32, who: &str) -> String {
    format!(
        "{failed} of {} of {who} exited with a status other than 0 (the first with {status}). They count as successes, \
         as --ignore-failure says.",
        count(runs, "run", "runs")
    )
}

/// A shim is a part of every run.
fn shim_measured(command: &Command) -> String {
    let quoted = |path: &Path| format!("'{}'", super::one_line(&path.display().to_string()));
    let found = shim(command).unwrap_or(&command.program);
    let (what, helps) = match found == command.program {
        true => (quoted(found), "give its path"),
        false => {
            let interpreter = format!("{}, which runs {},", quoted(found), quoted(&command.program));
            (interpreter, "begin the command with its path")
        }
    };
    format!(
        "{what} is a script that starts the real program, and its own cost is part of every run. To measure the program \
         alone, {helps} (for example, the output of `pyenv which` or `asdf which`)."
    )
}

fn unused_revisions(record: &Record) -> String {
    let first = record.plan.commands.first();
    let program = first.and_then(|first| Some((first.argv.first()?, first.program.display())));
    let program =
        program.map_or_else(String::new, |(word, program)| super::one_line(&format!(": '{word}' is {program}")));
    format!(
        "No run opened a file of its revision, so the change is not tested{program}. The program must be one of the tree, \
         or open a file of it, as in './prog', 'python3 -m module' or 'wc -c prog'."
    )
}

/// Returns whether the command is `steady warm`, which leaves its background process to the next run.
fn is_steady_warm(record: &Record, command: usize) -> bool {
    record.plan.commands.get(command).is_some_and(|command| {
        command.program.file_name().is_some_and(|name| name == "steady")
            && command.argv.get(1).is_some_and(|word| word == "warm")
    })
}

/// The verdict is about the usual run, and the estimate of the mean has the opposite sign.
fn mean_other_way(report: &Report, command: usize, metric: Metric) -> String {
    let found = report.judgements.iter().find(|one| one.command == command && one.metric == metric);
    let is_more = found.is_some_and(Judgement::is_more);
    let less = less(metric);
    let (usual, mean) = if is_more { ("more", less) } else { (less, "more") };
    let (verb, what) = (super::verb(metric), noun(metric));
    format!(
        "The verdict is about the usual run of {}, which {verb} {usual} {what}. The mean {what} may have changed in \
         the other direction, to {mean}{}. It is uncertain, because the runs vary. {}.",
        subject(&report.record.plan, command),
        mean_size(report, found),
        capital(&effort_for_mean(&report.record, found))
    )
}

/// The difference of the means, as a clause that begins with a colon.
fn mean_size(report: &Report, found: Option<&Judgement>) -> String {
    let size = found.and_then(|one| Some((one.mean.change.as_ref().ok()?, one.mean.interval.as_ref().ok()?)));
    size.map_or_else(String::new, |(change, interval)| {
        let (change, range) = super::signed_apart(*change, *interval, report.record.plan.resolution);
        let first = subject(&report.record.plan, 0);
        format!(": it differs from that of {first} by {change} ({range})")
    })
}

fn uncertain_mean(report: &Report, command: usize, metric: Metric) -> String {
    let found = report.judgements.iter().find(|one| one.command == command && one.metric == metric);
    format!(
        "The verdict is about the usual run of {}. Its mean {} is uncertain, because the runs vary{}. {}.",
        subject(&report.record.plan, command),
        noun(metric),
        mean_size(report, found),
        capital(&effort_for_mean(&report.record, found))
    )
}

/// Advice to measure the pairs that the shortest test needs, by the option for that. It begins with a small letter and
/// has no full stop. If no pair was completed, the time spent so far counts as that of one pair. If a run of every pair
/// failed, more pairs would not help.
pub fn more_pairs(record: &Record, pairs: usize) -> String {
    match (pairs, record.blocks.is_empty()) {
        _ if record.plan.timeout.is_none() && runs_at_limit(record) > 0 => make_end(record),
        (0, false) if record.has_failures() => make_succeed(record),
        (0, false) => more_effort(record),
        _ => effort_for_interval(record, pairs.max(1)),
    }
}

/// The number of runs that reached the time limit.
fn runs_at_limit(record: &Record) -> usize {
    let runs = record.blocks.iter().flat_map(|block| &block.runs);
    runs.filter(|run| run.outcome == Outcome::TimedOut).count()
}

/// The remedy for runs that reach the time limit, which is the whole budget without --timeout.
fn make_end(record: &Record) -> String {
    match record.plan.timeout {
        Some(limit) => format!("if the runs need more time than {}, set a larger --timeout", time_setting(limit)),
        None => "a run that hangs takes the whole budget: set --timeout to a little more than a run needs".to_owned(),
    }
}

/// The remedy for runs that fail.
pub(crate) fn make_succeed(record: &Record) -> String {
    let failures =
        record.blocks.iter().flat_map(|block| &block.runs).filter(|run| !run.succeeded(&record.plan.failures));
    if runs_at_limit(record) == failures.count() {
        return make_end(record);
    }
    let or_count = match record.plan.failures {
        FailureRule::IgnoreAll => "",
        _ => ", or, if failing runs do all of their work, count them with --ignore-failure",
    };
    format!("make the commands succeed{or_count}")
}

fn failures(report: &Report, command: usize, failed: usize, runs: usize, first: &str) -> String {
    let plan = &report.record.plan;
    let who = subject(plan, command);
    let effect = match (plan.commands.len() == 1, failed == 1) {
        (true, true) => "It is left out of the figures",
        (true, false) => "They are left out of the figures",
        (false, true) => "Its pair is left out of the verdicts",
        (false, false) => "Their pairs are left out of the verdicts",
    };
    // No option counts a run that was killed or timed out as a success.
    let helps = match plan.failures {
        FailureRule::Abort => "; --ignore-failure counts every run that exits by itself as a success",
        FailureRule::IgnoreCodes(_) => "; --ignore-failure without a list accepts every exit status",
        FailureRule::IgnoreAll => "",
    };
    let runs = count(runs, "run", "runs");
    format!("{failed} of {runs} of {who} failed (the first failure: {first}). {effect}{helps}.")
}

/// The layouts disagree: the size in each.
fn disagreement(report: &Report, command: usize, metric: Metric) -> String {
    let found = report.judgements.iter().find(|one| one.command == command && one.metric == metric);
    let size = |layout: Layout| {
        let effect = found?.layouts.iter().find(|effect| effect.layout == layout)?;
        let Interval { low, high } = effect.interval;
        let (change, range) = signed(effect.change, Interval { low, high });
        Some(format!("{change} ({range})"))
    };
    let sizes = match (size(Layout::Turns), size(Layout::Duet)) {
        (Some(turns), Some(duet)) => format!(": {turns} in turns, {duet} in duets"),
        _ => String::new(),
    };
    let helps = if report.record.plan.layout.is_none() { "; --layout turns measures nothing else" } else { "" };
    format!(
        "The layouts disagree on the {} of {}{sizes}. In duets the commands run concurrently and can slow each other \
         down{helps}.",
        noun(metric),
        subject(&report.record.plan, command)
    )
}
