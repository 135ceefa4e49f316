//! Errors of a comparison as messages with a remedy.

use std::os::fd::OwnedFd;

use steady_feature::{Failure, Interrupt, Session, typed};
use steady_model::{FailureRule, Metric, MetricInput, Nanos, Outcome, Output, Plan};
use steady_process::launcher::NoValue;
use steady_process::runner::{RunError, how};

use crate::again;
use crate::judge::least_runs;
use crate::run::CompareError;
use crate::units::{time_option, time_setting};

/// Returns the message and the exit status for an error of a comparison. A command that failed runs once more, to show
/// what it prints. That run ends when `readable` becomes readable.
pub fn failure(
    plan: &Plan,
    error: CompareError,
    interrupt: &Interrupt,
    readable: OwnedFd,
    session: &mut dyn Session,
) -> Failure {
    let name = |command: usize| plan.commands.get(command).map_or("?", |command| command.name.as_str());
    match error {
        CompareError::Run(RunError::Interrupted) => Failure::Interrupted(interrupt.signal()),
        CompareError::Run(RunError::CannotStart { command, reason }) => {
            let is_unknown = reason.contains("Exec format error");
            let remedy = if is_unknown { "; a script needs a first line such as #!/bin/sh" } else { "" };
            Failure::Usage(format!("'{}' could not be started: {reason}{remedy}", name(command)))
        }
        CompareError::Run(error @ RunError::ScriptFailed { .. }) => Failure::Measured(error.to_string()),
        CompareError::Run(RunError::NotDrawn { command, reason }) => Failure::Own(format!(
            "no new snapshot of the program of '{}' could be created: {reason}; without --warm it starts as usual",
            name(command)
        )),
        CompareError::Run(RunError::NoValue { command, why }) => Failure::Measured(no_value(plan, name(command), &why)),
        CompareError::Run(error @ RunError::LauncherLost(_)) => Failure::Own(error.to_string()),
        CompareError::Failed { command, outcome: Outcome::TimedOut } if plan.timeout != plan.run_limit() => {
            Failure::Usage(format!(
                "a run of '{}' took longer than the whole budget of {} and was killed, so its duration is not known; a \
                 verdict needs {} runs: use a budget of more than {}, or --timeout if the command may hang",
                name(command),
                time_setting(plan.run_limit().unwrap_or_default()),
                least_runs(plan),
                time_setting(least_budget(plan))
            ))
        }
        CompareError::Failed { command, outcome } => {
            let again = again::explain(plan, command, &outcome, readable, session);
            Failure::Measured(failed(plan, command, &outcome, &again))
        }
        CompareError::BudgetTooSmall { per_pair, budget, pairs, needed } => Failure::Usage(format!(
            "a pair needs {} s on an idle machine, so the budget of {} s is too small for the {pairs} pairs that a verdict \
             needs: use --budget {}{}",
            two_digits_up(per_pair.seconds()),
            budget.seconds(),
            time_option(needed),
            if plan.pairs_min_within.is_none() { ", or --runs for a number of pairs" } else { "" }
        )),
        error @ CompareError::Starved => Failure::Own(error.to_string()),
        error @ CompareError::LayoutAbsent { .. } => Failure::Usage(format!("{error}; use --layout auto")),
        CompareError::MetricAbsent { metric, .. } => Failure::Usage(format!("{error}{}", instead_of(metric))),
    }
}

/// What helps if a metric cannot be measured. `--metric auto` may choose a custom metric, and never memory.
fn instead_of(metric: Metric) -> &'static str {
    match metric {
        Metric::Instructions | Metric::Energy => "; use --metric cpu",
        Metric::Elapsed => "; use --metric wall, which includes the time spent waiting for a CPU",
        Metric::Memory => "; with a larger input, the command may use enough to be measured",
        Metric::Cpu | Metric::Wall | Metric::Faults | Metric::Switches | Metric::Custom(_) => "",
    }
}

/// The least budget that can suffice if one run takes longer than the limit of a run, in whole seconds.
fn least_budget(plan: &Plan) -> Nanos {
    let limit = plan.run_limit().unwrap_or_default();
    Nanos::from_seconds((least_runs(plan) as f64 * limit.seconds()).ceil().max(1.0))
}

