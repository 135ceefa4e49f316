//! `steady load`: wire plan, runner, experiment and report together.

mod bar;
mod best;
mod plan;
mod rulers;

use std::os::fd::OwnedFd;

use steady_experiments::load::{self, CrowdRunner, Event, LoadError, Measured, Setting};
use steady_feature::Interrupt;
use steady_host::around;
use steady_linux::{Root, clock, host, topology};
use steady_model::{LoadPlan, LoadWork, Machine};

use crate::failure::Failure;
use crate::flags::LoadFlags;
use crate::history::Keeper;
use crate::output::Destinations;
use crate::session::CommandLine;
use crate::{resolve, revisions};

use bar::RowBar;
use best::BestFile;

/// Runs a load experiment, or reads the rulers, and reports; the exit status.
pub(crate) fn run(flags: &LoadFlags) -> Result<u8, Failure> {
    around(&flags.host, flags.output.quiet, &mut CommandLine::default(), |_| run_here(flags))
}

/// The same on the host as it is now.
fn run_here(flags: &LoadFlags) -> Result<u8, Failure> {
    if flags.rulers {
        return rulers::run(flags);
    }
    let cpus = resolve::cpus(flags.cpus.as_deref())?;
    let machine = topology::machine(&Root::default(), cpus.as_deref());
    let plan = plan::plan(flags, cpus, &machine)?;
    let destinations = Destinations::open(&flags.output, flags.samples)?;
    let drawing = destinations.drawing("--export-svg", flags.export_svg.as_deref())?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let mut keeper = if flags.no_history { Keeper::none() } else { Keeper::begin() };
    let bar = RowBar::new(flags.output.quiet, &plan, &machine);
    let measured = measure(&plan, machine, readable, &mut |event| {
        bar.show(&event);
        match &event {
            Event::Begun(record) => keeper.note_load(record),
            Event::RowBegun { .. } => {}
            Event::RowEnded(row) => keeper.note_row(row),
        }
    });
    bar.clear();
    let Measured { record, stopped } = measured?;
    let failure = stopped.map(|error| failure(&plan, error, &interrupt));
    if record.rows.is_empty() {
        keeper.salvage();
        return failure.map_or(Ok(0), Err);
    }
    interrupt.release();
    let report = load::report(record);
    // Stored first: writing may block or fail.
    let kept = keeper.keep_load(&report);
    let written = destinations.write(&report);
    let drawn = drawing.map_or(Ok(()), |file| file.save(&steady_report::load_svg(&report)));
    written.and(drawn)?;
    kept.map_or(Ok(()), |id| destinations.mention(id))?;
    match failure {
        // The report says so itself.
        Some(interrupted @ Failure::Interrupted(_)) => Ok(interrupted.status()),
        Some(failure) => Err(failure),
        None => Ok(0),
    }
}

fn measure(
    plan: &LoadPlan,
    machine: Machine,
    interrupt: OwnedFd,
    events: &mut dyn FnMut(Event),
) -> Result<Measured, Failure> {
    let setting = Setting {
        host: host::probe(&Root::default()),
        machine: machine.clone(),
        started: clock::time_of_day(),
        revision: revisions::here(),
    };
    let runner = CrowdRunner::start(plan, &machine, Some(interrupt));
    let mut runner = runner.map_err(|error| Failure::Own(format!("the CPUs cannot be chosen: {error}")))?;
    let best = BestFile::find();
    runner.read_rulers(best.rulers());
    let measured = load::measure(plan, setting, &mut runner, events);
    if let Some(rulers) = runner.rulers() {
        best.keep(rulers);
    }
    Ok(measured)
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
