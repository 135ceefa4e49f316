//! Why pairs could not be run, with the remedy.

use steady_compare::run::CompareError;
use steady_feature::{Failure, Interrupt};
use steady_model::{Outcome, Plan};
use steady_process::runner::{RunError, how};

/// Words that a shell would act on, and that a program without one is given as they are.
const SHELL_WORDS: [&str; 8] = ["|", "||", "&", "&&", ";", ">", ">>", "<"];

/// What to say to the user.
pub(crate) fn of(plan: &Plan, error: CompareError, interrupt: &Interrupt) -> Failure {
    let name = |command: usize| plan.commands.get(command).map_or("?", |command| command.name.as_str());
    match error {
        CompareError::Run(RunError::Interrupted) => Failure::Interrupted(interrupt.signal()),
        CompareError::Run(RunError::CannotStart { command, reason }) => {
            Failure::Usage(format!("'{}' could not be started: {reason}", name(command)))
        }
        CompareError::Failed { command, outcome: Outcome::TimedOut } if plan.timeout != plan.run_limit() => {
            Failure::Usage(format!(
                "a run of '{}' outlasted the whole budget and was ended: raise --budget; if it hangs now and then, \
                 --timeout with --ignore-failure counts such runs apart",
                name(command)
            ))
        }
        CompareError::Failed { command, outcome } => {
            let is_for_shell = plan.commands[command].argv.iter().any(|word| SHELL_WORDS.contains(&word.as_str()));
            let remedy = match outcome {
                Outcome::TimedOut => "raise --timeout",
                Outcome::Exited(_) if is_for_shell => "--shell runs commands in a shell",
                Outcome::Exited(_) => "--show-output shows what it says, --ignore-failure measures it all the same",
                Outcome::Signalled(_) => "--show-output shows what it says",
            };
            Failure::Measured(format!("'{}' {}; {remedy}", name(command), how(&outcome)))
        }
        error @ CompareError::BudgetTooSmall { needed, .. } => {
            let needed = needed.seconds();
            Failure::Usage(format!("{error}: use --budget {needed}s, or --runs for a number of pairs"))
        }
        error => Failure::Own(error.to_string()),
    }
}
