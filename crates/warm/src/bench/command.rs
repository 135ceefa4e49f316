//! `steady warm bench`: from its flags to its report.

use steady_feature::{Failure, Interrupt, Session, Status};
use steady_linux::clock;
use steady_linux::counters::{self, HARDWARE};
use steady_model::{CounterScope, Reading};
use steady_render::letters::one_line;

use super::stage::Folder;
use super::{BenchError, Done, Event, Setting, StageLauncher, judged, measure};
use crate::flags::BenchFlags;
use crate::own::cache;
use crate::plan::{Bench, bench};

/// Measures what keeping programs warm gains, and reports it; the exit status.
pub(crate) fn run(flags: &BenchFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    if !steady_preload::AVAILABLE {
        let why = "not available here: programs are kept warm on x86-64 with the GNU C library only";
        return Err(Failure::Own(why.to_owned()));
    }
    let bench = bench(flags, session)?;
    session.open(&flags.output, flags.samples, Status::Own)?;
    let folder = cache(&session.environment()).and_then(|cache| Folder::make(&cache)).map_err(Failure::Own)?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let counters = hardware();
    session.progress(None, "getting ready");
    let scope = counters.as_ref().ok().copied();
    let failed = |error: BenchError| match error {
        BenchError::Interrupted => Failure::Interrupted(interrupt.signal()),
        BenchError::Lost(_) => Failure::Own(error.to_string()),
    };
    let started = StageLauncher::start(&bench, folder.path(), scope, Some(readable));
    let mut launcher = started.map_err(&failed)?;
    let setting =
        Setting { host: session.host(), started: clock::time_of_day(), revision: session.revision(), counters };
    let Done { record, stopped } = measure(&bench, setting, &mut launcher, &mut |event| show(&bench, &event, session));
    // The stage removes its folder; what it could not, the folder's own end does.
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
        // The report says so itself.
        Some(interrupted @ Failure::Interrupted(_)) => Ok(interrupted.status()),
        Some(lost) => Err(lost),
        None if none_measured => Err(Failure::Measured("no program could be measured; the report says why".to_owned())),
        None => Ok(0),
    }
}

/// Shows how far an experiment is.
fn show(bench: &Bench, event: &Event, session: &mut dyn Session) {
    let name = bench.programs.get(event.program).map_or("", |program| program.name.as_str());
    let share = f64::from(event.done) / f64::from(event.of.max(1));
    session.progress(Some(share), &format!("session {} of {}: {}", event.done, event.of, one_line(name)));
}

/// Whose instructions and cycles can be counted.
fn hardware() -> Reading<CounterScope> {
    counters::open(&HARDWARE, None).map(|meter| meter.scope())
}