/// A run without a value of a custom metric: why, and what it printed.
fn no_value(plan: &Plan, name: &str, why: &NoValue) -> String {
    let NoValue { metric, reason, printed } = why;
    let printed = match (printed.is_empty(), &plan.metric_input) {
        (false, _) => format!(". It ends with:\n{printed}"),
        (true, MetricInput::Stdout) => {
            "; nothing was printed there; --metric-input stderr reads standard error, --metric-input FILE a file"
                .to_owned()
        }
        (true, MetricInput::Stderr) => {
            "; nothing was printed there; without --metric-input, standard output is read".to_owned()
        }
        (true, MetricInput::File(_)) => String::new(),
    };
    format!("'{name}' has no value of '{metric}' in {}: {reason}{printed}", plan.metric_input)
}

/// Rounds a time in seconds up to two digits. Rounding down could make a time that exceeds a budget fit into it.
fn two_digits_up(seconds: f64) -> f64 {
    if !(seconds.is_finite() && seconds > 0.0) {
        return 0.0;
    }
    let scale = 10f64.powf(1.0 - seconds.log10().floor());
    (seconds * scale).ceil() / scale
}

fn failed(plan: &Plan, command: usize, outcome: &Outcome, again: &str) -> String {
    let command = &plan.commands[command];
    let shows = match again {
        _ if plan.output.0.contains(&Output::Stderr) => "; its output is above",
        "" => "; --show-output shows its output",
        _ => "",
    };
    let remedy = match outcome {
        Outcome::TimedOut => {
            let limit = time_setting(plan.run_limit().unwrap_or_default());
            match plan.failures {
                FailureRule::Abort => format!(" of {limit} (--timeout); --ignore-failure leaves such runs out"),
                FailureRule::IgnoreAll | FailureRule::IgnoreCodes(_) => {
                    format!(" of {limit} in each of its runs so far; if it needs more time, set a larger --timeout")
                }
            }
        }
        Outcome::Exited(_) if typed::is_for_a_shell(&command.name, &command.argv) => {
            "; it ran without a shell, add --shell for pipes, redirections and variables".to_owned()
        }
        Outcome::Exited(_) => format!("{shows}; --ignore-failure measures it even if it fails"),
        Outcome::Signalled(_) => shows.to_owned(),
    };
    let place = match (&command.revision, &command.directory) {
        (Some(_), Some(directory)) => {
            format!("; it ran in '{}', which has only the files of the revision", directory.display())
        }
        _ => String::new(),
    };
    format!("'{}' {}{remedy}{place}{again}", command.name, how(outcome))
}

#[cfg(test)]
mod tests {
    use steady_model::{Command, Effort, Seed};

    use super::*;

    #[test]
    fn an_exceeded_time_limit_is_named() {
        let command = Command { name: "a b".to_owned(), argv: vec!["a".to_owned()], ..Command::default() };
        let mut plan = Plan::new(vec![command], Effort::Budget(Nanos::from_seconds(60.0)), Seed(1));
        plan.timeout = Some(Nanos::from_seconds(0.5));
        let message = |plan: &Plan| failed(plan, 0, &Outcome::TimedOut, "").replace('\u{a0}', " ");
        let expected = "'a b' exceeded the time limit of 500 ms (--timeout); --ignore-failure leaves such runs out";
        assert_eq!(message(&plan), expected);
        plan.failures = FailureRule::IgnoreAll;
        assert!(message(&plan).contains("limit of 500 ms in each of its runs so far"), "{}", message(&plan));
    }

    /// `--metric auto` may be another number of the commands, and never memory.
    #[test]
    fn a_metric_that_is_not_measured_has_a_remedy_of_its_own() {
        assert!(instead_of(Metric::Instructions).contains("--metric cpu"));
        assert!(instead_of(Metric::Elapsed).contains("--metric wall"));
        assert!(!instead_of(Metric::Memory).contains("--"));
        assert!(Metric::built_in().all(|metric| !instead_of(metric).contains("auto")));
    }
}
