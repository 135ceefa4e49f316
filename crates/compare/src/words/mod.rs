//! Names of metrics, commands and options in sentences.

mod remedy;
mod startups;
mod warning;

pub(crate) use steady_render::effect::{Effect, less, noun, signed, signed_apart, sized};
pub(crate) use steady_render::letters::{capital, count, cut, one_line};

pub use remedy::{RATIO_MAX, TOO_CLOSE, roughness};
pub(crate) use remedy::{
    effort_for_condition, effort_for_interval, effort_for_mean, effort_for_verdict, more_effort, more_work,
};
pub(crate) use startups::startups;
pub use warning::{about_runs, more_pairs};
pub(crate) use warning::{make_succeed, message, warning_message};

use std::collections::BTreeSet;

use steady_model::{Command, CounterScope, Interval, Judgement, Metric, Plan, Record, Verdict};
use steady_render::letters::{listed, width};

use crate::judge::with_run_delay;

/// What [`Metric::Elapsed`] is, as a sentence without its full stop. Every report that has this metric contains it.
pub(crate) const ELAPSED: &str = "Elapsed time is wall time minus the time spent waiting for a CPU";

/// Why pairs do not differ if the resolution of the instrument hides a difference, as a clause about two subjects.
pub(crate) fn ties(metric: Metric) -> String {
    match metric.is_count() {
        true => format!("have the same {}", noun(metric)),
        false => format!("do not differ in {} by as much as the clock resolves", noun(metric)),
    }
}

/// As [`signed`]. If the verdict is undecided, the digits show on which side of zero and of the resolution an end is.
pub(crate) fn signed_if_open(plan: &Plan, judgement: &Judgement, change: f64, interval: Interval) -> (String, String) {
    match judgement.verdict {
        Verdict::Undecided => signed_apart(change, interval, plan.resolution),
        Verdict::Slower | Verdict::Faster | Verdict::Same => signed(change, interval),
    }
}

/// The verb that goes with a metric: a command *needs* CPU time, *takes* wall time, and *has* what it reports itself.
pub(crate) fn verb(metric: Metric) -> &'static str {
    match metric {
        Metric::Faults | Metric::Switches | Metric::Custom(_) => "has",
        Metric::Cpu | Metric::Memory | Metric::Instructions | Metric::Energy => "needs",
        Metric::Elapsed | Metric::Wall => "takes",
    }
}

/// Which events the CPU's counters count, as a predicate (`count ...`), and how to count more.
pub(crate) fn counted(scope: CounterScope) -> &'static str {
    match scope {
        CounterScope::User => {
            "count user mode only; to count the kernel's part too, set perf_event_paranoid to 1 or less"
        }
        CounterScope::UserAndKernel => "count the program and the kernel's work for it",
    }
}

/// The wall time that the share of waiting for a CPU is a part of. It names the commands whose waiting was measured, if
/// it was not measured for all.
pub(crate) fn time_with_run_delay(record: &Record) -> String {
    let measured = with_run_delay(record);
    if measured.is_empty() || measured.len() == record.plan.commands.len() {
        return "the runs' wall time".to_owned();
    }
    let names: Vec<String> = measured.into_iter().map(|command| subject(&record.plan, command)).collect();
    format!("the wall time of {}", listed(&names))
}

/// A command inside a sentence: its name in quotes, if all names are short and different. Otherwise its place, or its
/// number and its name if there are more than two commands.
pub(crate) fn subject(plan: &Plan, command: usize) -> String {
    if plan.commands.len() == 1 {
        return "the command".to_owned();
    }
    match (short_names(plan), plan.commands.len(), command) {
        (Some(names), ..) => names.get(command).map_or_else(|| "?".to_owned(), |name| format!("'{name}'")),
        (None, 2, 0) => "the first".to_owned(),
        (None, 2, _) => "the second".to_owned(),
        (None, ..) => format!("command\u{a0}{} ({})", command + 1, cut(&name(plan, command), SUBJECT)),
    }
}

/// The longest name inside a sentence, in columns.
const SUBJECT: usize = 32;

/// What sentences call the commands: their revisions if all come from one command line, otherwise their names. `None`
/// if a name is too long for a sentence, or if two are equal.
fn short_names(plan: &Plan) -> Option<Vec<String>> {
    let names: Vec<String> = match revisions(plan) {
        Some(revisions) => revisions.into_iter().map(one_line).collect(),
        None => (0..plan.commands.len()).map(|command| name(plan, command)).collect(),
    };
    let is_short = |name: &String| !name.is_empty() && width(name) <= SUBJECT;
    let different: BTreeSet<&String> = names.iter().collect();
    (names.iter().all(is_short) && different.len() == names.len()).then_some(names)
}

