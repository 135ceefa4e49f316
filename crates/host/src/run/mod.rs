//! Makes a host quiet, and restores it exactly.
//!
//! The original values are written to a journal on disk before the first change (`journal`, `storage`). Then the knobs
//! are set in an order that respects their dependencies (`ORDER`), and restored in the reverse order. All access to the
//! host goes through the trait [`HostAccess`](access::HostAccess). Tests use it to check order and decisions on
//! simulated hosts, with a crash at every step.

mod access;
mod apply;
mod command;
mod effects;
mod guard;
mod journal;
mod restore;
mod spreads;
mod storage;

use steady_linux::Root;
use steady_linux::host::knobs;
use steady_model::{Knob, KnobState, Reading};
use thiserror::Error;

use crate::plan::QuietPlan;
use crate::record::{Attempt, JournalFacts, LeftKnob};

use access::RealHost;
pub(crate) use apply::ORDER;
pub(crate) use command::{ATTENDANT, attend, run};
pub(crate) use effects::{ThisHost, effects};
pub(crate) use guard::{GUARD, QuietHost, serve};
use journal::Holder;
pub(crate) use spreads::spreads;

/// Why an action on the host failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum HostError {
    /// The original values cannot be written to the journal, so nothing was changed.
    #[error("nothing was changed, because the original values could not be written to the journal: {0}")]
    NotJournalled(String),
    /// The existing journal cannot be read or trusted.
    #[error("nothing was changed, because the journal of the original values cannot be used: {0}")]
    BadJournal(String),
    /// The guard process refused, with its reason.
    #[error("{0}")]
    Refused(String),
    /// The guard process ended unexpectedly.
    #[error("the process that keeps the host quiet ended unexpectedly: {0}")]
    Lost(String),
}

impl HostError {
    /// Returns the reason without the consequence.
    fn why(&self) -> &str {
        let (HostError::NotJournalled(why)
        | HostError::BadJournal(why)
        | HostError::Refused(why)
        | HostError::Lost(why)) = self;
        why
    }
}

/// Result of making a host quiet.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Applied {
    /// The files that were set, in their order.
    pub(crate) set: Vec<Attempt>,
    /// Knobs that were requested but not set, with the reasons.
    pub(crate) left: Vec<LeftKnob>,
    /// Further notes for the report.
    pub(crate) notes: Vec<String>,
}

/// Result of restoring a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Restored {
    /// The files that were restored, in their order.
    pub(crate) attempts: Vec<Attempt>,
    /// Further notes for the report.
    pub(crate) notes: Vec<String>,
}

/// Reads the state of all knobs.
pub(crate) fn find_all(root: &Root) -> Vec<KnobState> {
    let smt = knobs::find(root, Knob::Smt, false);
    let goes_off = !smt.is_quiet() && smt.settable().is_ok();
    Knob::ALL.into_iter().map(|knob| knobs::find(root, knob, goes_off).state()).collect()
}

/// Makes the host quiet until it is restored.
///
/// # Errors
/// The journal cannot be read or written. Nothing was changed then.
pub(crate) fn quiet(root: &Root, plan: &QuietPlan, die_at: Option<u32>) -> Result<Applied, HostError> {
    apply::apply(&mut RealHost::to_quiet(root, die_at), plan, Holder::Stays)
}

/// Restores all values in the journal; with `force`, also those that another program has changed.
///
/// # Errors
/// The journal cannot be read or written. Nothing was changed then.
pub(crate) fn restore(root: &Root, force: bool, die_at: Option<u32>) -> Result<Restored, HostError> {
    if storage::is_empty(root) {
        return Ok(Restored::default());
    }
    restore::restore_all(&mut RealHost::to_restore(root, die_at)?, force)
}

/// Returns a summary of the journal, and notes about it. Does not wait for the lock.
pub(crate) fn facts(root: &Root) -> (Reading<Option<JournalFacts>>, Vec<String>) {
    storage::facts(root)
}

#[cfg(test)]
mod tests;
