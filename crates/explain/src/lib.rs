//! `steady explain`: where the time of a command goes, or the difference between two commands, from counted events and
//! their prices on this host.
#![forbid(unsafe_code)]

mod csv;
mod document;
mod flags;
mod judge;
mod plan;
mod record;
mod run;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use steady_compare::run::{CompareContext, CompareError, show, show_begin};
use steady_compare::{CommandRunner, failure};
use steady_costs::prices::prices;
use steady_feature::{Failure, Feature, Helper, Interrupt, RecordKind, Session, Status, attended};
use steady_linux::clock;
use steady_model::{Absent, Ending, Plan, Reading};
use steady_process::runner::RunError;
use steady_rulers::alu_seconds;

use flags::ExplainFlags;
use plan::Explained;
use run::TracedRuns;

pub use judge::{judged, judged_pair};
pub use record::{
    Counts, Difference, ExplainPairRecord, ExplainRecord, Explanation, Line, Missing, PairExport, Part, ProcessUse,
    Progress, SCHEMA,
};
pub use run::{COUNTED_RUNS, Counter, Means, Step, explain_pair};

/// The feature `steady explain`.
pub const FEATURE: Feature = Feature {
    name: "explain",
    about: "Show where the time of a command goes, or why one command takes longer than another",
    flags: Feature::flags_of::<ExplainFlags>,
    run,
    status: Status::of_words,
    records: &[RecordKind { kind: record::KIND, read: record::read, log: None, join: None }],
    helpers: &[Helper { word: run::ARGUMENT, main: guard }, Helper { word: run::COUNTER, main: count }],
};

/// Explains one command or the difference of two, as the command line says.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = ExplainFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    match plan::explained(&flags)? {
        Explained::One => one(&flags, session),
        Explained::Pair => pair(&flags, session),
    }
}

/// Runs a command once and explains where its time went.
fn one(flags: &ExplainFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    // The exit status is the command's, so every status from 1 on may be its own.
    session.open(&flags.output(), false, Status::OfTheCommand)?;
    let record = run::one(flags, session)?;
    if !flags.no_history {
        session.keep(&record);
    }
    session.write(&record)?;
    Ok(attended::status(record.ended))
}

/// Runs pairs of two commands and explains their difference.
fn pair(flags: &ExplainFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let plan = plan::pairs(flags, session)?;
    session.open(&flags.output(), flags.pairs.samples, Status::Own)?;
    let means = Means { prices: prices(session, flags.fresh, flags.quiet)?, ruler: alu_seconds };
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let also_readable = readable.try_clone().map_err(|error| Failure::Own(error.to_string()))?;
    let record = measure(&plan, means, readable, session)
        .map_err(|error| failure(&plan, error, &interrupt, also_readable, session))?;
    interrupt.release();
    if !flags.no_history {
        session.keep(&record);
    }
    session.write(&record)?;
    Ok(match record.record.ending {
        Ending::Interrupted => Failure::Interrupted(interrupt.signal()).status(),
        Ending::Decided | Ending::Spent => 0,
    })
}

fn measure(
    plan: &Plan,
    means: Means,
    interrupt: OwnedFd,
    session: &mut dyn Session,
) -> Result<ExplainPairRecord, CompareError> {
    let lost = |error: std::io::Error| CompareError::Run(RunError::LauncherLost(error.to_string()));
    let counter_interrupt = interrupt.try_clone().map_err(lost)?;
    let mut runner = CommandRunner::start(plan, None, Some(interrupt), None)?;
    let setting = CompareContext {
        host: session.host(),
        duets: Err(Absent::because("only runs that follow each other show their own times")),
        started: clock::time_of_day(),
        revision: session.revision(),
        counters: runner.counters(),
        tick: steady_linux::host::tick(),
        cold: None,
        one_look: true,
    };
    let mut counter = TracedRuns::start(plan, Some(counter_interrupt))
        .map_err(|error| Absent::because(format!("the process that counts could not be started: {error}")));
    let counter: Reading<&mut dyn Counter> = match &mut counter {
        Ok(counter) => Ok(counter),
        Err(why) => Err(why.clone()),
    };
    show_begin(session);
    explain_pair(plan, setting, means, &mut runner, counter, &mut |step| show_step(session, &step))
}

/// Updates the progress after a step.
fn show_step(session: &mut dyn Session, step: &Step) {
    match step {
        Step::Pairs(event) => show(session, event),
        Step::Counting { ended } => {
            let all = 2 * COUNTED_RUNS;
            let text = format!("counting system calls with a tracer: run {} of {all}", ended + 1);
            session.progress(Some(*ended as f64 / all as f64), &text);
            session.lasting_step("run", None);
        }
    }
}

/// Main function of the guardian of an explained command.
fn guard(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::guard(words);
    ExitCode::SUCCESS
}

/// Main function of the helper process that counts what runs do, by a tracer.
fn count(_: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::serve_counter();
    ExitCode::SUCCESS
}
