//! Makes a host quiet, in the right order of the knobs.

use std::collections::BTreeSet;

use steady_linux::host::knobs::{self, Found, KnobFile};
use steady_model::Knob;

use super::access::HostAccess;
use super::journal::{Entry, Holder, Journal, VERSION};
use super::{Applied, HostError};
use crate::plan::QuietPlan;
use crate::record::{Attempt, AttemptOutcome, LeftKnob};

/// Sets the requested knobs that can be set, for `holder`.
///
/// # Errors
/// The journal cannot be read or written. Nothing was changed then.
pub(super) fn apply(access: &mut impl HostAccess, plan: &QuietPlan, holder: Holder) -> Result<Applied, HostError> {
    let (known, notes) = access.load()?;
    let found = find(access, plan);
    let left = found.iter().filter_map(|found| left(found, plan)).collect();
    let mut applied = Applied { set: Vec::new(), left, notes };
    let known_before = known.is_some();
    let mut journal = match known {
        Some(journal) => journal,
        None if found.iter().all(|found| changes(found).next().is_none()) => return Ok(applied),
        None => Journal { version: VERSION, boot_id: access.boot_id()?, since: access.now(), entries: Vec::new() },
    };
    let before = journal.clone();
    for found in &found {
        add_to_journal(&mut journal, found, &holder);
        if plan.knobs.contains(&found.knob) {
            join(&mut journal, found.knob, &holder);
        }
    }
    if journal != before {
        access.save(&journal).map_err(|error| HostError::NotJournalled(error.to_string()))?;
    }
    for one in &found {
        let one = if one.knob == Knob::MinFrequency { &read_again(access, &mut journal, one, &holder)? } else { one };
        let attempts: Vec<Attempt> =
            changes(one).map(|(setting, quiet)| set(access, &mut journal, setting, quiet)).collect();
        applied.set.extend(attempts);
        follow(access, &mut journal, one);
    }
    clean_up(access, &mut journal, &before, &applied.set);
    let saved = match journal.entries.is_empty() {
        true if known_before || journal != before => access.forget(),
        true => Ok(()),
        false => access.save(&journal),
    };
    // The journal that was written before the first change still contains the original values.
    applied.notes.extend(saved.err().map(|error| format!("the journal could not be updated: {error}")));
    Ok(applied)
}

/// Reads the requested knobs, in their order.
fn find(access: &impl HostAccess, plan: &QuietPlan) -> Vec<Found> {
    let wanted = |knob: &Knob| plan.knobs.contains(knob);
    let smt_goes_off = wanted(&Knob::Smt) && changes(&access.find(Knob::Smt, false)).next().is_some();
    let found = ORDER.into_iter().filter_map(|knob| match knob {
        Knob::IrqAffinity if !wanted(&knob) && smt_goes_off => {
            Some(Found { knob, settings: access.stranded(), absent: None })
        }
        _ => wanted(&knob).then(|| access.find(knob, smt_goes_off)),
    });
    found.collect()
}

/// Returns the files of a knob that must and can be changed, with the new values.
fn changes(found: &Found) -> impl Iterator<Item = (&KnobFile, &str)> {
    found.settings.iter().filter(|setting| !setting.is_quiet()).filter_map(|one| Some((one, one.settable().ok()?)))
}

/// Returns why a requested knob is not set, if the user named it or if another user could set it.
fn left(found: &Found, plan: &QuietPlan) -> Option<LeftKnob> {
    if found.is_quiet() || changes(found).next().is_some() || !plan.knobs.contains(&found.knob) {
        return None;
    }
    let reason = found.settable().err()?.0;
    let barred = |setting: &KnobFile| !setting.is_quiet() && setting.quiet.is_ok() && setting.may_write.is_err();
    (plan.named.contains(&found.knob) || found.settings.iter().any(barred))
        .then_some(LeftKnob { name: found.knob, reason })
}

