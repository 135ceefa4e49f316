//! `--quiet-host` of other features: a quiet host while they measure.

use steady_feature::{Failure, Session};
use steady_linux::Root;
use steady_linux::host::knobs;
use steady_model::{Knob, KnobState};

use crate::actions::{failure, is_root, not_restored, root};
use crate::flags::QuietHostFlags;
use crate::plan::QuietPlan;
use crate::record::AttemptOutcome;
use crate::run::{HostError, QuietHost, Restored};

/// With `--quiet-host`, makes the host quiet, does the work and restores the host, whether or not the work succeeded.
/// Without it, prints one line about what could be quieter (unless `say_nothing`) and does the work. Returns the exit
/// status of the work.
///
/// # Errors
/// The work failed, or the host could not be made quiet or restored.
pub fn around(
    flags: &QuietHostFlags,
    say_nothing: bool,
    session: &mut dyn Session,
    work: impl FnOnce(&mut dyn Session) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    let root = root(&flags.host_root)?;
    if !flags.quiet_host {
        if let Some(hint) = hint(&root).filter(|_| !say_nothing) {
            session.notice(&hint);
        }
        return work(session);
    }
    let quiet = QuietHost::begin(&root, &QuietPlan::of(&[], &[]), None).map_err(failure)?;
    if !say_nothing {
        session.notice(&summary_of(&quiet));
    }
    let worked = work(session);
    let back = report_failures(quiet.end(), session);
    match worked {
        Ok(status) => back.map(|()| status),
        failed => failed,
    }
}

/// Says in one line what was set.
fn summary_of(quiet: &QuietHost) -> String {
    let applied = quiet.applied();
    let mut set: Vec<Knob> = Vec::new();
    for attempt in applied.set.iter().filter(|attempt| attempt.outcome == AttemptOutcome::Set) {
        if !set.contains(&attempt.name) {
            set.push(attempt.name);
        }
    }
    let left: Vec<Knob> = applied.left.iter().map(|left| left.name).collect();
    let mut text = match set.is_empty() {
        true => "no knob of this host could be set".to_owned(),
        false => format!("this host is quiet during the run: {}", names(&set)),
    };
    if !left.is_empty() {
        let who = if is_root() { "" } else { " by this user" };
        text.push_str(&format!("; cannot be set{who}: {}", names(&left)));
    }
    text
}

/// Reports what could not be restored.
fn report_failures(restored: Result<Restored, HostError>, session: &dyn Session) -> Result<(), Failure> {
    let restored = restored.map_err(|error| {
        session.notice(&error.to_string());
        not_restored()
    })?;
    restored.notes.iter().for_each(|note| session.notice(note));
    let left: Vec<_> = restored.attempts.iter().filter(|attempt| attempt.failed()).collect();
    for attempt in &left {
        let why = attempt.outcome.reason().unwrap_or_default();
        session.notice(&format!(
            "{} was not restored: {}: {} ({why})",
            attempt.name.name(),
            attempt.file,
            attempt.outcome.name()
        ));
    }
    if left.is_empty() { Ok(()) } else { Err(not_restored()) }
}

/// Says in one line what could be quieter. Returns `None` if that is no knob that affects the speed of every program.
fn hint(root: &Root) -> Option<String> {
    let noisy: Vec<KnobState> = Knob::ALL
        .into_iter()
        .filter(|knob| knob.is_worth_a_hint())
        .map(|knob| knobs::find(root, knob, false))
        .filter(|found| !found.is_quiet())
        .map(|found| found.state())
        .collect();
    let of = |wanted: &dyn Fn(&KnobState) -> bool| -> Vec<Knob> {
        noisy.iter().filter(|state| wanted(state)).map(|state| state.knob).collect()
    };
    let settable = of(&|state| state.settable.is_ok());
    if !settable.is_empty() {
        let names = names(&settable);
        return Some(format!("this host can be made quieter ({names}): use --quiet-host, or see steady host status"));
    }
    let needs_root = of(&|state| state.needs_root);
    (!needs_root.is_empty())
        .then(|| format!("root could make this host quieter ({}): sudo steady host quiet", names(&needs_root)))
}

fn names(knobs: &[Knob]) -> String {
    knobs.iter().map(|knob| knob.name()).collect::<Vec<_>>().join(", ")
}
