//! Resolves the flags into a plan. Everything is looked up and checked once, before anything is measured.

mod additions;
mod commands;
mod elf;
mod expansion;
mod parameters;

use std::fs::File;

use steady_feature::flags::failures;
use steady_feature::{Failure, Session, chosen_cpus};
use steady_model::{Effort, Layout, Metric, Output, PerCommand, Plan};

use crate::flags::{CompareFlags, LayoutFlag, MetricFlag};

pub(crate) use parameters::{Given, complete};

/// Returns the plan that the flags describe.
pub(crate) fn plan(flags: &CompareFlags, session: &dyn Session) -> Result<Plan, Failure> {
    let compared = commands::compared(flags, session)?;
    check_conditions(flags, compared.commands.len())?;
    check_limits(flags)?;
    check_layout(flags)?;
    check_input(flags)?;
    Ok(Plan {
        seed: session.seed(flags.seed)?,
        effort: flags.runs.map_or(Effort::Budget(flags.budget), Effort::Pairs),
        pairs_min: flags.min_runs,
        pairs_max: flags.max_runs,
        resolution: flags.precision.resolution,
        confidence: flags.precision.confidence,
        metric: metric(flags.metric),
        layout: layout(flags.layout),
        warmup: flags.warmup,
        setup: compared.setup,
        prepare: compared.prepare,
        conclude: compared.conclude,
        cleanup: compared.cleanup,
        input: flags.around.input.clone(),
        output: output(flags, compared.output)?,
        failures: failures(flags.ignore_failure.as_ref()),
        timeout: flags.timeout,
        cpus: chosen_cpus(flags.cpus.as_deref())?,
        fail_if: flags.gate.fail_if,
        require_verdict: flags.gate.require_verdict,
        warm: flags.warm,
        commands: compared.commands,
    })
}

/// A number and a noun, in the plural if needed: `1 command`, `2 commands`.
fn plural(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn metric(flag: MetricFlag) -> Option<Metric> {
    match flag {
        MetricFlag::Auto => None,
        MetricFlag::Cpu => Some(Metric::Cpu),
        MetricFlag::Elapsed => Some(Metric::Elapsed),
        MetricFlag::Wall => Some(Metric::Wall),
        MetricFlag::Memory => Some(Metric::Memory),
        MetricFlag::Instructions => Some(Metric::Instructions),
    }
}

fn layout(flag: LayoutFlag) -> Option<Layout> {
    match flag {
        LayoutFlag::Auto => None,
        LayoutFlag::Turns => Some(Layout::Turns),
        LayoutFlag::Duet => Some(Layout::Duet),
    }
}

/// Refuses a condition on the verdict if there is only one command. Without a verdict, such a gate would always pass.
fn check_conditions(flags: &CompareFlags, commands: usize) -> Result<(), Failure> {
    if commands < 2 && (flags.gate.fail_if.is_some() || flags.gate.require_verdict) {
        return Err(Failure::Usage(
            "--fail-if and --require-verdict need a verdict: give two commands or more".to_owned(),
        ));
    }
    Ok(())
}

/// Refuses a smallest number of pairs above the largest.
fn check_limits(flags: &CompareFlags) -> Result<(), Failure> {
    match (flags.min_runs, flags.max_runs) {
        (Some(min), Some(max)) if min > max => {
            Err(Failure::Usage(format!("--min-runs {min} is above --max-runs {max}")))
        }
        _ => Ok(()),
    }
}

/// The destinations of the commands' output. Checks that files can be written.
fn output(flags: &CompareFlags, outputs: PerCommand<Output>) -> Result<PerCommand<Output>, Failure> {
    if flags.around.show_output {
        return Ok(PerCommand(vec![Output::Stderr]));
    }
    for path in outputs.0.iter().filter_map(|output| match output {
        Output::File(path) => Some(path),
        _ => None,
    }) {
        let opened = File::options().append(true).create(true).open(path);
        opened.map_err(|error| Failure::Usage(format!("--output '{}': {error}", path.display())))?;
    }
    Ok(outputs)
}

/// Refuses scripts around each run with duets: the scripts of one command would run next to the other command.
fn check_layout(flags: &CompareFlags) -> Result<(), Failure> {
    let around = [("prepare", &flags.around.prepare), ("conclude", &flags.around.conclude)];
    match around.iter().find(|(_, scripts)| !scripts.is_empty()) {
        Some((option, _)) if flags.layout == LayoutFlag::Duet => Err(Failure::Usage(format!(
            "--{option} excludes --layout duet, because it would run next to the other command: use --layout turns"
        ))),
        _ => Ok(()),
    }
}

/// Refuses an input that is not a file. The first run would read a pipe to its end, and opening one may block forever.
fn check_input(flags: &CompareFlags) -> Result<(), Failure> {
    let Some(path) = &flags.around.input else { return Ok(()) };
    let usage = |why: String| Failure::Usage(format!("--input '{}': {why}", path.display()));
    let metadata = path.metadata().map_err(|error| usage(error.to_string()))?;
    if !metadata.is_file() {
        return Err(usage("it must be a file, because every run reads it from the beginning".to_owned()));
    }
    File::open(path).map_err(|error| usage(error.to_string())).map(drop)
}
