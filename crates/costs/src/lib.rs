//! `steady costs`: what calls, switches, faults, processes and other primitives cost on this host.
#![forbid(unsafe_code)]

mod clocks;
mod csv;
mod document;
mod flags;
mod judge;
mod plan;
pub mod prices;
mod record;
mod run;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{Failure, Feature, Helper, Interrupt, RecordKind, Session, Status};
use steady_host::around;
use steady_linux::clock;
use steady_model::{Machine, Seed};
use steady_render::{Chart, svg};

use flags::CostsFlags;

pub use clocks::{ClockWords, clock_words};
pub use document::plots;
pub use judge::{FEWEST, judged};
pub use record::{
    Affinity, ClockFacts, Cost, CostsPlan, CostsRecord, Histogram, LengthReason, Mode, ProbeCost, Repetition, SCHEMA,
};
pub use run::{
    Calibrated, Circumstances, CostsError, CostsRunner, Done, Event, Opened, Repeat, Repeated, SimulatedProbes, measure,
};

const PLOTS: &str = "--plots";
/// Share of the progress bar for preparing the probes.
const READY: f64 = 0.1;

/// The feature `steady costs`.
pub const FEATURE: Feature = Feature {
    name: "costs",
    about: "Measure what calls, switches, faults, processes and other primitives cost on this machine, and its clocks",
    flags: Feature::flags_of::<CostsFlags>,
    run,
    status: |_| Status::Own,
    records: &[RecordKind {
        kind: record::KIND,
        read: |text| Ok(Box::new(CostsRecord::read(text)?)),
        log: None,
        join: None,
    }],
    helpers: &[Helper { word: run::PROBER, main: probe }, Helper { word: run::ROUNDS, main: go_round }],
};

/// Measures the cost of primitives and reports it.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = CostsFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    if flags.list {
        return session.print(&plan::list()).map(|()| 0);
    }
    around(&flags.host, flags.output.quiet, session, |session| run_here(&flags, session))
}

/// Measures and reports in the present state of the host.
fn run_here(flags: &CostsFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let plan = plan::plan(flags)?;
    let machine = plan::machine();
    let affinity = plan::affinity(&machine, flags.cpu)?;
    let seed = session.seed(flags.seed)?;
    session.open(&flags.output, flags.samples, Status::Own)?;
    flags.plots.as_deref().map(make_folder).transpose()?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let mut runner = run::ProberRunner::new(affinity.clone(), Some(readable));
    let circumstances = circumstances(session, machine, affinity, seed);
    let Done { record, stopped, .. } = measure(&plan, circumstances, &mut runner, &mut |event| show(session, &event));
    drop(runner);
    let record = judged(record);
    if record.costs().next().is_none() {
        return Err(nothing(&record, stopped, &interrupt));
    }
    interrupt.release();
    if !flags.no_history {
        session.keep(&record);
    }
    let written = session.write(&record);
    let drawn = flags.plots.as_deref().map_or(Ok(()), |folder| draw(&record, folder, session));
    written.and(drawn)?;
    match stopped {
        // The report says that it was interrupted.
        Some(CostsError::Interrupted) => Ok(Failure::Interrupted(interrupt.signal()).status()),
        Some(error) => Err(Failure::Own(format!("some probes could not be measured: {error}"))),
        None => Ok(0),
    }
}

/// Collects the facts about this machine and this run for the record.
fn circumstances(session: &dyn Session, machine: Machine, affinity: Affinity, seed: Seed) -> Circumstances {
    Circumstances {
        host: session.host(),
        machine,
        started: clock::time_of_day(),
        revision: session.revision(),
        clocks: plan::clocks(),
        affinity,
        seed,
    }
}

/// Shows the progress of an experiment.
fn show(session: &mut dyn Session, event: &Event) {
    match event {
        Event::Opening { probe, done, of } => {
            let share = *done as f64 / (*of).max(1) as f64;
            session.progress(Some(READY * share), &format!("preparing {}", probe.name()));
        }
        Event::Round { done, of } => {
            let share = f64::from(*done) / f64::from((*of).max(1));
            session.progress(Some(READY + (1.0 - READY) * share), &format!("repetition {done} of {of}"));
        }
    }
}

/// The failure if nothing was measured.
fn nothing(record: &CostsRecord, stopped: Option<CostsError>, interrupt: &Interrupt) -> Failure {
    let absent = record.probes.iter().find_map(|probe| Some((probe.probe.name(), probe.cost.as_ref().err()?)));
    match (stopped, absent) {
        (Some(CostsError::Interrupted), _) => Failure::Interrupted(interrupt.signal()),
        (Some(error), _) => Failure::Own(format!("nothing could be measured: {error}")),
        (None, Some((probe, why))) => Failure::Own(format!("nothing could be measured: {probe}: {why}")),
        (None, None) => Failure::Own("nothing could be measured".to_owned()),
    }
}

/// Creates the folder for the histograms if it does not exist, and checks that it is writable.
fn make_folder(folder: &Path) -> Result<(), Failure> {
    let file = folder.join(format!(".steady-{}.tmp", std::process::id()));
    let made = fs::create_dir_all(folder).and_then(|()| fs::write(&file, "")).and_then(|()| fs::remove_file(&file));
    made.map_err(|error| Failure::Usage(format!("{PLOTS} '{}': {error}", folder.display())))
}

/// Writes a chart of each measured probe as SVG.
fn draw(record: &CostsRecord, folder: &Path, session: &dyn Session) -> Result<(), Failure> {
    let write =
        |(probe, chart): &(&str, Chart)| session.save(PLOTS, &folder.join(format!("{probe}.svg")), &svg::text(chart));
    plots(record).iter().map(write).fold(Ok(()), Result::and)
}

/// Main function of a prober.
fn probe(_: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::serve();
    ExitCode::SUCCESS
}

/// Main function of a process whose system calls a tracer counts.
fn go_round(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    if run::rounds(words) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
