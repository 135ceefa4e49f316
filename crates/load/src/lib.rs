//! `steady load`: how CPU time and wall time move with load, so many processes at once, row by row; and the rulers.
#![forbid(unsafe_code)]

mod csv;
mod document;
mod flags;
mod judge;
pub mod log;
mod plan;
mod record;
pub mod run;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{Failure, Feature, Helper, Interrupt, LogKind, Record, RecordKind, Session, Status, chosen_cpus};
use steady_host::around;
use steady_linux::{Root, clock, topology};
use steady_model::{Machine, RunKind, Seed};

use flags::LoadFlags;
use run::{BestFile, CrowdRunner, Event, LoadError, Measured, Setting};

pub use judge::judged;
pub use record::{
    CpuUse, Figures, LoadPlan, LoadRecord, LoadRow, LoadRun, LoadWork, Point, RULERS_SCHEMA, RulerRecord, SCHEMA,
};

/// The feature.
pub const FEATURE: Feature = Feature {
    name: "load",
    about: "How CPU time and wall time move with load: so many processes at once, row by row; rulers",
    flags: Feature::flags_of::<LoadFlags>,
    run,
    status: |_| Status::Own,
    records: &[
        RecordKind {
            kind: RunKind::Load,
            read: |text| Ok(Box::new(LoadRecord::read(text)?)),
            log: Some(LogKind { read: logged, is_line: log::is_line }),
        },
        RecordKind { kind: RunKind::Rulers, read: |text| Ok(Box::new(RulerRecord::read(text)?)), log: None },
    ],
    helpers: &[
        Helper { word: run::CROWD, main: crowd },
        Helper { word: run::WORKER, main: worker },
        Helper { word: steady_rulers::NEIGHBOURS, main: neighbours },
        Helper { word: steady_rulers::NEIGHBOUR, main: neighbour },
    ],
};

fn logged(text: &str) -> Option<Box<dyn Record>> {
    Some(Box::new(judged(log::read(text)?)))
}

/// Runs a load experiment, or reads the rulers, and reports; the exit status.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = LoadFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    around(&flags.host, flags.output.quiet, session, |session| match flags.rulers {
        true => run::read_rulers(&flags, session),
        false => run_here(&flags, session),
    })
}

/// Runs a load experiment on the host as it is now.
fn run_here(flags: &LoadFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let cpus = chosen_cpus(flags.cpus.as_deref())?;
    let machine = topology::machine(&Root::default(), cpus.as_deref());
    let plan = plan::plan(flags, cpus, &machine, session)?;
    let seed = session.seed(flags.seed)?;
    session.open(&flags.output, flags.samples, Status::Own)?;
    session.open_drawing(flags.export_svg.as_deref())?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let Measured { record, stopped } = measure(&plan, seed, machine, readable, flags.no_history, session)?;
    let failure = stopped.map(|error| failure(&plan, error, &interrupt));
    if record.rows.is_empty() {
        return failure.map_or(Ok(0), Err);
    }
    interrupt.release();
    if !flags.no_history {
        session.log(&log::ended(&record));
    }
    let report = judged(record);
    if !flags.no_history {
        session.keep(&report);
    }
    session.write(&report)?;
    match failure {
        // The report says so itself.
        Some(interrupted @ Failure::Interrupted(_)) => Ok(interrupted.status()),
        Some(failure) => Err(failure),
        None => Ok(0),
    }
}

