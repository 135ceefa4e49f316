//! `steady compare`: wire plan, runner, experiment and report together.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use clap::{ArgMatches, FromArgMatches};
use steady_compare::run::{CompareError, Event, Setting, compare};
use steady_compare::{COMPARISONS, CommandRunner, Compared, judge};
use steady_feature::{Failure, Feature, Interrupt, Record as _, Session, Status};
use steady_host::around;
use steady_linux::{Root, cgroup, clock, topology};
use steady_model::{Absent, Ending, Layout, Outcome, Plan, Reading, Record};
use steady_process::log::Appender;
use steady_process::runner::RunError;

use crate::flags::CompareFlags;
use crate::progress::Bar;
use crate::warm_runs::{self, Folder};
use crate::{programs, resolve, revisions};

/// The feature.
pub(crate) const FEATURE: Feature = Feature {
    name: "compare",
    about: "Tell whether a command costs less than another, on this machine as it is",
    flags: Feature::flags_of::<CompareFlags>,
    run,
    status: |_| Status::Own,
    records: &[COMPARISONS],
    helpers: &[],
};

/// Duets under a smaller quota than this many CPUs would throttle each other.
const DUET_CPUS: f64 = 2.0;

/// Runs a comparison and reports it; the exit status.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = CompareFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    around(&flags.host, flags.output.quiet, session, |session| run_here(&flags, session))
}

/// The same on the host as it is now.
fn run_here(flags: &CompareFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let mut plan = resolve::plan(flags)?;
    session.open(&flags.output, flags.samples, Status::Own)?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let trees = revisions::build(flags, &mut plan, &interrupt, &readable)?;
    let mut log = if flags.no_history { None } else { Log::open(session) };
    let bar = Bar::new(flags.output.quiet);
    let measured = measure(&plan, readable, &bar, log.as_mut(), session);
    bar.clear();
    let record = measured.map_err(|error| {
        let failure = failure(&plan, error, &interrupt);
        match &trees {
            Some(trees) => trees.explain(&plan, failure),
            None => failure,
        }
    })?;
    interrupt.release();
    if let Some(log) = &mut log {
        // As in [`Log::note`].
        let _ = log.appender.ended(&record);
    }
    let compared = Compared(judge(record));
    // Stored first: writing may block or fail.
    if !flags.no_history {
        session.keep(&compared);
    }
    session.write(&compared)?;
    Ok(match compared.0.record.ending {
        Ending::Interrupted => Failure::Interrupted(interrupt.signal()).status(),
        Ending::Decided | Ending::Spent => compared.status(),
    })
}

/// The log of a comparison, to which the launchers append their runs.
struct Log {
    path: PathBuf,
    appender: Appender,
}

impl Log {
    fn open(session: &mut dyn Session) -> Option<Self> {
        let path = session.log_file()?;
        Some(Log { appender: Appender::open(&path).ok()?, path })
    }

    /// Notes what belongs into the log.
    fn note(&mut self, event: &Event) {
        // A disk that is full now may have room for the history at the end, and what is not in the log is in memory.
        let _ = match event {
            Event::Begun(record) => self.appender.begun(record),
            Event::Looked(look) => self.appender.look(look),
            Event::Watched(moment) => self.appender.moment(moment),
            Event::WarmedUp { .. } | Event::Measured(_) => Ok(()),
        };
    }
}

fn measure(
    plan: &Plan,
    interrupt: OwnedFd,
    bar: &Bar,
    mut log: Option<&mut Log>,
    session: &dyn Session,
) -> Result<Record, CompareError> {
    let place = warm_runs::place(plan);
    let folder = place.as_ref().and_then(|place| place.as_ref().ok()).map(Folder::path);
    let mut runner = CommandRunner::start(plan, log.as_ref().map(|log| log.path.clone()), Some(interrupt), folder)?;
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
        host: session.host(),
        duets,
        started: clock::time_of_day(),
        revision: session.revision(),
        counters: runner.counters(),
        cold,
        one_look: false,
    };
    compare(plan, setting, &mut runner, &mut |event| {
        log.iter_mut().for_each(|log| log.note(&event));
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
