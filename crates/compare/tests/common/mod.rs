//! Plans for simulated machines.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::PathBuf;

use steady_compare::judge;
use steady_compare::run::{CompareContext, CompareError, compare};
use steady_model::{Command, Effort, Judgement, Nanos, Plan, Record, Report, Seed};
use steady_process::simulated::{Conditions, SimulatedMachine};

/// A plan for `commands` commands within `seconds`.
pub(crate) fn plan(commands: usize, seconds: f64, seed: u64) -> Plan {
    let command = |index: usize| Command {
        name: format!("command {index}"),
        argv: vec!["x".to_owned()],
        program: PathBuf::from("/x"),
        ..Command::default()
    };
    let effort = Effort::Budget(Nanos::from_seconds(seconds));
    Plan::new((0..commands).map(command).collect(), effort, Seed(seed))
}

/// The setting of a simulated host.
pub(crate) fn setting() -> CompareContext {
    CompareContext::simulated(true)
}

/// Runs a comparison on `machine`.
pub(crate) fn measure(plan: &Plan, machine: &mut SimulatedMachine) -> Result<Record, CompareError> {
    compare(plan, setting(), machine, &mut |_| {})
}

/// The verdict on the metric that decides.
pub(crate) fn primary(report: &Report) -> &Judgement {
    report.primary().next().unwrap()
}

/// Compares commands with these costs, and returns the report.
pub(crate) fn report(plan: &Plan, seconds: &[f64], conditions: Conditions) -> Report {
    let mut machine = SimulatedMachine::new(seconds, conditions, plan.seed.0 ^ 0x5eed);
    judge(measure(plan, &mut machine).unwrap())
}

/// The number of simulated comparisons. `./test --all` has ten times as many, which finds rates that are slightly too
/// high.
#[allow(dead_code, reason = "shared by several test programs")]
pub(crate) fn repeated(trials: u64) -> u64 {
    let all = std::env::var_os("STEADY_TESTS").is_some_and(|value| value == "all");
    if all { 10 * trials } else { trials }
}
