//! Two commands, run in turns.

use std::os::fd::OwnedFd;

use steady_costs::prices::prices;
use steady_experiments::CommandRunner;
use steady_experiments::compare::CompareError;
use steady_experiments::compare::Setting;
use steady_experiments::explain::pair::{self, Counter, Means};
use steady_experiments::explain::{TracedRuns, pair_report};
use steady_feature::Interrupt;
use steady_linux::{Root, clock, host};
use steady_model::{Absent, Effort, Ending, ExplainPairRecord, Layout, Nanos, Output, PerCommand, Plan, Reading};
use steady_process::runner::RunError;
use steady_rulers::alu_seconds;

use super::tick;
use crate::failure::Failure;
use crate::flags::ExplainFlags;
use crate::history::Keeper;
use crate::output::Destinations;
use crate::progress::Bar;
use crate::session::CommandLine;
use crate::{compare, programs, resolve, revisions};

/// How long pairs are run where nobody says.
const BUDGET: Nanos = Nanos(10_000_000_000);
/// The level of each line's interval.
const CONFIDENCE: f64 = 0.95;
const RESOLUTION: f64 = 0.01;

/// Runs both commands and explains their difference; the exit status.
pub(super) fn run(flags: &ExplainFlags) -> Result<u8, Failure> {
    check(flags)?;
    let plan = plan(flags)?;
    let destinations = Destinations::open(&flags.output(), flags.pairs.samples)?;
    let means = Means {
        prices: prices(&mut CommandLine::default(), flags.fresh, flags.quiet)?,
        tick: tick(),
        ruler: alu_seconds,
    };
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let bar = Bar::new(flags.quiet);
    let measured = measure(&plan, means, readable, &bar);
    bar.clear();
    let record = measured.map_err(|error| compare::failure(&plan, error, &interrupt))?;
    let report = pair_report(record);
    interrupt.release();
    // Stored first: writing may block or fail.
    let kept = if flags.no_history { None } else { Keeper::keep_at_once(&report) };
    destinations.write(&report)?;
    kept.map_or(Ok(()), |id| destinations.mention(id))?;
    Ok(match report.record.record.ending {
        Ending::Interrupted => Failure::Interrupted(interrupt.signal()).status(),
        Ending::Decided | Ending::Spent => 0,
    })
}

/// What is for one command would do nothing here.
fn check(flags: &ExplainFlags) -> Result<(), Failure> {
    let given = [("--trace", flags.trace), ("--by-process", flags.by_process)];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::Usage(format!(
            "{option} is for one command behind --; of two, runs of their own are counted by a tracer"
        ))),
        None => Ok(()),
    }
}

fn plan(flags: &ExplainFlags) -> Result<Plan, Failure> {
    let pairs = &flags.pairs;
    let commands = flags.commands.iter().map(|text| programs::command(text, pairs.shell.as_deref()));
    Ok(Plan {
        commands: commands.collect::<Result<_, _>>()?,
        seed: resolve::seed(pairs.seed)?,
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
        failures: resolve::failures(pairs.ignore_failure.as_ref()),
        timeout: pairs.timeout,
        cpus: None,
        fail_if: None,
        require_verdict: false,
        warm: false,
    })
}

fn measure(plan: &Plan, means: Means, interrupt: OwnedFd, bar: &Bar) -> Result<ExplainPairRecord, CompareError> {
    let unheard = |error: std::io::Error| CompareError::Run(RunError::LauncherLost(error.to_string()));
    let counter_interrupt = interrupt.try_clone().map_err(unheard)?;
    let mut runner = CommandRunner::start(plan, None, Some(interrupt), None)?;
    let setting = Setting {
        host: host::probe(&Root::default()),
        duets: Err(Absent::because("times are told by turns alone")),
        started: clock::time_of_day(),
        revision: revisions::here(),
        counters: runner.counters(),
        cold: None,
        one_look: true,
    };
    let mut counter = TracedRuns::start(plan, Some(counter_interrupt))
        .map_err(|error| Absent::because(format!("no process to count in: {error}")));
    let counter: Reading<&mut dyn Counter> = match &mut counter {
        Ok(counter) => Ok(counter),
        Err(why) => Err(why.clone()),
    };
    pair::run(plan, setting, means, (&mut runner, counter), &mut |event| bar.show(&event))
}
