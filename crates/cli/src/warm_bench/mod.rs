//! `steady warm bench`: wire plan, launcher, experiment and report together.

mod bar;
mod folder;
mod plan;

use steady_feature::Interrupt;
use steady_linux::counters::{self, HARDWARE};
use steady_linux::{Root, clock, host};
use steady_model::{CounterScope, Reading};
use steady_warm::bench::{self, Done, Setting, StageLauncher, WarmBenchError};

use crate::failure::Failure;
use crate::flags::WarmBenchFlags;
use crate::history::Keeper;
use crate::output::Destinations;
use crate::revisions;

use bar::SessionBar;
use folder::Folder;

/// Measures what keeping programs warm gains, and reports it; the exit status.
pub(crate) fn run(flags: &WarmBenchFlags) -> Result<u8, Failure> {
    if !steady_preload::AVAILABLE {
        let why = "not available here: programs are kept warm on x86-64 with the GNU C library only";
        return Err(Failure::Own(why.to_owned()));
    }
    let plan = plan::plan(flags)?;
    let destinations = Destinations::open(&flags.output, flags.samples)?;
    let folder = Folder::make()?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let counters = hardware();
    let bar = SessionBar::new(flags.output.quiet, &plan);
    let scope = counters.as_ref().ok().copied();
    let failed = |error: WarmBenchError| match error {
        WarmBenchError::Interrupted => Failure::Interrupted(interrupt.signal()),
        WarmBenchError::Lost(_) => Failure::Own(error.to_string()),
    };
    let started = StageLauncher::start(&plan, folder.path(), scope, Some(readable));
    let mut launcher = started.map_err(&failed)?;
    let Done { record, stopped } =
        bench::measure(&plan, setting(counters), &mut launcher, &mut |event| bar.show(&event));
    // The stage removes its folder; what it could not, the folder's own end does.
    drop((launcher, bar, folder));
    let report = bench::report(record);
    let none_measured = report.programs.iter().all(Result::is_err);
    if let (Some(error), true) = (&stopped, none_measured) {
        return Err(failed(error.clone()));
    }
    interrupt.release();
    // Stored first: writing may block or fail.
    let kept = if flags.no_history { None } else { Keeper::keep_at_once(&report) };
    destinations.write(&report)?;
    kept.map_or(Ok(()), |id| destinations.mention(id))?;
    match stopped.map(failed) {
        // The report says so itself.
        Some(interrupted @ Failure::Interrupted(_)) => Ok(interrupted.status()),
        Some(lost) => Err(lost),
        None if none_measured => Err(Failure::Measured("no program could be measured; the report says why".to_owned())),
        None => Ok(0),
    }
}

/// Whose instructions and cycles can be counted.
fn hardware() -> Reading<CounterScope> {
    counters::open(&HARDWARE, None).map(|meter| meter.scope())
}

fn setting(counters: Reading<CounterScope>) -> Setting {
    Setting {
        host: host::probe(&Root::default()),
        started: clock::time_of_day(),
        revision: revisions::here(),
        counters,
    }
}
