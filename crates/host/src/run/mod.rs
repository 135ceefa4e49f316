//! A host that is made quiet, and put back exactly.
//!
//! What was there is journalled to disk before the first write (`journal`, `place`); then knob after knob is written in
//! an order that suits what depends on what (`order`), and put back in the reverse order. All that touches the host goes
//! through a [`Hand`], so that order and decisions are tested on hosts that do not exist, with a death at every step.

mod apply;
mod command;
mod guard;
mod hand;
mod journal;
mod place;
mod restore;
mod spreads;

use steady_linux::Root;
use steady_linux::host::knobs;
use steady_model::{Knob, KnobState, Reading};
use thiserror::Error;

use crate::plan::QuietPlan;
use crate::record::{Deed, JournalFacts, LeftKnob};

pub(crate) use apply::ORDER;
pub(crate) use command::{ATTENDANT, attend, run};
pub(crate) use guard::{GUARD, QuietHost, serve};
use hand::Live;
use journal::Holder;
pub(crate) use spreads::spreads;

/// Why nothing was changed, or no more of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum HostError {
    /// What is there cannot be journalled, so nothing was changed.
    #[error("nothing was changed, for what is there could not be journalled: {0}")]
    NotJournalled(String),
    /// There is a journal, and it cannot be read or believed.
    #[error("the journal of what was there cannot be used, and nothing was changed: {0}")]
    BadJournal(String),
    /// This user may not.
    #[error("{0}")]
    Refused(String),
    /// The process that keeps the host quiet is gone.
    #[error("the process that keeps the host quiet is gone: {0}")]
    Lost(String),
}

impl HostError {
    /// Why, without what came of it.
    fn why(&self) -> &str {
        let (HostError::NotJournalled(why)
        | HostError::BadJournal(why)
        | HostError::Refused(why)
        | HostError::Lost(why)) = self;
        why
    }
}

/// What came of making a host quiet.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Applied {
    /// What was set, in the order in which it was.
    pub(crate) set: Vec<Deed>,
    /// Knobs that were wanted and left as they are, and why.
    pub(crate) left: Vec<LeftKnob>,
    /// What else there is to know.
    pub(crate) notes: Vec<String>,
}

/// What came of putting a host back.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Restored {
    /// What was put back, in the order in which it was.
    pub(crate) deeds: Vec<Deed>,
    /// What else there is to know.
    pub(crate) notes: Vec<String>,
}

/// All knobs as they are now. A file is looked at once.
pub(crate) fn look(root: &Root) -> Vec<KnobState> {
    let smt = knobs::find(root, Knob::Smt, false);
    let goes_off = !smt.is_quiet() && smt.settable().is_ok();
    Knob::ALL.into_iter().map(|knob| knobs::find(root, knob, goes_off).state()).collect()
}

/// Makes the host quiet until somebody restores it.
///
/// # Errors
/// Nothing was changed then.
pub(crate) fn quiet(root: &Root, plan: &QuietPlan, die_at: Option<u32>) -> Result<Applied, HostError> {
    apply::apply(&mut Live::new_if_needed(root, die_at), plan, Holder::Stays)
}

/// Puts back whatever the journal holds; what somebody else has changed too, with `force`.
///
/// # Errors
/// Nothing was changed then.
pub(crate) fn restore(root: &Root, force: bool, die_at: Option<u32>) -> Result<Restored, HostError> {
    if place::is_empty(root) {
        return Ok(Restored::default());
    }
    restore::restore_all(&mut Live::new(root, die_at)?, force)
}

/// What the journal holds, without waiting for anybody; what there is to say of it.
pub(crate) fn facts(root: &Root) -> (Reading<Option<JournalFacts>>, Vec<String>) {
    place::facts(root)
}

#[cfg(test)]
mod tests;
