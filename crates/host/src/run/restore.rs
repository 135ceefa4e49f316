//! Putting a host back.

use steady_linux::host::knobs;

use super::hand::Hand;
use super::journal::{Entry, Holder, Journal};
use super::{HostError, Restored};
use crate::record::{Deed, DeedOutcome};

/// How often what was put back is looked at again: writing one file may move another.
const LOOKS: usize = 3;

/// Puts back all that the journal holds, whoever wants it quiet.
///
/// # Errors
/// Nothing was changed then.
pub(super) fn restore_all(hand: &mut impl Hand, force: bool) -> Result<Restored, HostError> {
    let (journal, mut notes) = hand.load()?;
    let Some(mut journal) = journal else { return Ok(Restored { deeds: Vec::new(), notes }) };
    let is_running = |holder: &Holder| *holder != Holder::Stays && holder.is_there();
    if journal.entries.iter().any(|entry| entry.holders.iter().any(is_running)) {
        notes.push("a command that wanted this host quiet still runs".to_owned());
    }
    journal.entries.iter_mut().for_each(|entry| entry.holders.clear());
    put_back(hand, journal, force, notes)
}

/// Puts back what nobody but `holder` wants quiet; what somebody else has changed stays.
///
/// # Errors
/// Nothing was changed then.
pub(super) fn release(hand: &mut impl Hand, holder: &Holder) -> Result<Restored, HostError> {
    let (journal, notes) = hand.load()?;
    let Some(mut journal) = journal else { return Ok(Restored { deeds: Vec::new(), notes }) };
    journal.entries.iter_mut().for_each(|entry| {
        entry.holders.remove(holder);
    });
    put_back(hand, journal, false, notes)
}

/// Puts back every entry that nobody holds, the last one first, and keeps of the journal what could not be.
fn put_back(
    hand: &mut impl Hand,
    journal: Journal,
    force: bool,
    mut notes: Vec<String>,
) -> Result<Restored, HostError> {
    let (held, free): (Vec<Entry>, Vec<Entry>) = journal.entries.into_iter().partition(Entry::is_held);
    let mut work: Vec<Work> = free.into_iter().rev().map(|entry| Work { entry, done: None }).collect();
    work.iter_mut().for_each(|work| work.begin(hand, force));
    for _ in 0..LOOKS {
        work.iter_mut().for_each(|work| work.look_again(hand, force));
    }
    work.iter_mut().for_each(|work| work.verify(hand));
    let deeds: Vec<Deed> = work.iter().filter_map(Work::deed).collect();
    let failed = work.into_iter().rev().filter(|work| !work.is_back()).map(|work| work.entry);
    let entries: Vec<Entry> = in_order(held, failed.collect());
    let kept = match entries.is_empty() {
        true => hand.forget(),
        false => hand.save(&Journal { entries, ..journal }),
    };
    // What is back is found to be back the next time.
    notes.extend(kept.err().map(|error| format!("the journal could not be brought up to date: {error}")));
    Ok(Restored { deeds, notes })
}

/// Entries in the order in which they were written: that of the knobs.
fn in_order(held: Vec<Entry>, failed: Vec<Entry>) -> Vec<Entry> {
    let mut all: Vec<Entry> = held.into_iter().chain(failed).collect();
    all.sort_by_key(|entry| super::ORDER.iter().position(|knob| *knob == entry.knob));
    all
}

/// An entry that is being put back.
struct Work {
    entry: Entry,
    /// What was there when it was looked at first, and what has come of it so far.
    done: Option<(String, DeedOutcome)>,
}

impl Work {
    fn begin(&mut self, hand: &mut impl Hand, force: bool) {
        let entry = &self.entry;
        let (now, outcome) = match hand.read(&entry.file) {
            Err(absent) => (String::new(), DeedOutcome::Gone(absent.0)),
            Ok(now) if entry.is_original(&now) => (now, DeedOutcome::WasBack),
            Ok(now) if entry.is_ours(&now) => {
                let outcome = write(hand, entry, DeedOutcome::Restored);
                (now, outcome)
            }
            Ok(now) if force => {
                let outcome = write(hand, entry, DeedOutcome::Forced(now.trim().to_owned()));
                (now, outcome)
            }
            Ok(now) => {
                let foreign = DeedOutcome::Foreign(now.trim().to_owned());
                (now, foreign)
            }
        };
        self.done = Some((now, outcome));
    }

    /// What has changed since, by what else was put back.
    fn look_again(&mut self, hand: &mut impl Hand, force: bool) {
        let Some((from, outcome)) = &mut self.done else { return };
        let now = hand.read(&self.entry.file);
        match (&*outcome, now) {
            // Its CPU may be back by now.
            (DeedOutcome::Gone(_), Ok(_)) => self.begin(hand, force),
            // One that another held down may have come back by itself.
            (DeedOutcome::Foreign(_), Ok(now)) if self.entry.is_original(&now) => *outcome = DeedOutcome::WasBack,
            (DeedOutcome::Gone(_) | DeedOutcome::Foreign(_), _) => {}
            (DeedOutcome::Forced(was), Ok(now)) if !self.entry.is_original(&now) => {
                *outcome = write(hand, &self.entry, DeedOutcome::Forced(was.clone()));
            }
            (_, Ok(now)) if !self.entry.is_original(&now) => {
                *from = now;
                *outcome = write(hand, &self.entry, DeedOutcome::Restored);
            }
            (DeedOutcome::Refused(_), Ok(_)) => *outcome = DeedOutcome::Restored,
            (_, Ok(_)) => {}
            (_, Err(absent)) => *outcome = DeedOutcome::Gone(absent.0),
        }
    }

    /// The last look: what was written and is not there was refused.
    fn verify(&mut self, hand: &impl Hand) {
        let Some((_, outcome)) = &mut self.done else { return };
        if !matches!(outcome, DeedOutcome::Restored | DeedOutcome::Forced(_)) {
            return;
        }
        match hand.read(&self.entry.file) {
            Ok(now) if knobs::same(self.entry.knob, &now, &self.entry.original) => {}
            Ok(now) => *outcome = DeedOutcome::Refused(format!("it was written, and is '{}'", now.trim())),
            Err(absent) => *outcome = DeedOutcome::Gone(absent.0),
        }
    }

    fn is_back(&self) -> bool {
        let outcome = self.done.as_ref().map(|(_, outcome)| outcome);
        outcome.is_some_and(|outcome| {
            matches!(outcome, DeedOutcome::Restored | DeedOutcome::WasBack | DeedOutcome::Forced(_))
        })
    }

    fn deed(&self) -> Option<Deed> {
        let (from, outcome) = self.done.clone()?;
        let Entry { knob, file, original, .. } = self.entry.clone();
        Some(Deed { name: knob, file, from, to: original, outcome })
    }
}

fn write(hand: &mut impl Hand, entry: &Entry, done: DeedOutcome) -> DeedOutcome {
    match hand.write(entry.knob, &entry.file, &entry.original) {
        Ok(()) => done,
        Err(error) => DeedOutcome::Refused(error.to_string()),
    }
}
