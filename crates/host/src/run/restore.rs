//! Restores the original values of a host.

use std::collections::BTreeSet;

use steady_linux::Root;
use steady_linux::host::knobs;
use steady_model::Knob;
use steady_render::letters::count;

use super::access::HostAccess;
use super::journal::{Entry, Holder, Journal};
use super::{HostError, Restored};
use crate::record::{Attempt, AttemptOutcome};

/// Number of passes that check restored files again, because writing one file may change another.
const PASSES: usize = 3;

/// Restores all values in the journal, even if a process still needs the quiet host.
///
/// # Errors
/// The journal cannot be read or written. Nothing was changed then.
pub(super) fn restore_all(access: &mut impl HostAccess, force: bool) -> Result<Restored, HostError> {
    let (journal, mut notes) = access.load()?;
    let Some(mut journal) = journal else { return Ok(Restored { attempts: Vec::new(), notes }) };
    let is_running = |holder: &Holder| *holder != Holder::Stays && holder.is_there();
    if journal.entries.iter().any(|entry| entry.holders.iter().any(is_running)) {
        notes.push("a command that needs this host to be quiet is still running".to_owned());
    }
    journal.entries.iter_mut().for_each(|entry| entry.holders.clear());
    restore_free(access, journal, force, notes, &|_| true)
}

/// Restores the values that only `holder` needed to be quiet, and those that an earlier command could not restore. Leaves
/// files that another program has changed.
///
/// # Errors
/// The journal cannot be read or written. Nothing was changed then.
pub(super) fn release(access: &mut impl HostAccess, holder: &Holder) -> Result<Restored, HostError> {
    let (journal, notes) = access.load()?;
    let Some(mut journal) = journal else { return Ok(Restored { attempts: Vec::new(), notes }) };
    let mut own: BTreeSet<String> = BTreeSet::new();
    for entry in &mut journal.entries {
        if entry.holders.remove(holder) {
            own.insert(entry.file.clone());
        }
    }
    restore_free(access, journal, false, notes, &|entry| own.contains(&entry.file))
}

/// Restores every entry without holders, in reverse order. Entries that could not be restored stay in the journal; those
/// that are not the caller's own are only counted in a note.
fn restore_free(
    access: &mut impl HostAccess,
    journal: Journal,
    force: bool,
    mut notes: Vec<String>,
    is_own: &dyn Fn(&Entry) -> bool,
) -> Result<Restored, HostError> {
    let (held, free): (Vec<Entry>, Vec<Entry>) = journal.entries.into_iter().partition(Entry::is_held);
    let mut restorations: Vec<Restoration> =
        free.into_iter().rev().map(|entry| Restoration { entry, done: None }).collect();
    restorations.iter_mut().for_each(|restoration| restoration.begin(access, force));
    for _ in 0..PASSES {
        restorations.iter_mut().for_each(|restoration| restoration.check_again(access, force));
    }
    restorations.iter_mut().for_each(|restoration| restoration.verify(access));
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut of_others = 0;
    for restoration in restorations.iter().filter(|restoration| !restoration.waits_for(&held)) {
        let Some(attempt) = restoration.attempt() else { continue };
        if restoration.has_ended(access.root()) {
            notes.push(format!("{} no longer exists, so it has nothing to restore", attempt.file));
        } else if attempt.failed() && !is_own(&restoration.entry) {
            of_others += 1;
        } else {
            attempts.push(attempt);
        }
    }
    if of_others > 0 {
        let values = count(of_others, "value", "values");
        notes.push(format!("{values} of earlier commands could still not be restored; see steady host restore"));
    }
    let failed = restorations
        .into_iter()
        .rev()
        .filter(|restoration| !restoration.is_restored() && !restoration.has_ended(access.root()))
        .map(|restoration| restoration.entry);
    let entries: Vec<Entry> = sorted(held, failed.collect());
    let saved = match entries.is_empty() {
        true => access.forget(),
        false => access.save(&Journal { entries, ..journal }),
    };
    // If the journal cannot be saved, the next restore finds that these files are restored.
    notes.extend(saved.err().map(|error| format!("the journal could not be updated: {error}")));
    Ok(Restored { attempts, notes })
}

/// Sorts entries in the order in which they were set: that of the knobs.
fn sorted(held: Vec<Entry>, failed: Vec<Entry>) -> Vec<Entry> {
    let mut all: Vec<Entry> = held.into_iter().chain(failed).collect();
    all.sort_by_key(|entry| super::ORDER.iter().position(|knob| *knob == entry.knob));
    all
}

/// An entry that is being restored.
struct Restoration {
    entry: Entry,
    /// The value before, and the outcome so far.
    done: Option<(String, AttemptOutcome)>,
}

