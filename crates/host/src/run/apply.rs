//! Making a host quiet, and what is set before what.

use std::collections::BTreeSet;

use steady_linux::host::knobs::{self, Found, Setting};
use steady_model::Knob;

use super::hand::Hand;
use super::journal::{Entry, Holder, Journal, VERSION};
use super::{Applied, HostError};
use crate::plan::QuietPlan;
use crate::record::{Deed, DeedOutcome, LeftKnob};

/// Sets what is wished for and may be set, for `holder`.
///
/// # Errors
/// Nothing was changed then.
pub(super) fn apply(hand: &mut impl Hand, plan: &QuietPlan, holder: Holder) -> Result<Applied, HostError> {
    let (known, notes) = hand.load()?;
    let found = find(hand, plan);
    let left = found.iter().filter_map(|found| left(found, plan)).collect();
    let mut applied = Applied { set: Vec::new(), left, notes };
    let known_before = known.is_some();
    let mut journal = match known {
        Some(journal) => journal,
        None if found.iter().all(|found| changes(found).next().is_none()) => return Ok(applied),
        None => Journal { version: VERSION, boot_id: hand.boot_id()?, since: hand.now(), entries: Vec::new() },
    };
    let before = journal.clone();
    found.iter().for_each(|found| note(&mut journal, found, &holder));
    if journal != before {
        hand.save(&journal).map_err(|error| HostError::NotJournalled(error.to_string()))?;
    }
    for one in &found {
        let one = if one.knob == Knob::MinFrequency { &again(hand, &mut journal, one, &holder)? } else { one };
        let deeds: Vec<Deed> = changes(one).map(|(setting, quiet)| set(hand, &mut journal, setting, quiet)).collect();
        applied.set.extend(deeds);
    }
    settle(hand, &mut journal, &before, &applied.set);
    let kept = match journal.entries.is_empty() {
        true if known_before || journal != before => hand.forget(),
        true => Ok(()),
        false => hand.save(&journal),
    };
    // The one that was written before the first change says enough.
    applied.notes.extend(kept.err().map(|error| format!("the journal could not be brought up to date: {error}")));
    Ok(applied)
}

/// The knobs that are wished for, in their order.
fn find(hand: &impl Hand, plan: &QuietPlan) -> Vec<Found> {
    let wanted = |knob: &Knob| plan.knobs.contains(knob);
    let smt_goes_off = wanted(&Knob::Smt) && changes(&hand.find(Knob::Smt, false)).next().is_some();
    let found = ORDER.into_iter().filter_map(|knob| match knob {
        Knob::IrqAffinity if !wanted(&knob) && smt_goes_off => {
            Some(Found { knob, settings: hand.stranded(), absent: None })
        }
        _ => wanted(&knob).then(|| hand.find(knob, smt_goes_off)),
    });
    found.collect()
}

/// The files of a knob that are to be changed and may be, with what is to be written.
fn changes(found: &Found) -> impl Iterator<Item = (&Setting, &str)> {
    found.settings.iter().filter(|setting| !setting.is_quiet()).filter_map(|one| Some((one, one.settable().ok()?)))
}

/// Why a knob is left as it is though it was wished for, where that is worth telling: it was named, or somebody else could.
fn left(found: &Found, plan: &QuietPlan) -> Option<LeftKnob> {
    if found.is_quiet() || changes(found).next().is_some() || !plan.knobs.contains(&found.knob) {
        return None;
    }
    let reason = found.settable().err()?.0;
    let barred = |setting: &Setting| !setting.is_quiet() && setting.quiet.is_ok() && setting.may_write.is_err();
    (plan.named.contains(&found.knob) || found.settings.iter().any(barred))
        .then_some(LeftKnob { name: found.knob, reason })
}

/// Takes all files of a knob into the journal where any is to be changed, for the kernel may change one with another. What
/// the journal holds already is what was there; it is only held by one more.
fn note(journal: &mut Journal, found: &Found, holder: &Holder) {
    // There is nothing to put back.
    if found.knob == Knob::Caches {
        return;
    }
    let to_be_changed = changes(found).next().is_some();
    for setting in &found.settings {
        let Ok(quiet) = setting.quiet.clone() else { continue };
        if let Some(entry) = journal.of(&setting.file) {
            // Nobody wanted it quiet any more when somebody else changed it: what is there now is what was meant.
            if !entry.is_held() && !entry.is_ours(&setting.value) {
                (entry.original, entry.ours) = (setting.value.clone(), Vec::new());
            }
            entry.holders.retain(Holder::is_there);
            entry.holders.insert(holder.clone());
            entry.open |= !setting.is_quiet();
            entry.may_be(&quiet);
        } else if to_be_changed {
            journal.entries.push(Entry {
                knob: setting.knob,
                file: setting.file.clone(),
                original: setting.value.clone(),
                ours: std::iter::once(quiet).chain(setting.may_become.iter().cloned()).collect(),
                open: true,
                holders: BTreeSet::from([holder.clone()]),
            });
        }
    }
}