/// Adds all files of a knob to the journal if one of them will be changed, because the kernel may then change others.
/// An existing entry keeps its original value and gets one more holder.
fn add_to_journal(journal: &mut Journal, found: &Found, holder: &Holder) {
    // Dropping caches cannot be undone.
    if found.knob == Knob::Caches {
        return;
    }
    let to_be_changed = changes(found).next().is_some();
    for setting in &found.settings {
        let Ok(quiet) = setting.quiet.clone() else { continue };
        if let Some(entry) = journal.of(&setting.file) {
            // Another program changed the file when no holder was left, so its value is the new original.
            if !entry.is_held() && !entry.is_ours(&setting.value) {
                (entry.original, entry.ours) = (setting.value.clone(), Vec::new());
            }
            entry.holders.retain(Holder::is_there);
            entry.holders.insert(holder.clone());
            entry.open |= !setting.is_quiet() || to_be_changed && knobs::only_follows(&setting.file);
            if !knobs::only_follows(&setting.file) {
                entry.may_be(&quiet);
            }
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

/// Adds a holder to all held files of a knob. Some are not visible while they are quiet: those of CPUs that are offline,
/// and sizes of huge pages that are off.
fn join(journal: &mut Journal, knob: Knob, holder: &Holder) {
    let held = journal.entries.iter_mut().filter(|entry| entry.knob == knob && entry.is_held());
    held.for_each(|entry| _ = entry.holders.insert(holder.clone()));
}

/// Reads again a knob whose quiet value depends on knobs that were set before it. Updates the journal if its new value
/// changed.
fn read_again(
    access: &mut impl HostAccess,
    journal: &mut Journal,
    found: &Found,
    holder: &Holder,
) -> Result<Found, HostError> {
    let mut now = access.find(found.knob, false);
    // Only files that were in the journal before the first change.
    now.settings.retain(|setting| found.settings.iter().any(|one| one.file == setting.file));
    let before = journal.clone();
    for setting in &now.settings {
        let Ok(quiet) = &setting.quiet else { continue };
        match journal.of(&setting.file) {
            Some(entry) => entry.may_be(quiet),
            // The file was quiet before, and no longer is.
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
    if *journal != before && access.save(journal).is_err() {
        // Files that cannot be written to the journal are not changed.
        *journal = before;
        now.settings.clear();
    }
    Ok(now)
}

/// Writes one file, and reads the value that the kernel made of it.
fn set(access: &mut impl HostAccess, journal: &mut Journal, setting: &KnobFile, quiet: &str) -> Attempt {
    let refused = |why: String| AttemptOutcome::Refused(why);
    let outcome = match access.write(setting.knob, &setting.file, quiet) {
        Err(error) => refused(error.to_string()),
        Ok(()) if setting.knob == Knob::Caches => AttemptOutcome::Set,
        Ok(()) => match access.read(&setting.file) {
            Ok(now) if knobs::same(setting.knob, &now, &setting.value) => {
                refused(format!("the kernel accepted '{quiet}', but the value is still '{}'", now.trim()))
            }
            Ok(now) => {
                if let Some(entry) = journal.of(&setting.file) {
                    entry.may_be(&now);
                }
                AttemptOutcome::Set
            }
            Err(absent) => refused(format!("it was written, but can no longer be read: {absent}")),
        },
    };
    let (name, file) = (setting.knob, setting.file.clone());
    Attempt { name, file, from: setting.value.clone(), to: quiet.to_owned(), outcome }
}

/// Reads the files that the kernel may have changed when others of their knob were written.
fn follow(access: &impl HostAccess, journal: &mut Journal, found: &Found) {
    for setting in found.settings.iter().filter(|setting| knobs::only_follows(&setting.file)) {
        let entry = journal.of(&setting.file).filter(|entry| entry.open);
        if let (Some(entry), Ok(now)) = (entry, access.read(&setting.file)) {
            entry.may_be(&now);
        }
    }
}

/// Cleans up the journal after all changes: removes new entries of knobs that could not be set and of files that did not
/// follow, and marks all files as read.
fn clean_up(access: &impl HostAccess, journal: &mut Journal, before: &Journal, attempts: &[Attempt]) {
    let was_set =
        |knob: Knob| attempts.iter().any(|attempt| attempt.name == knob && attempt.outcome == AttemptOutcome::Set);
    let was_there = |file: &str| before.entries.iter().any(|entry| entry.file == file);
    journal.entries.retain(|entry| {
        let unchanged = || access.read(&entry.file).is_ok_and(|now| now == entry.original);
        let is_set = was_set(entry.knob) && !knobs::only_follows(&entry.file);
        was_there(&entry.file) || is_set || !unchanged()
    });
    journal.entries.iter_mut().for_each(|entry| entry.open = false);
}

/// The order in which knobs are set; they are restored in the reverse order.
///
/// - **Turbo first**: it lowers the highest clock rate of a policy, which is then the value for its lowest rate.
/// - **The preference before the governor**: under `performance`, drivers refuse any preference other than the
///   governor's own. The governor must therefore be restored first.
/// - **SMT last**: policies of offline CPUs have no files that could be set, and come back with their earlier values.
///   On the way back, the CPUs go online before their files are restored. Interrupts are moved before SMT, because the
///   kernel would move them and not move them back.
/// - **Caches** have nothing to restore, and are dropped after all other changes.
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
    fn the_order_contains_every_knob_once() {
        let mut sorted = ORDER;
        sorted.sort_unstable();
        let mut all = Knob::ALL;
        all.sort_unstable();
        assert_eq!(sorted, all);
    }

    #[test]
    fn knobs_follow_those_they_depend_on() {
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