impl Restoration {
    fn begin(&mut self, access: &mut impl HostAccess, force: bool) {
        let entry = &self.entry;
        let (now, outcome) = match access.read(&entry.file) {
            Err(absent) => (String::new(), AttemptOutcome::Gone(absent.0)),
            Ok(now) if entry.is_original(&now) => (now, AttemptOutcome::WasBack),
            Ok(now) if entry.is_ours(&now) => {
                let outcome = write(access, entry, AttemptOutcome::Restored);
                (now, outcome)
            }
            Ok(now) if force => {
                let outcome = write(access, entry, AttemptOutcome::Forced(now.trim().to_owned()));
                (now, outcome)
            }
            Ok(now) => {
                let foreign = AttemptOutcome::Foreign(now.trim().to_owned());
                (now, foreign)
            }
        };
        self.done = Some((now, outcome));
    }

    /// Checks the file again, after other files were restored.
    fn check_again(&mut self, access: &mut impl HostAccess, force: bool) {
        let Some((from, outcome)) = &mut self.done else { return };
        let now = access.read(&self.entry.file);
        match (&*outcome, now) {
            // Its CPU may be online again.
            (AttemptOutcome::Gone(_), Ok(_)) => self.begin(access, force),
            // Another file may have limited its value until that was restored.
            (AttemptOutcome::Foreign(_), Ok(now)) if self.entry.is_original(&now) => *outcome = AttemptOutcome::WasBack,
            (AttemptOutcome::Gone(_) | AttemptOutcome::Foreign(_), _) => {}
            (AttemptOutcome::Forced(was), Ok(now)) if !self.entry.is_original(&now) => {
                *outcome = write(access, &self.entry, AttemptOutcome::Forced(was.clone()));
            }
            (_, Ok(now)) if !self.entry.is_original(&now) => {
                *from = now;
                *outcome = write(access, &self.entry, AttemptOutcome::Restored);
            }
            (AttemptOutcome::Refused(_), Ok(_)) => *outcome = AttemptOutcome::Restored,
            (_, Ok(_)) => {}
            (_, Err(absent)) => *outcome = AttemptOutcome::Gone(absent.0),
        }
    }

    /// Checks the file for the last time. If it does not have the value that was written, the kernel refused it.
    fn verify(&mut self, access: &impl HostAccess) {
        let Some((_, outcome)) = &mut self.done else { return };
        if !matches!(outcome, AttemptOutcome::Restored | AttemptOutcome::Forced(_)) {
            return;
        }
        match access.read(&self.entry.file) {
            Ok(now) if knobs::same(self.entry.knob, &now, &self.entry.original) => {}
            Ok(now) => *outcome = AttemptOutcome::Refused(format!("after the write, it is '{}'", now.trim())),
            Err(absent) => *outcome = AttemptOutcome::Gone(absent.0),
        }
    }

    /// Returns whether the file can be restored only after held ones: the files of an offline CPU once SMT is on, and the
    /// preference of a CPU once its governor is no longer `performance`. The last holder of those restores it.
    fn waits_for(&self, held: &[Entry]) -> bool {
        let is_held = |knob: Knob| held.iter().any(|entry| entry.knob == knob);
        match self.done.as_ref().map(|(_, outcome)| outcome) {
            Some(AttemptOutcome::Gone(_)) => is_held(Knob::Smt),
            Some(AttemptOutcome::Refused(_)) => self.entry.knob == Knob::Epp && is_held(Knob::Governor),
            _ => false,
        }
    }

    /// Returns whether the file was that of an interrupt that no longer exists, such as of a device that was removed. If
    /// no interrupt is visible, as in some containers, it may exist.
    fn has_ended(&self, root: &Root) -> bool {
        let is_gone = matches!(self.done, Some((_, AttemptOutcome::Gone(_))));
        self.entry.knob == Knob::IrqAffinity && is_gone && root.path("/proc/irq").exists()
    }

    fn is_restored(&self) -> bool {
        let outcome = self.done.as_ref().map(|(_, outcome)| outcome);
        outcome.is_some_and(|outcome| {
            matches!(outcome, AttemptOutcome::Restored | AttemptOutcome::WasBack | AttemptOutcome::Forced(_))
        })
    }

    fn attempt(&self) -> Option<Attempt> {
        let (from, outcome) = self.done.clone()?;
        let Entry { knob, file, original, .. } = self.entry.clone();
        Some(Attempt { name: knob, file, from, to: original, outcome })
    }
}

fn write(access: &mut impl HostAccess, entry: &Entry, done: AttemptOutcome) -> AttemptOutcome {
    match access.write(entry.knob, &entry.file, &entry.original) {
        Ok(()) => done,
        Err(error) => AttemptOutcome::Refused(error.to_string()),
    }
}
