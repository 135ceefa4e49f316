//! What metrics, commands and options are called in sentences.

mod remedy;
mod startups;
mod warning;

pub(crate) use steady_render::effect::{Effect, between, noun, signed, signed_beside};
pub(crate) use steady_render::letters::{capital, count, cut, harmless, one_line};

pub(crate) use remedy::{more_effort, more_work, settling, wanted};
pub(crate) use startups::startups;
pub(crate) use warning::{few, message, warning_message};

use steady_model::{CounterScope, Metric, Plan, Record};

/// What a command does with it: it *needs* CPU time, but *takes* wall time.
pub(crate) fn verb(metric: Metric) -> &'static str {
    match metric {
        Metric::Cpu | Metric::Memory | Metric::Instructions => "needs",
        Metric::Elapsed | Metric::Wall => "takes",
    }
}

/// Whose events the CPU's counters count: `count ...`, with what widens it.
pub(crate) fn counted(scope: CounterScope) -> &'static str {
    match scope {
        CounterScope::User => {
            "count user mode only: the kernel's part may be counted where perf_event_paranoid is 1 or less"
        }
        CounterScope::UserAndKernel => "count the program and the kernel on its behalf",
    }
}

/// A command inside a sentence: by its place where there are two, else by number and name.
pub(crate) fn subject(plan: &Plan, command: usize) -> String {
    match (plan.commands.len(), command) {
        (1, _) => "the command".to_owned(),
        (_, 0) => "the first".to_owned(),
        (2, _) => "the second".to_owned(),
        _ => format!("command\u{a0}{} ({})", command + 1, cut(&name(plan, command), SUBJECT)),
    }
}

/// How much of a name fits into a sentence.
const SUBJECT: usize = 32;

/// A command's name on one line.
pub(crate) fn name(plan: &Plan, command: usize) -> String {
    one_line(plan.commands.get(command).map_or("?", |command| command.name.as_str()))
}

/// What a block is called: with two commands it is a pair.
pub(crate) fn blocks(plan: &Plan, number: usize) -> String {
    match plan.commands.len() {
        1 => count(number, "run", "runs"),
        2 => count(number, "pair", "pairs"),
        _ => count(number, "block", "blocks"),
    }
}

/// So many of what a verdict rests on: draws where runs were started from snapshots, else blocks.
pub(crate) fn units(record: &Record, number: usize) -> String {
    if record.is_warm() { count(number, "draw", "draws") } else { blocks(&record.plan, number) }
}