/// The revisions of commands that `--rev` named `COMMAND (REVISION)`. `None` if a name has another form, as with `-n`.
fn revisions(plan: &Plan) -> Option<Vec<&str>> {
    fn parts(command: &Command) -> Option<(&str, &str)> {
        command.revision.as_ref()?;
        command.name.strip_suffix(')')?.rsplit_once(" (")
    }
    let all: Vec<(&str, &str)> = plan.commands.iter().map(parts).collect::<Option<_>>()?;
    let is_one_command = all.iter().all(|part| part.0 == all[0].0);
    is_one_command.then(|| all.into_iter().map(|part| part.1).collect())
}

/// What tables call a command: its revision if all come from one command line, otherwise its name, on one line.
pub(crate) fn label(plan: &Plan, command: usize) -> String {
    let revision = revisions(plan).and_then(|revisions| revisions.get(command).copied());
    revision.map_or_else(|| name(plan, command), one_line)
}

/// A command's name on one line.
pub(crate) fn name(plan: &Plan, command: usize) -> String {
    one_line(plan.commands.get(command).map_or("?", |command| command.name.as_str()))
}

/// A number of blocks. They are called runs with one command, pairs with two, and blocks with more.
pub(crate) fn blocks(plan: &Plan, number: usize) -> String {
    match plan.commands.len() {
        1 => count(number, "run", "runs"),
        2 => count(number, "pair", "pairs"),
        _ => count(number, "block", "blocks"),
    }
}

/// A number of pairs as `--runs` counts them: each command after the first has so many with the first.
pub(crate) fn pairs_of_each(plan: &Plan, number: u64) -> String {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    match plan.commands.len() {
        1 | 2 => blocks(plan, number),
        _ => format!("{} of each command", count(number, "pair", "pairs")),
    }
}

/// What is drawn: `snapshots` or `memory layouts`. `None` if there are no draws.
pub(crate) fn drawn(record: &Record) -> Option<&'static str> {
    match record.is_warm() {
        true => Some("snapshots"),
        false => record.has_draws().then_some("memory layouts"),
    }
}

/// A number of units of the test: draws of snapshots or memory layouts, otherwise pairs with the first command. A
/// block of more than two commands has a pair for each of them, and a duet has one.
pub(crate) fn units(record: &Record, number: usize) -> String {
    match record.plan.commands.len() {
        _ if record.has_draws() => count(number, "draw", "draws"),
        1 => count(number, "run", "runs"),
        _ => count(number, "pair", "pairs"),
    }
}

#[cfg(test)]
mod tests {
    use steady_model::{Effort, Seed};

    use super::*;

    fn subjects(commands: &[(&str, Option<&str>)]) -> Vec<String> {
        let command = |(name, revision): &(&str, Option<&str>)| Command {
            name: (*name).to_owned(),
            argv: vec!["x".to_owned()],
            revision: revision.map(str::to_owned),
            ..Command::default()
        };
        let plan = Plan::new(commands.iter().map(command).collect(), Effort::Pairs(1), Seed(1));
        (0..commands.len()).map(|command| subject(&plan, command)).collect()
    }

    #[test]
    fn sentences_use_names_that_are_short_and_different() {
        let long = "x".repeat(SUBJECT + 1);
        let long = long.as_str();
        assert_eq!(subjects(&[("old", None), ("new", None)]), ["'old'", "'new'"]);
        assert_eq!(subjects(&[("true", None), ("true", None)]), ["the first", "the second"]);
        assert_eq!(subjects(&[("old", None), (long, None)]), ["the first", "the second"]);
        assert_eq!(subjects(&[("a", None), ("b", None), ("c", None)]), ["'a'", "'b'", "'c'"]);
        assert_eq!(subjects(&[("a", None), ("b", None), ("b", None)])[2], "command\u{a0}3 (b)");
        assert_eq!(subjects(&[(long, None)]), ["the command"]);
    }

    #[test]
    fn revisions_of_one_command_line_are_subjects() {
        let revisions = [("./prog x (main 1a2b3c4)", Some("1a2b3c4")), ("./prog x (HEAD 5d6e7f8)", Some("5d6e7f8"))];
        assert_eq!(subjects(&revisions), ["'main 1a2b3c4'", "'HEAD 5d6e7f8'"]);
        let named = [("old (x)", Some("1a2b3c4")), ("new (x)", Some("5d6e7f8"))];
        assert_eq!(subjects(&named), ["'old (x)'", "'new (x)'"]);
    }
}
