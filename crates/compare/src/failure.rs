//! Why commands could not be compared, with the remedy.

use steady_feature::{Failure, Interrupt, typed};
use steady_model::{Outcome, Plan};
use steady_process::runner::{RunError, how};

use crate::run::CompareError;

/// Returns what to say to the user when the runs of a plan fail.
pub fn failure(plan: &Plan, error: CompareError, interrupt: &Interrupt) -> Failure {
    let name = |command: usize| plan.commands.get(command).map_or("?", |command| command.name.as_str());
    match error {
        CompareError::Run(RunError::Interrupted) => Failure::Interrupted(interrupt.signal()),
        CompareError::Run(RunError::CannotStart { command, reason }) => {
            Failure::Usage(format!("'{}' could not be started: {reason}", name(command)))
        }
        CompareError::Run(error @ RunError::ScriptFailed { .. }) => Failure::Measured(error.to_string()),
        CompareError::Run(RunError::NotDrawn { command, reason }) => Failure::Own(format!(
            "no new snapshot of the program of '{}' could be taken: {reason}; without --warm it runs as usual",
            name(command)
        )),
        CompareError::Run(error @ RunError::LauncherLost(_)) => Failure::Own(error.to_string()),
        CompareError::Failed { command, outcome: Outcome::TimedOut } if plan.timeout != plan.run_limit() => {
            Failure::Usage(format!(
                "a run of '{}' outlasted the whole budget and was ended: raise --budget, for 12 runs are needed; if it \
                 hangs now and then, --timeout with --ignore-failure counts such runs apart",
                name(command)
            ))
        }
        CompareError::Failed { command, outcome } => Failure::Measured(failed(plan, command, &outcome)),
        CompareError::BudgetTooSmall { per_pair, budget, needed } => Failure::Usage(format!(
            "a pair needs {} s by itself, so the budget of {} s holds fewer than the 6 that are needed: use --budget {}s, \
             or --runs for a number of pairs",
            two_digits_up(per_pair.seconds()),
            budget.seconds(),
            needed.seconds()
        )),
        error @ CompareError::Starved => Failure::Own(error.to_string()),
        error @ CompareError::LayoutAbsent { .. } => Failure::Usage(format!("{error}; use --layout auto")),
        error @ CompareError::MetricAbsent { .. } => Failure::Usage(format!("{error}; use --metric auto")),
    }
}

/// A time in seconds with two digits, rounded up: what is too long for a budget stays so.
fn two_digits_up(seconds: f64) -> f64 {
    if !(seconds.is_finite() && seconds > 0.0) {
        return 0.0;
    }
    let scale = 10f64.powf(1.0 - seconds.log10().floor());
    (seconds * scale).ceil() / scale
}

fn failed(plan: &Plan, command: usize, outcome: &Outcome) -> String {
    let command = &plan.commands[command];
    let remedy = match outcome {
        Outcome::TimedOut => "raise --timeout",
        Outcome::Exited(_) if typed::has_shell_word(&command.argv) => "--shell runs commands in a shell",
        Outcome::Exited(_) => "--show-output shows what it says, --ignore-failure measures it all the same",
        Outcome::Signalled(_) => "--show-output shows what it says",
    };
    format!("'{}' {}; {remedy}", command.name, how(outcome))
}