fn measure(
    plan: &LoadPlan,
    seed: Seed,
    machine: Machine,
    interrupt: OwnedFd,
    no_history: bool,
    session: &mut dyn Session,
) -> Result<Measured, Failure> {
    let runner = CrowdRunner::start(plan, seed, &machine, Some(interrupt));
    let mut runner = runner.map_err(|error| Failure::Own(format!("the CPUs cannot be chosen: {error}")))?;
    session.progress(Some(0.0), "getting ready");
    let best = BestFile::find(session);
    runner.read_rulers(best.rulers());
    let usable = machine.usable_cpus();
    let setting =
        Setting { host: session.host(), machine, started: clock::time_of_day(), revision: session.revision() };
    let mut progress = Progress { plan, usable, row: 0, procs: 0, share: 0.0 };
    let measured = run::measure(plan, seed, setting, &mut runner, &mut |event| {
        progress.show(&event, session);
        match &event {
            Event::Begun(record) if !no_history => session.log(&log::begun(record)),
            Event::RowEnded(row) if !no_history => session.log(&log::row(row)),
            _ => {}
        }
    });
    if let Some(rulers) = runner.rulers() {
        best.keep(rulers, session);
    }
    Ok(measured)
}

/// How far an experiment has come.
struct Progress<'a> {
    plan: &'a LoadPlan,
    usable: f64,
    /// The row that runs, from 1 on, and its number of processes.
    row: usize,
    procs: u32,
    /// The share of the experiment that is done.
    share: f64,
}

impl Progress<'_> {
    fn show(&mut self, event: &Event, session: &mut dyn Session) {
        match event {
            Event::Begun(_) => return,
            Event::RowBegun { procs } => (self.row, self.procs) = (self.row + 1, *procs),
            Event::Looked { .. } => {}
            Event::RowEnded(row) => {
                let all: f64 = self.plan.procs.iter().map(|procs| self.stretch(*procs)).sum();
                self.share += self.stretch(row.procs) / all;
            }
        }
        let processes = if self.procs == 1 { "process" } else { "processes" };
        let within = match event {
            Event::Looked { passed } => self.within(passed.seconds()),
            _ => String::new(),
        };
        let (row, rows, procs) = (self.row, self.plan.procs.len(), self.procs);
        session.progress(Some(self.share), &format!("row {row} of {rows}: {procs} {processes}{within}"));
    }

    /// By how much so many processes are held up by one another, if nothing else runs.
    fn stretch(&self, procs: u32) -> f64 {
        (f64::from(procs) / self.usable).max(1.0)
    }

    /// How far the row is: `, 4 s of about 12 s`. With neighbours it may take longer.
    fn within(&self, passed: f64) -> String {
        let takes = match &self.plan.work {
            LoadWork::Hash { cpu_time, .. } => cpu_time.seconds() * self.stretch(self.procs),
            LoadWork::Command { window, .. } => window.seconds(),
            LoadWork::Sum { .. } => 0.0,
        };
        match takes {
            short if short < 1.0 => String::new(),
            takes if takes < passed => format!(", {passed:.0} s"),
            takes => format!(", {passed:.0} s of about {takes:.0} s"),
        }
    }
}

/// What to tell the user, with the remedy.
fn failure(plan: &LoadPlan, error: LoadError, interrupt: &Interrupt) -> Failure {
    let name = match &plan.work {
        LoadWork::Command { command, .. } => command.name.as_str(),
        LoadWork::Hash { .. } | LoadWork::Sum { .. } => "the work",
    };
    match error {
        LoadError::Interrupted => Failure::Interrupted(interrupt.signal()),
        LoadError::CannotStart(reason) => Failure::Usage(format!("'{name}' could not be started: {reason}")),
        LoadError::CommandFailed { procs, outcome } => {
            let how = steady_process::runner::how(&outcome);
            Failure::Measured(format!("'{name}' {how}, in the row of {procs} at once"))
        }
        error @ (LoadError::Refused { .. } | LoadError::WorkerLost { .. }) => Failure::Measured(error.to_string()),
        error @ LoadError::CrowdLost(_) => Failure::Own(error.to_string()),
    }
}

fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

fn crowd(_: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::serve_crowd(&environment());
    ExitCode::SUCCESS
}

/// Its crowd sees that it left before it was done.
fn worker(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    let served = run::serve_worker(&words.collect::<Vec<_>>(), &environment());
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn neighbours(_: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    steady_rulers::serve();
    ExitCode::SUCCESS
}

fn neighbour(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    steady_rulers::be(words);
    ExitCode::SUCCESS
}
