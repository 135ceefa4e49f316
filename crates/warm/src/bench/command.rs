//! `steady warm bench`: from its flags to its report.

use steady_feature::{Failure, Interrupt, Session, Status, typed};
use steady_linux::clock;
use steady_linux::counters::{self, HARDWARE};
use steady_model::{CounterScope, Nanos, Reading};
use steady_render::letters::{count, one_line};
use steady_render::units::thousands;

use super::stage::Folder;
use super::{BenchError, Context, Done, Event, LEAST_RUNS, StageLauncher, judged, measure, sessions};
use crate::flags::BenchFlags;
use crate::plan::{Bench, bench};
use crate::record::LaunchMode;
use crate::user_store::cache;

/// Runs the bench and writes its report; returns the exit status.
pub(crate) fn run(flags: &BenchFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    if !steady_preload::AVAILABLE {
        let why = "not available here: snapshots can be created on x86-64 with the GNU C library only";
        return Err(Failure::Own(why.to_owned()));
    }
    let bench = bench(flags, session)?;
    session.open(&flags.output, flags.samples, Status::Own)?;
    if flags.runs < LEAST_RUNS {
        session.notice(&format!("there will be means, but no intervals and verdicts: use {LEAST_RUNS} runs or more"));
    }
    for program in bench.programs.iter().map(|program| &program.program).filter(|program| typed::is_shim(program)) {
        session.notice(&format!(
            "'{}' is a script that starts the real program: name that program instead (for example, the output of `pyenv \
             which` or `asdf which`)",
            one_line(&program.display().to_string())
        ));
    }
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
    session.log_progress(&beginning(&bench));
    let began = clock::monotonic();
    let mut events = |event: Event| show(&bench, &event, clock::monotonic() - began, session);
    let Done { record, stopped } = measure(&bench, context, &mut launcher, &mut events);
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

/// Shows the progress of the experiment, which began this long ago.
fn show(bench: &Bench, event: &Event, elapsed: Nanos, session: &mut dyn Session) {
    let name = bench.programs.get(event.program).map_or("", |program| program.name.as_str());
    let share = f64::from(event.done) / f64::from(event.of.max(1));
    let left = left(event, bench.programs.len() as u32, elapsed)
        .map_or_else(String::new, |left| format!(", about {} s left", left.seconds().ceil()));
    if let Some(line) = after_first_round(event, bench.programs.len() as u32, elapsed) {
        session.log_progress(&line);
    }
    session.progress(Some(share), &format!("session {} of {}{left}: {}", event.done, event.of, one_line(name)));
}

/// The first line of the log, where no progress is shown: `measuring 2 programs in 62 sessions, with 3,002 launches`.
fn beginning(bench: &Bench) -> String {
    let sessions = sessions(bench);
    let programs = bench.programs.len();
    // The first session of each program has one launch.
    let launches = programs + (sessions as usize - programs) * bench.plan.count as usize;
    let programs = count(programs, "program", "programs");
    format!("measuring {programs} in {sessions} sessions, with {} launches", thousands(launches))
}

/// The line of the log after the first session of each program in each mode.
fn after_first_round(event: &Event, programs: u32, elapsed: Nanos) -> Option<String> {
    let round = programs * (1 + LaunchMode::ALL.len() as u32);
    let left = left(event, programs, elapsed).filter(|_| event.done == round)?;
    Some(format!("about {} s left", left.seconds().ceil()))
}

/// The time that the remaining sessions take if they are as long as those so far. The first session of each program has
/// one launch only and does not count.
fn left(event: &Event, programs: u32, elapsed: Nanos) -> Option<Nanos> {
    let done = event.done.checked_sub(programs).filter(|&done| done > 0)?;
    let remaining = f64::from(event.of.saturating_sub(event.done));
    Some(Nanos::from_seconds(elapsed.seconds() / f64::from(done) * remaining))
}

/// Returns the scope in which hardware counters count, or why there are none.
fn hardware() -> Reading<CounterScope> {
    counters::open(&HARDWARE, None).map(|meter| meter.scope())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_sessions_so_far() {
        let after = |done: u32| left(&Event { done, of: 32, program: 0 }, 2, Nanos(6_000_000_000));
        assert_eq!((after(2), after(1)), (None, None), "sessions of one launch");
        assert_eq!(after(8), Some(Nanos(24_000_000_000)));
        assert_eq!(after(32), Some(Nanos::ZERO));
    }

    #[test]
    fn the_log_has_the_time_left_once() {
        let modes = LaunchMode::ALL.len() as u32;
        let lines: Vec<(u32, String)> = (0..=32)
            .filter_map(|done| {
                let event = Event { done, of: 32, program: 0 };
                Some((done, after_first_round(&event, 2, Nanos(6_000_000_000))?))
            })
            .collect();
        let left = (6.0 / f64::from(2 * modes) * f64::from(32 - 2 - 2 * modes)).ceil();
        assert_eq!(lines, [(2 + 2 * modes, format!("about {left} s left"))]);
    }
}
