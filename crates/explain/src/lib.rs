//! `steady explain`: where the time of a command went, or that of the difference of two: what they did, at the prices of this host.
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
use steady_compare::CommandRunner;
use steady_compare::run::{CompareError, Event, Setting};
use steady_costs::prices::prices;
use steady_feature::{Failure, Feature, Helper, Interrupt, RecordKind, Session, Status, attended};
use steady_linux::clock;
use steady_model::{Absent, Ending, Plan, Reading, RunKind};
use steady_process::runner::RunError;
use steady_rulers::alu_seconds;

use flags::ExplainFlags;
use plan::Explained;
use run::TracedRuns;

pub use judge::{judged, judged_pair};
pub use record::{
    Counts, Difference, ExplainPairRecord, ExplainRecord, Explanation, Line, Missing, Part, ProcessUse, Progress,
    SCHEMA,
};
pub use run::{COUNTED_RUNS, Counter, Means, explain_pair};

/// The feature.
pub const FEATURE: Feature = Feature {
    name: "explain",
    about: "Where the time of a command goes, and what its calls, faults and switches cost; why one needs longer than another",
    flags: Feature::flags_of::<ExplainFlags>,
    run,
    status: Status::of_words,
    records: &[RecordKind { kind: RunKind::Explain, read: record::read, log: None }],
    helpers: &[Helper { word: run::ARGUMENT, main: guard }, Helper { word: run::COUNTER, main: count }],
};

/// Explains what the words name.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = ExplainFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    match plan::explained(&flags)? {
        Explained::One => one(&flags, session),
        Explained::Pair => pair(&flags, session),
    }
}

/// Runs a command once and explains where its time went.
fn one(flags: &ExplainFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    // Statuses from 1 on may be the command's.
    session.open(&flags.output(), false, Status::OfTheCommand)?;
    let record = run::one(flags, session)?;
    if !flags.no_history {
        session.keep(&record);
    }
    session.write(&record)?;
    Ok(attended::status(record.ended))
}

/// Runs two commands in turns and explains their difference.
fn pair(flags: &ExplainFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let plan = plan::pairs(flags, session)?;
    session.open(&flags.output(), flags.pairs.samples, Status::Own)?;
    let means = Means { prices: prices(session, flags.fresh, flags.quiet)?, tick: run::tick(), ruler: alu_seconds };
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let record = measure(&plan, means, readable, session).map_err(|error| run::failure(&plan, error, &interrupt))?;
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
    let unheard = |error: std::io::Error| CompareError::Run(RunError::LauncherLost(error.to_string()));
    let counter_interrupt = interrupt.try_clone().map_err(unheard)?;
    let mut runner = CommandRunner::start(plan, None, Some(interrupt), None)?;
    let setting = Setting {
        host: session.host(),
        duets: Err(Absent::because("times are told by turns alone")),
        started: clock::time_of_day(),
        revision: session.revision(),
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
    session.progress(Some(0.0), "warming up");
    explain_pair(plan, setting, means, &mut runner, counter, &mut |event| show(session, &event))
}

/// Shows how far the pairs are.
fn show(session: &mut dyn Session, event: &Event) {
    match event {
        Event::WarmedUp { blocks, .. } => session.progress(Some(0.0), &format!("warming up: {blocks} pairs")),
        Event::Begun(_) | Event::Looked(_) | Event::Watched(_) => {}
        Event::Measured(progress) => {
            let change = progress.effects.iter().flatten().next().map_or_else(String::new, |(change, interval)| {
                let [change, low, high] = [*change, interval.low, interval.high].map(|ratio| ratio * 100.0);
                format!("  {} {change:+.1} % ({low:+.1} to {high:+.1})", progress.metric.name())
            });
            session.progress(Some(progress.fraction), &format!("{} pairs{change}", progress.pairs));
        }
    }
}

/// The whole life of the guardian of an explained command.
fn guard(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::guard(words);
    ExitCode::SUCCESS
}

/// The whole life of a process that counts runs by a tracer.
fn count(_: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::serve_counter();
    ExitCode::SUCCESS
}
