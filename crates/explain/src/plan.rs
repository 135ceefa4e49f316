//! From the flags as typed to what is to be done.

use std::path::Path;

use steady_feature::flags::failures;
use steady_feature::{Failure, Session};
use steady_model::{Effort, Layout, Nanos, Output, PerCommand, Plan};

use crate::flags::ExplainFlags;

/// How long pairs are run if nothing else is asked for.
const BUDGET: Nanos = Nanos(10_000_000_000);
/// The level of each line's interval.
const CONFIDENCE: f64 = 0.95;
const RESOLUTION: f64 = 0.01;

/// What is explained.
pub(crate) enum Explained {
    /// One command as it is.
    One,
    /// The difference of two.
    Pair,
}

/// What the words name.
pub(crate) fn explained(flags: &ExplainFlags) -> Result<Explained, Failure> {
    match (flags.commands.len(), flags.words.is_empty()) {
        (0, false) => check_one(flags).map(|()| Explained::One),
        (2, true) => check_pair(flags).map(|()| Explained::Pair),
        (_, false) => Err(Failure::Own("give either one command behind --, or two as one string each".to_owned())),
        (1, true) => {
            let command = &flags.commands[0];
            Err(Failure::Usage(format!(
                "one command stands behind --: steady explain -- {command}; for two: steady explain 'OLD' 'NEW'"
            )))
        }
        (0, true) => {
            Err(Failure::Usage("no command: steady explain -- COMMAND, or steady explain 'OLD' 'NEW'".to_owned()))
        }
        _ => Err(Failure::Usage(
            "two commands, each as one string: steady explain 'OLD' 'NEW'; one stands behind --".to_owned(),
        )),
    }
}

/// What is for two commands would do nothing for one.
fn check_one(flags: &ExplainFlags) -> Result<(), Failure> {
    let given = flags.pairs.given().or(flags.format.map(|_| "--format"));
    match given {
        Some(option) => Err(Failure::Own(format!(
            "{option} is for two commands; one runs once, and its report goes to standard error and to --export-... files"
        ))),
        None => Ok(()),
    }
}

/// What is for one command would do nothing for two.
fn check_pair(flags: &ExplainFlags) -> Result<(), Failure> {
    let given = [("--trace", flags.trace), ("--by-process", flags.by_process)];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::Usage(format!(
            "{option} is for one command behind --; of two, runs of their own are counted by a tracer"
        ))),
        None => Ok(()),
    }
}

/// The plan of the pairs.
pub(crate) fn pairs(flags: &ExplainFlags, session: &dyn Session) -> Result<Plan, Failure> {
    let pairs = &flags.pairs;
    let commands = flags.commands.iter().map(|text| session.typed_command(text, pairs.shell.as_deref(), Path::new("")));
    Ok(Plan {
        commands: commands.collect::<Result<_, _>>()?,
        seed: session.seed(pairs.seed)?,
        effort: pairs.runs.map_or(Effort::Budget(pairs.budget.unwrap_or(BUDGET)), Effort::Pairs),
        resolution: RESOLUTION,
        confidence: CONFIDENCE,
        metric: None,
        layout: Some(Layout::Turns),
        warmup: pairs.warmup,
        setup: PerCommand::NONE,
        prepare: PerCommand::NONE,
        conclude: PerCommand::NONE,
        cleanup: PerCommand::NONE,
        input: None,
        output: if pairs.show_output { PerCommand(vec![Output::Stderr]) } else { PerCommand::NONE },
        failures: failures(pairs.ignore_failure.as_ref()),
        timeout: pairs.timeout,
        cpus: None,
        fail_if: None,
        require_verdict: false,
        warm: false,
    })
}