/// A knob whose steady value depends on those that were set before it: looked at again, and journalled again where that has
/// changed what is to be written.
fn again(hand: &mut impl Hand, journal: &mut Journal, found: &Found, holder: &Holder) -> Result<Found, HostError> {
    let mut now = hand.find(found.knob, false);
    // What was there was noted before anything was set.
    now.settings.retain(|setting| found.settings.iter().any(|one| one.file == setting.file));
    let before = journal.clone();
    for setting in &now.settings {
        let Ok(quiet) = &setting.quiet else { continue };
        match journal.of(&setting.file) {
            Some(entry) => entry.may_be(quiet),
            // It was quiet, and no longer is.
            None if !setting.is_quiet() => journal.entries.push(Entry {
                knob: setting.knob,
                file: setting.file.clone(),
                original: setting.value.clone(),
                ours: vec![quiet.clone()],
                open: true,
                holders: BTreeSet::from([holder.clone()]),
            }),
            None => {}
        }
    }
    if *journal != before && hand.save(journal).is_err() {
        // What cannot be journalled is left.
        *journal = before;
        now.settings.clear();
    }
    Ok(now)
}

/// Writes one file, and looks at what the kernel made of it.
fn set(hand: &mut impl Hand, journal: &mut Journal, setting: &Setting, quiet: &str) -> Deed {
    let refused = |why: String| DeedOutcome::Refused(why);
    let outcome = match hand.write(setting.knob, &setting.file, quiet) {
        Err(error) => refused(error.to_string()),
        Ok(()) if setting.knob == Knob::Caches => DeedOutcome::Set,
        Ok(()) => match hand.read(&setting.file) {
            Ok(now) if knobs::same(setting.knob, &now, &setting.value) => {
                refused(format!("the kernel took '{quiet}' and left it at '{}'", now.trim()))
            }
            Ok(now) => {
                if let Some(entry) = journal.of(&setting.file) {
                    entry.may_be(&now);
                }
                DeedOutcome::Set
            }
            Err(absent) => refused(format!("it was written, and cannot be read any more: {absent}")),
        },
    };
    let (name, file) = (setting.knob, setting.file.clone());
    Deed { name, file, from: setting.value.clone(), to: quiet.to_owned(), outcome }
}

/// Everything was written and looked at. Files of a knob of which none could be set need no entry; those that were there
/// before stay.
fn settle(hand: &impl Hand, journal: &mut Journal, before: &Journal, deeds: &[Deed]) {
    let was_set = |knob: Knob| deeds.iter().any(|deed| deed.name == knob && deed.outcome == DeedOutcome::Set);
    let was_there = |file: &str| before.entries.iter().any(|entry| entry.file == file);
    journal.entries.retain(|entry| {
        let unchanged = || hand.read(&entry.file).is_ok_and(|now| now == entry.original);
        was_there(&entry.file) || was_set(entry.knob) || !unchanged()
    });
    journal.entries.iter_mut().for_each(|entry| entry.open = false);
}

/// The order in which knobs are set; they are put back in the reverse order.
///
/// - **Turbo first**: it lowers the highest rate that a policy may have, to which its lowest is set then.
/// - **The preference before the governor**: drivers that have both refuse any preference but the governor's own under
///   `performance`, so on the way back the governor has to go first.
/// - **SMT last**: the policies of CPUs that are off have no values that could be set, and come back with those that they
///   went with. On the way back the CPUs return before anything of theirs is put back. Interrupts are moved before,
///   so that none has to be moved by the kernel, which would not move it back.
/// - **Caches** hold nothing to put back, and are dropped once nothing else is to be done.
pub(crate) const ORDER: [Knob; 12] = [
    Knob::Turbo,
    Knob::Epp,
    Knob::Governor,
    Knob::MinFrequency,
    Knob::NmiWatchdog,
    Knob::PerfSampleRate,
    Knob::Thp,
    Knob::Swap,
    Knob::Aslr,
    Knob::IrqAffinity,
    Knob::Smt,
    Knob::Caches,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_has_its_place() {
        let mut sorted = ORDER;
        sorted.sort_unstable();
        let mut all = Knob::ALL;
        all.sort_unstable();
        assert_eq!(sorted, all);
    }

    #[test]
    fn what_depends_on_another_comes_after_it() {
        let place = |knob| ORDER.iter().position(|one| *one == knob).unwrap();
        for (first, then) in [
            (Knob::Turbo, Knob::MinFrequency),
            (Knob::Epp, Knob::Governor),
            (Knob::Governor, Knob::Smt),
            (Knob::MinFrequency, Knob::Smt),
            (Knob::IrqAffinity, Knob::Smt),
            (Knob::Smt, Knob::Caches),
        ] {
            assert!(place(first) < place(then), "{first:?} {then:?}");
        }
    }
}
