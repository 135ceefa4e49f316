//! Resolves the flags into a plan.

use std::path::Path;

use steady_feature::flags::failures;
use steady_feature::{Failure, Session, typed};
use steady_model::{Effort, Layout, Nanos, Output, PerCommand, Plan};
use steady_render::shell::line;

use crate::flags::ExplainFlags;

/// Total time for the pairs without `--budget` and `--runs`.
const BUDGET: Nanos = Nanos(10_000_000_000);
/// Confidence level of each line's interval.
const CONFIDENCE: f64 = 0.95;
const RESOLUTION: f64 = 0.01;

/// What a command line explains.
pub(crate) enum Explained {
    /// One command, which runs once.
    One,
    /// The difference of two commands, from pairs of runs.
    Pair,
}

/// Decides between one command and two from the arguments.
pub(crate) fn explained(flags: &ExplainFlags) -> Result<Explained, Failure> {
    match (flags.commands.len(), flags.words.is_empty()) {
        (0, false) => check_one(flags).map(|()| Explained::One),
        (2, true) => check_pair(flags).map(|()| Explained::Pair),
        (_, false) => Err(Failure::Own(
            "both forms were mixed: give one command after --, or two commands as one string each".to_owned(),
        )),
        (1, true) => {
            let command = &flags.commands[0];
            Err(Failure::Usage(format!(
                "a single command goes after --: steady explain -- {command}; or give two: steady explain 'OLD' 'NEW'"
            )))
        }
        (0, true) => Err(Failure::Usage(
            "no command was given: use steady explain -- COMMAND, or steady explain 'OLD' 'NEW'".to_owned(),
        )),
        _ => {
            // Commands with blanks are quoted already, and are not the words of one.
            let are_words = flags.commands.iter().all(|command| !command.contains(char::is_whitespace));
            let words = if are_words { line(&flags.commands) } else { "COMMAND".to_owned() };
            Err(Failure::Usage(format!(
                "too many commands: quote each of the two as one string: steady explain 'OLD' 'NEW'; or put one after \
                 --: steady explain -- {words}"
            )))
        }
    }
}

/// Rejects options that have an effect only with two commands.
fn check_one(flags: &ExplainFlags) -> Result<(), Failure> {
    let given = flags.pairs.given().or(flags.format.map(|_| "--format"));
    match given {
        Some(option) => Err(Failure::Own(format!(
            "{option} needs two commands; a single one runs once, and its report goes to standard error and --export-... files"
        ))),
        None => Ok(()),
    }
}

/// Rejects options that have an effect only with one command.
fn check_pair(flags: &ExplainFlags) -> Result<(), Failure> {
    let given = [("--trace", flags.trace), ("--by-process", flags.by_process)];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::Usage(format!(
            "{option} needs a single command after --; with two commands, a tracer counts system calls in extra runs"
        ))),
        None => Ok(()),
    }
}

/// Resolves the plan of the pairs.
pub(crate) fn pairs(flags: &ExplainFlags, session: &dyn Session) -> Result<Plan, Failure> {
    let pairs = &flags.pairs;
    let commands = flags.commands.iter().map(|text| {
        let found = session.typed_command(text, pairs.shell.as_deref(), Path::new(""));
        let after_dashes = format!("steady explain -- {}", line(&flags.commands));
        found.map_err(|failure| typed::with_one_command(failure, text, &flags.commands, &after_dashes, session))
    });
    let effort = pairs.runs.map_or(Effort::Budget(pairs.budget.unwrap_or(BUDGET)), Effort::Pairs);
    Ok(Plan {
        resolution: RESOLUTION,
        confidence: CONFIDENCE,
        layout: Some(Layout::Turns),
        warmup: pairs.warmup,
        output: if pairs.show_output { PerCommand(vec![Output::Stderr]) } else { PerCommand::NONE },
        failures: failures(pairs.ignore_failure.as_ref()),
        timeout: pairs.timeout,
        ..Plan::new(commands.collect::<Result<_, _>>()?, effort, session.seed(pairs.seed)?)
    })
}
