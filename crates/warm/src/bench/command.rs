//! `steady warm bench`: from its flags to its report.

use steady_feature::{Failure, Interrupt, Session, Status};
use steady_linux::clock;
use steady_linux::counters::{self, HARDWARE};
use steady_model::{CounterScope, Reading};
use steady_render::letters::one_line;

use super::stage::Folder;
use super::{BenchError, Context, Done, Event, StageLauncher, judged, measure};
use crate::flags::BenchFlags;
use crate::plan::{Bench, bench};
use crate::user_store::cache;

/// Runs the bench and writes its report; returns the exit status.
pub(crate) fn run(flags: &BenchFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    if !steady_preload::AVAILABLE {
        let why = "not available here: snapshots can be created on x86-64 with the GNU C library only";
        return Err(Failure::Own(why.to_owned()));
    }
    let bench = bench(flags, session)?;
    session.open(&flags.output, flags.samples, Status::Own)?;
    let folder = cache(&session.environment()).and_then(|cache| Folder::make(&cache)).map_err(Failure::Own)?;
    let (interrupt, readable) =
        Interrupt::catch().map_err(|error| Failure::Own(format!("signals cannot be handled: {error}")))?;
    let counters = hardware();
    session.progress(None, "starting");
    let scope = counters.as_ref().ok().copied();
    let failed = |error: BenchError| match error {
        BenchError::Interrupted => Failure::Interrupted(interrupt.signal()),
        BenchError::Lost(_) => Failure::Own(error.to_string()),
    };
    let started = StageLauncher::start(&bench, folder.path(), scope, Some(readable));
    let mut launcher = started.map_err(&failed)?;
    let context =
        Context { host: session.host(), started: clock::time_of_day(), revision: session.revision(), counters };
    let Done { record, stopped } = measure(&bench, context, &mut launcher, &mut |event| show(&bench, &event, session));
    // The stage removes its directory. If the stage was killed, dropping `folder` removes it.
    drop((launcher, folder));
    let record = judged(record);
    let none_measured = record.programs.iter().all(|program| program.modes.is_err());
    if let (Some(error), true) = (&stopped, none_measured) {
        return Err(failed(error.clone()));
    }
    interrupt.release();
    if !flags.no_history {
        session.keep(&record);
    }
    session.write(&record)?;
    match stopped.map(failed) {
        // The report states the interruption, so no error message is needed.
        Some(interrupted @ Failure::Interrupted(_)) => Ok(interrupted.status()),
        Some(lost) => Err(lost),
        None if none_measured => Err(Failure::Measured("no program could be measured; the report says why".to_owned())),
        None => Ok(0),
    }
}

/// Shows the progress of the experiment.
fn show(bench: &Bench, event: &Event, session: &mut dyn Session) {
    let name = bench.programs.get(event.program).map_or("", |program| program.name.as_str());
    let share = f64::from(event.done) / f64::from(event.of.max(1));
    session.progress(Some(share), &format!("session {} of {}: {}", event.done, event.of, one_line(name)));
}

/// Returns the scope in which hardware counters count, or why there are none.
fn hardware() -> Reading<CounterScope> {
    counters::open(&HARDWARE, None).map(|meter| meter.scope())
}
