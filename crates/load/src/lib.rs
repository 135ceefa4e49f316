//! `steady load`: how load affects CPU time and wall time, measured in rows of concurrent processes; and the rulers.
#![forbid(unsafe_code)]

mod csv;
mod document;
mod flags;
mod judge;
pub mod log;
mod plan;
mod record;
pub mod run;
mod table;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{
    Failure, Feature, Helper, Interrupt, LogKind, Record, RecordKind, Session, Status, chosen_cpus, input,
};
use steady_host::around;
use steady_linux::{Root, clock, topology};
use steady_model::{Machine, Seed};

use flags::LoadFlags;
use run::{BestFile, Event, LoadContext, LoadError, MachineRunner, Measured};

pub use judge::judged;
pub use record::{
    CpuUse, Figures, LoadPlan, LoadRecord, LoadRow, LoadRun, LoadWork, Point, RULERS_SCHEMA, RulerRecord, SCHEMA,
};
pub use table::{LoadTable, Published, TABLE_SCHEMA, TableRow};

/// The feature `load`, for the table of features in `steady_cli`.
pub const FEATURE: Feature = Feature {
    name: "load",
    about: "Measure how load affects CPU time and wall time, with rows of concurrent processes; read rulers",
    flags: Feature::flags_of::<LoadFlags>,
    run,
    status: |_| Status::Own,
    records: &[
        RecordKind {
            kind: record::KIND,
            read: |text| Ok(Box::new(LoadRecord::read(text)?)),
            log: Some(LogKind { read: logged, is_line: log::is_line }),
            join: None,
        },
        RecordKind {
            kind: record::RULERS_KIND,
            read: |text| Ok(Box::new(RulerRecord::read(text)?)),
            log: None,
            join: None,
        },
    ],
    helpers: &[
        Helper { word: run::LEADER, main: leader },
        Helper { word: run::WORKER, main: worker },
        Helper { word: steady_rulers::NEIGHBOURS, main: neighbours },
        Helper { word: steady_rulers::NEIGHBOUR, main: neighbour },
    ],
};

fn logged(text: &str) -> Option<Box<dyn Record>> {
    Some(Box::new(judged(log::read(text)?)))
}

/// Runs a load experiment or reads the rulers, writes the report, and returns the exit status.
fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = LoadFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    if let Some(table) = table(&flags)? {
        return explain_table(&table, &flags, session);
    }
    around(&flags.host, flags.output.quiet, session, |session| match flags.rulers {
        true => run::read_rulers(&flags, session),
        false => run_here(&flags, session),
    })
}

/// Returns the table that `--table` or `--published` names.
fn table(flags: &LoadFlags) -> Result<Option<LoadTable>, Failure> {
    if let Some(published) = flags.published {
        return Ok(Some(published.table()));
    }
    let Some(file) = &flags.table else { return Ok(None) };
    let name = file.display().to_string();
    let usage = |why: String| Failure::Usage(format!("--table '{name}': {why}"));
    let text = input::text(file).map_err(|error| usage(error.to_string()))?;
    LoadTable::read(&name, &text).map(Some).map_err(usage)
}

/// Reports what a table says. Nothing is measured, so nothing is stored in the history.
fn explain_table(table: &LoadTable, flags: &LoadFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    session.open(&flags.output, false, Status::Own)?;
    session.open_drawing(flags.export_svg.as_deref())?;
    session.write(table).map(|()| 0)
}

/// Runs a load experiment, without changing the host.
fn run_here(flags: &LoadFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let cpus = chosen_cpus(flags.cpus.as_deref())?;
    let machine = topology::machine(&Root::default(), cpus.as_deref());
    let plan = plan::plan(flags, cpus, &machine, session)?;
    let seed = session.seed(flags.seed)?;
    session.open(&flags.output, flags.samples, Status::Own)?;
    session.open_drawing(flags.export_svg.as_deref())?;
    let (interrupt, readable) =
        Interrupt::catch().map_err(|error| Failure::Own(format!("signal handlers cannot be installed: {error}")))?;
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
        // The report says that it was interrupted.
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
    let runner = MachineRunner::start(plan, seed, &machine, Some(interrupt));
    let mut runner = runner
        .map_err(|error| Failure::Own(format!("--cpus: this process cannot be restricted to these CPUs: {error}")))?;
    session.progress(Some(0.0), "getting ready");
    let best = BestFile::find(session);
    runner.read_rulers(best.rulers());
    let usable = machine.usable_cpus();
    let context =
        LoadContext { host: session.host(), machine, started: clock::time_of_day(), revision: session.revision() };
    let mut progress = Progress { plan, usable, row: 0, procs: 0, share: 0.0 };
    let measured = run::measure(plan, seed, context, &mut runner, &mut |event| {
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

/// Progress of an experiment.
struct Progress<'a> {
    plan: &'a LoadPlan,
    usable: f64,
    /// The current row, from 1, and its number of processes.
    row: usize,
    procs: u32,
    /// Share of the experiment that is complete.
    share: f64,
}

impl Progress<'_> {
    fn show(&mut self, event: &Event, session: &mut dyn Session) {
        match event {
            Event::Begun(_) => return,
            Event::RowBegun { procs } => (self.row, self.procs) = (self.row + 1, *procs),
            Event::Progressed { .. } => {}
            Event::RowEnded(row) => {
                let all: f64 = self.plan.procs.iter().map(|procs| self.stretch(*procs)).sum();
                self.share += self.stretch(row.procs) / all;
            }
        }
        let within = match event {
            Event::Progressed { passed } => self.within(passed.seconds()),
            _ => String::new(),
        };
        let (row, rows, procs) = (self.row, self.plan.procs.len(), processes(&self.procs));
        session.progress(Some(self.share), &format!("row {row} of {rows}: {procs}{within}"));
    }

    /// Returns the factor by which the processes delay each other if nothing else runs.
    fn stretch(&self, procs: u32) -> f64 {
        (f64::from(procs) / self.usable).max(1.0)
    }

    /// Formats the progress of the row: `, 4 s of about 12 s`. It takes longer if other processes run.
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

/// Makes the failure to report for an error.
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
            Failure::Measured(format!("'{name}' {how} in the row of {}", processes(&procs)))
        }
        error @ (LoadError::Refused { .. } | LoadError::WorkerLost { .. }) => Failure::Measured(error.to_string()),
        error @ LoadError::LeaderLost(_) => Failure::Own(error.to_string()),
    }
}

/// Formats a number of processes: `1 process`, `8 processes`.
fn processes(procs: &u32) -> String {
    format!("{procs} {}", if *procs == 1 { "process" } else { "processes" })
}

fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

fn leader(_: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::serve_leader(&environment());
    ExitCode::SUCCESS
}

/// Entry point of a worker. If it fails, its leader sees that it ended before it was done.
fn worker(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    let served = run::serve_worker(&words.collect::<Vec<_>>(), &environment());
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn neighbours(_: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    steady_rulers::serve();
    ExitCode::SUCCESS
}

fn neighbour(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    steady_rulers::run_neighbour(words);
    ExitCode::SUCCESS
}
