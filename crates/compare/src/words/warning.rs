//! Warnings in words, each with what helps.

use steady_model::{FailureRule, Interval, Judgement, Layout, Metric, Report, Verdict, Warning};

use super::{capital, count, more_effort, more_work, noun, signed, subject, wanted};
use crate::units::{duration, percent, time_setting};

/// A warning as a sentence or two: what it is, what it does to the figures, and what helps.
pub(crate) fn warning_message(report: &Report, warning: &Warning) -> String {
    message(report, warning).replace('\u{a0}', " ")
}

/// The same, with ties between numbers and units.
pub(crate) fn message(report: &Report, warning: &Warning) -> String {
    let record = &report.record;
    match warning {
        Warning::Failures { command, failed, runs, first } => failures(report, *command, *failed, *runs, first),
        Warning::LeftBehind { command, processes } => {
            let who = capital(&subject(&record.plan, *command));
            let many = count(usize::try_from(*processes).unwrap_or(usize::MAX), "process", "processes");
            format!(
                "{who} left {many} behind. They were killed and their CPU time up to then is counted; if their work \
                 belongs to the command, let it wait for them."
            )
        }
        Warning::LayoutsDisagree { command, metric } => disagreement(report, *command, *metric),
        Warning::Throttled { ratio } => {
            let helps = if record.primary == Metric::Cpu { "" } else { ", or judge CPU time: --metric cpu" };
            let share = percent(*ratio);
            format!(
                "The control group's quota held the commands back for {share} of the time, which is part of their wall \
                 time. Raise its cpu.max{helps}."
            )
        }
        Warning::Cold { command, reason } => {
            let who = command.map_or_else(String::new, |command| {
                let program = record
                    .plan
                    .commands
                    .get(command)
                    .map_or_else(String::new, |command| super::one_line(&command.program.display().to_string()));
                format!(" {} cannot be, for of '{program}'", subject(&record.plan, command))
            });
            let link = if who.is_empty() { " there are none: " } else { &who };
            format!("All runs were started as usual, not from snapshots:{link} {reason}.")
        }
        Warning::BudgetExceeded { budget, elapsed } => format!(
            "The load left the budget of {} room for fewer than the 6 pairs that a verdict needs. Measuring went on, at most \
             for twice the budget, and took {}.",
            time_setting(*budget),
            duration(*elapsed)
        ),
        Warning::TooFewPairs { pairs } => {
            let many = match record.is_warm() {
                true => super::units(record, *pairs),
                false => count(*pairs, "pair", "pairs"),
            };
            format!(
                "{} too few for a verdict: {}.",
                if *pairs == 1 { many + " is" } else { many + " are" },
                few(report, *pairs)
            )
        }
        Warning::Interrupted => {
            let (spent, blocks) = (duration(record.elapsed), super::blocks(&record.plan, record.blocks.len()));
            format!("Interrupted after {spent}: this stands on the {blocks} measured until then.")
        }
        Warning::MeanUncertain { command, metric } => uncertain_mean(report, *command, *metric),
        Warning::MeanOtherWay { command, metric } => mean_other_way(report, *command, *metric),
        Warning::BelowGrain { metric } => {
            let what = noun(*metric);
            format!("The commands cost less {what} than the clock can tell apart: {}.", more_work(record, *metric))
        }
    }
}

/// The verdict is of the usual run, and the estimate of the mean has the other sign.
fn mean_other_way(report: &Report, command: usize, metric: Metric) -> String {
    let found = report.judgements.iter().find(|one| one.command == command && one.metric == metric);
    let faster = found.is_some_and(|one| one.verdict == Verdict::Faster);
    let (usual, mean) = if faster { ("less", "more") } else { ("more", "less") };
    let (verb, what) = (super::verb(metric), noun(metric));
    format!(
        "The verdict describes the usual run of {}, which {verb} {usual} {what}. The mean {what} may have changed the other \
         way, to {mean}{}. A few expensive runs leave it open. {}.",
        subject(&report.record.plan, command),
        mean_size(found),
        capital(&more_effort(&report.record))
    )
}

/// How much the mean differs: a clause with its colon.
fn mean_size(found: Option<&Judgement>) -> String {
    let size = found.and_then(|one| Some((one.mean.change.as_ref().ok()?, one.mean.interval.as_ref().ok()?)));
    size.map_or_else(String::new, |(change, interval)| {
        let (change, range) = signed(*change, *interval);
        format!(": it differs by {change} ({range})")
    })
}

/// A mean that is much less certain than the usual run.
fn uncertain_mean(report: &Report, command: usize, metric: Metric) -> String {
    let size = mean_size(report.judgements.iter().find(|one| one.command == command && one.metric == metric));
    format!(
        "The verdict describes the usual run of {}. A few expensive runs make its mean {} uncertain{size}. {}.",
        subject(&report.record.plan, command),
        noun(metric),
        capital(&more_effort(&report.record))
    )
}

/// Twice the pairs that the shortest test needs, by the option that gives them.
pub(crate) fn few(report: &Report, pairs: usize) -> String {
    if pairs == 0 {
        return more_effort(&report.record);
    }
    wanted(&report.record, 12.0 / pairs as f64, "would give enough of them")
}

/// Failed runs: what became of them.
fn failures(report: &Report, command: usize, failed: usize, runs: usize, first: &str) -> String {
    let plan = &report.record.plan;
    let who = subject(plan, command);
    let what = if plan.commands.len() == 1 { "They" } else { "Their pairs" };
    // What was killed or ran out of time is no success under any option.
    let helps = match plan.failures {
        FailureRule::Abort => "; --ignore-failure counts every run that exits by itself as a success",
        FailureRule::IgnoreCodes(_) => "; --ignore-failure without a list accepts every exit status",
        FailureRule::IgnoreAll => "",
    };
    let fate = format!("{what} are left out of the figures{helps}.");
    format!("{failed} of {} of {who} failed (the first: {first}). {fate}", count(runs, "run", "runs"))
}

/// Layouts that disagree: both sizes, and which one is quoted.
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
        "The layouts disagree on the {} of {}{sizes}. The size quoted is the one in turns, where the commands do \
         not run beside each other{helps}.",
        noun(metric),
        subject(&report.record.plan, command)
    )
}
