//! The entries of locks: given to new ones, and again where one was destroyed that nobody ever waited for.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU16, AtomicU64};

use super::area::{Kind, LOCKS, Lock, NOBODY, Place};
use super::{pairs, sites};

/// A lock's entry.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Its number plus one.
    pub(crate) number: u64,
    pub(crate) lock: &'static Lock,
}

/// The entry with that number plus one; none for zero.
#[inline(always)]
pub(crate) fn entry(place: &'static Place, number: u64) -> Option<Entry> {
    let lock = place.locks.get((number as usize).wrapping_sub(1))?;
    Some(Entry { number, lock })
}

/// Entries to be had again, a stack: the number plus one of the first, below a count of its changes, by which who was interrupted
/// learns that it is another stack by now.
static FREE: AtomicU64 = AtomicU64::new(0);
/// What is beneath each.
static BENEATH: [AtomicU16; LOCKS] = [const { AtomicU16::new(0) }; LOCKS];

const NUMBER: u64 = 0xffff;

fn beneath(number: u64) -> &'static AtomicU16 {
    &BENEATH[(number as usize).wrapping_sub(1) % LOCKS]
}

fn changed(free: u64, first: u64) -> u64 {
    (free & !NUMBER).wrapping_add(NUMBER + 1) | first
}

/// An entry for the lock at `address`; none where there are no more.
pub(crate) fn begin(place: &'static Place, address: u64, kind: Kind, made_at: Option<u64>) -> Option<Entry> {
    let entry = fresh(place).or_else(|| again(place))?;
    entry.lock.kind.store(kind as u32, Relaxed);
    entry.lock.last.store(NOBODY, Relaxed);
    if let Some(site) = made_at {
        entry.lock.made_at.store(sites::number(place, site), Relaxed);
    }
    entry.lock.address.store(address, Release);
    Some(entry)
}

/// Whether more than half of the entries have been begun: those left are for locks that are used.
pub(crate) fn are_few(place: &Place) -> bool {
    place.process.locks.load(Relaxed) as usize >= LOCKS / 2
}

/// Whether all have been begun.
pub(crate) fn are_all_begun(place: &Place) -> bool {
    place.process.locks.load(Relaxed) as usize >= LOCKS
}

fn fresh(place: &'static Place) -> Option<Entry> {
    let next = |begun: u32| ((begun as usize) < LOCKS).then_some(begun + 1);
    let number = place.process.locks.fetch_update(Relaxed, Relaxed, next).ok()?;
    entry(place, u64::from(number) + 1)
}

fn again(place: &'static Place) -> Option<Entry> {
    let beneath = |free: u64| match free & NUMBER {
        0 => None,
        first => Some(changed(free, beneath(first).load(Relaxed).into())),
    };
    let free = FREE.fetch_update(AcqRel, Acquire, beneath).ok()?;
    let entry = entry(place, free & NUMBER)?;
    fold(place, entry);
    Some(entry)
}

/// Notes that a lock was destroyed.
pub(crate) fn end(Entry { number, lock }: Entry) {
    if lock.destroyed.swap(1, Relaxed) == 0 && lock.waited_for.load(Relaxed) == 0 {
        let mut free = FREE.load(Relaxed);
        loop {
            beneath(number).store((free & NUMBER) as u16, Relaxed);
            match FREE.compare_exchange_weak(free, changed(free, number), AcqRel, Relaxed) {
                Ok(_) => break,
                Err(other) => free = other,
            }
        }
    }
}

/// Adds what was done with a lock to that of others, and clears its entry.
fn fold(place: &Place, Entry { number, lock }: Entry) {
    let folded = &place.process.folded;
    lock.address.store(0, Relaxed);
    folded.locks.fetch_add(1, Relaxed);
    folded.acquisitions.fetch_add(lock.uncontended.swap(0, Relaxed), Relaxed);
    if lock.holds_sampled.load(Relaxed) > 0
        && let Some(spread) = place.holds.get((number as usize).wrapping_sub(1))
    {
        spread.buckets.iter().for_each(|bucket| bucket.store(0, Relaxed));
    }
    pairs::give_up(place, lock);
    for count in [&lock.held_since, &lock.holds_sampled, &lock.hold_sampled, &lock.hold_most] {
        count.store(0, Relaxed);
    }
    for count in [&lock.destroyed, &lock.made_at, &lock.holder] {
        count.store(0, Relaxed);
    }
}

/// In the child of fork(2), which has other entries.
pub(crate) fn forget() {
    FREE.store(0, Relaxed);
}
