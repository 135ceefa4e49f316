//! What commands that measure do about the host: a hint, or quiet meanwhile.

use steady_experiments::host::{HostError, QuietHost, Restored, Wish};
use steady_linux::Root;
use steady_model::{DeedOutcome, Knob, KnobState};

use super::quiet::not_back;
use super::{failure, root};
use crate::failure::{Failure, notice};
use crate::flags::QuietHostFlags;

/// Does the work on a quiet host, where that was asked for, and puts it back, however it went; else says on one line what
/// could be quieter, unless nothing is to be said.
pub(crate) fn around(
    flags: &QuietHostFlags,
    say_nothing: bool,
    work: impl FnOnce() -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    let root = root(&flags.host_root)?;
    if !flags.quiet_host {
        if let Some(hint) = hint(&root).filter(|_| !say_nothing) {
            notice(&hint);
        }
        return work();
    }
    let quiet = QuietHost::begin(&root, &Wish::of(&[], &[]), None).map_err(failure)?;
    if !say_nothing {
        notice(&done(&quiet));
    }
    let worked = work();
    let back = tell(quiet.end());
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
        if !set.contains(&deed.knob) {
            set.push(deed.knob);
        }
    }
    let left: Vec<Knob> = applied.left.iter().map(|(knob, _)| *knob).collect();
    let mut text = match set.is_empty() {
        true => "nothing of this host could be made quieter".to_owned(),
        false => format!("this host is quiet meanwhile: {}", names(&set)),
    };
    if !left.is_empty() {
        let who = if rustix::process::geteuid().is_root() { "" } else { " by this user" };
        text.push_str(&format!("; cannot be set{who}: {}", names(&left)));
    }
    text
}

/// Tells what could not be put back.
fn tell(restored: Result<Restored, HostError>) -> Result<(), Failure> {
    let restored = restored.map_err(|error| {
        notice(&error.to_string());
        not_back()
    })?;
    restored.notes.iter().for_each(|note| notice(note));
    let is_left = |outcome: &DeedOutcome| {
        matches!(outcome, DeedOutcome::Refused(_) | DeedOutcome::Foreign(_) | DeedOutcome::Gone(_))
    };
    let left: Vec<_> = restored.deeds.iter().filter(|deed| is_left(&deed.outcome)).collect();
    for deed in &left {
        let why = deed.outcome.reason().unwrap_or_default();
        notice(&format!("{} was not put back: {} is {}: {why}", deed.knob.name(), deed.file, deed.outcome.name()));
    }
    if left.is_empty() { Ok(()) } else { Err(not_back()) }
}

/// What could be quieter, on one line; nothing where nothing could that moves every program's speed.
fn hint(root: &Root) -> Option<String> {
    let noisy: Vec<KnobState> = Knob::ALL
        .into_iter()
        .filter(|knob| knob.is_worth_a_hint())
        .map(|knob| steady_linux::host::knobs::find(root, knob, false))
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
    let is_root = rustix::process::geteuid().is_root();
    (!barred.is_empty() && !is_root)
        .then(|| format!("root could make this host quieter ({}): sudo steady host quiet", names(&barred)))
}

fn names(knobs: &[Knob]) -> String {
    knobs.iter().map(|knob| knob.name()).collect::<Vec<_>>().join(", ")
}
