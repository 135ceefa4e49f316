//! `steady compare`: wire plan, runner, experiment and report together.

use steady_experiments::compare::{CompareError, Setting, compare};
use steady_experiments::{CommandRunner, judge, status};
use steady_feature::Interrupt;
use steady_host::around;
use steady_linux::{Root, cgroup, clock, host, topology};
use steady_model::{Absent, Ending, Layout, Outcome, Plan, Reading, Record};
use steady_process::runner::RunError;

use crate::failure::Failure;
use crate::flags::CompareFlags;
use crate::history::Keeper;
use crate::output::Destinations;
use crate::progress::Bar;
use crate::session::CommandLine;
use crate::warm_runs::{self, Folder};
use crate::{programs, resolve, revisions};

/// Duets under a smaller quota than this many CPUs would throttle each other.
const DUET_CPUS: f64 = 2.0;

/// Runs a comparison and reports it; the exit status.
pub(crate) fn run(flags: &CompareFlags) -> Result<u8, Failure> {
    around(&flags.host, flags.output.quiet, &mut CommandLine::default(), |_| run_here(flags))
}

/// The same on the host as it is now.
fn run_here(flags: &CompareFlags) -> Result<u8, Failure> {
    let mut plan = resolve::plan(flags)?;
    let destinations = Destinations::open(&flags.output, flags.samples)?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let trees = revisions::build(flags, &mut plan, &interrupt, &readable)?;
    let mut keeper = if flags.no_history { Keeper::none() } else { Keeper::begin() };
    let bar = Bar::new(flags.output.quiet);
    let measured = measure(&plan, readable, &bar, &mut keeper);
    bar.clear();
    let record = match measured {
        Ok(record) => record,
        Err(error) => {
            keeper.salvage();
            let failure = failure(&plan, error, &interrupt);
            return Err(match &trees {
                Some(trees) => trees.explain(&plan, failure),
                None => failure,
            });
        }
    };
    interrupt.release();
    let report = judge(record);
    // Stored first: writing may block or fail.
    let kept = keeper.keep(&report);
    destinations.write(&report)?;
    kept.map_or(Ok(()), |id| destinations.mention(id))?;
    Ok(match report.record.ending {
        Ending::Interrupted => Failure::Interrupted(interrupt.signal()).status(),
        Ending::Decided | Ending::Spent => status(&report.record.plan, &report.judgements),
    })
}

fn measure(
    plan: &Plan,
    interrupt: std::os::fd::OwnedFd,
    bar: &Bar,
    keeper: &mut Keeper,
) -> Result<Record, CompareError> {
    let place = warm_runs::place(plan);
    let folder = place.as_ref().and_then(|place| place.as_ref().ok()).map(Folder::path);
    let mut runner = CommandRunner::start(plan, keeper.log(), Some(interrupt), folder)?;
    let images = place.as_ref().map(|place| warm_runs::images(plan, place));
    let cold = match images {
        None => None,
        Some(Ok(images)) => {
            runner.add_images(images);
            None
        }
        Some(Err(cold)) => Some(cold),
    };
    let duets = duet_cpus(plan).and_then(|cpus| {
        runner.add_duet(cpus).map_err(|error| Absent::because(format!("commands cannot be kept to a CPU: {error}")))
    });
    let setting = Setting {
        host: host::probe(&Root::default()),
        duets,
        started: clock::time_of_day(),
        revision: revisions::here(),
        counters: runner.counters(),
        cold,
        one_look: false,
    };
    compare(plan, setting, &mut runner, &mut |event| {
        keeper.note(&event);
        bar.show(&event);
    })
}

/// The two CPUs for duets, or why there are none.
fn duet_cpus(plan: &Plan) -> Reading<(usize, usize)> {
    if plan.layout == Some(Layout::Turns) || plan.commands.len() < 2 {
        return Err(Absent::because("they were not asked for"));
    }
    if let Ok(Some(quota)) = cgroup::cpu_quota(&Root::default())
        && quota.cpus() < DUET_CPUS
    {
        return Err(Absent::because(format!("the control group may use {:.2} CPUs", quota.cpus())));
    }
    let allowed = match &plan.cpus {
        Some(cpus) => cpus.clone(),
        None => topology::allowed_cpus(&Root::default())?,
    };
    topology::Topology::probe(&Root::default())?.duet_cpus(&allowed)
}

/// What to tell the user, with the remedy.
pub(crate) fn failure(plan: &Plan, error: CompareError, interrupt: &Interrupt) -> Failure {
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
                "a run of '{}' outlasted the whole budget and was ended: raise --budget, for a verdict needs 12 runs; \
                 if it hangs now and then, --timeout with --ignore-failure counts such runs apart",
                name(command)
            ))
        }
        CompareError::Failed { command, outcome } => Failure::Measured(failed(plan, command, &outcome)),
        CompareError::BudgetTooSmall { per_pair, budget, needed } => Failure::Usage(format!(
            "a pair needs {} s by itself, so the budget of {} s holds fewer than the 6 that a verdict needs: use --budget {}s, \
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
    let how = steady_process::runner::how(outcome);
    let remedy = match outcome {
        Outcome::TimedOut => "raise --timeout",
        Outcome::Exited(_) if programs::shell_word(&command.argv).is_some() => "--shell runs commands in a shell",
        Outcome::Exited(_) => "--show-output shows what it says, --ignore-failure measures it all the same",
        Outcome::Signalled(_) => "--show-output shows what it says",
    };
    format!("'{}' {how}; {remedy}", command.name)
}
