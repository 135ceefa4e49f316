//! A host that is quiet while another command measures: `--quiet-host`.

use steady_feature::{Failure, Session};
use steady_linux::Root;
use steady_linux::host::knobs;
use steady_model::{Knob, KnobState};

use crate::actions::{failure, is_root, not_back, root};
use crate::flags::QuietHostFlags;
use crate::plan::QuietPlan;
use crate::record::DeedOutcome;
use crate::run::{HostError, QuietHost, Restored};

/// With `--quiet-host`, makes the host quiet, does the work and puts the host back, whatever came of the work. Without it, does
/// the work after a line on what could be quieter, unless `say_nothing`. Returns the exit status of the work.
///
/// # Errors
/// Those of the work; the host could not be made quiet or put back.
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
        session.notice(&done(&quiet));
    }
    let worked = work(session);
    let back = tell(quiet.end(), session);
    match worked {
        Ok(status) => back.map(|()| status),
        failed => failed,
    }
}

/// What was done to the host, on one line.
fn done(quiet: &QuietHost) -> String {
    let applied = quiet.applied();
    let mut set: Vec<Knob> = Vec::new();
    for deed in applied.set.iter().filter(|deed| deed.outcome == DeedOutcome::Set) {
        if !set.contains(&deed.name) {
            set.push(deed.name);
        }
    }
    let left: Vec<Knob> = applied.left.iter().map(|left| left.name).collect();
    let mut text = match set.is_empty() {
        true => "nothing of this host could be made quieter".to_owned(),
        false => format!("this host is quiet meanwhile: {}", names(&set)),
    };
    if !left.is_empty() {
        let who = if is_root() { "" } else { " by this user" };
        text.push_str(&format!("; cannot be set{who}: {}", names(&left)));
    }
    text
}

/// Tells what could not be put back.
fn tell(restored: Result<Restored, HostError>, session: &dyn Session) -> Result<(), Failure> {
    let restored = restored.map_err(|error| {
        session.notice(&error.to_string());
        not_back()
    })?;
    restored.notes.iter().for_each(|note| session.notice(note));
    let left: Vec<_> = restored.deeds.iter().filter(|deed| deed.outcome.failed()).collect();
    for deed in &left {
        let why = deed.outcome.reason().unwrap_or_default();
        session.notice(&format!(
            "{} was not put back: {} is {}: {why}",
            deed.name.name(),
            deed.file,
            deed.outcome.name()
        ));
    }
    if left.is_empty() { Ok(()) } else { Err(not_back()) }
}

/// What could be quieter, on one line; nothing where nothing could that moves every program's speed.
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
        return Some(format!("this host can be made quieter ({names}): --quiet-host, or see steady host status"));
    }
    let barred = of(&|state| state.quiet_value.is_ok() && state.settable.is_err());
    (!barred.is_empty() && !is_root())
        .then(|| format!("root could make this host quieter ({}): sudo steady host quiet", names(&barred)))
}

fn names(knobs: &[Knob]) -> String {
    knobs.iter().map(|knob| knob.name()).collect::<Vec<_>>().join(", ")
}
