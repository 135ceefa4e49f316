//! Entries of locks: allocates them, and reuses those of destroyed locks that no thread ever waited for.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU16, AtomicU64};

use super::area::{Kind, LOCKS, Lock, NO_THREAD, ProcessPlace};
use super::{pairs, sites};

/// An entry of [`ProcessPlace::locks`].
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Its index plus one.
    pub(crate) number: u64,
    pub(crate) lock: &'static Lock,
}

/// Returns the entry with this number plus one; none for zero.
#[inline(always)]
pub(crate) fn entry(place: &'static ProcessPlace, number: u64) -> Option<Entry> {
    let lock = place.locks.get((number as usize).wrapping_sub(1))?;
    Some(Entry { number, lock })
}

/// A stack (free list) of entries to reuse. The low 16 bits are the number plus one of the top entry. The high bits
/// count changes, so that a compare-and-swap fails if the stack has changed in between (ABA problem).
static FREE: AtomicU64 = AtomicU64::new(0);
/// For each free entry, the one below it on the stack.
static NEXT_FREE: [AtomicU16; LOCKS] = [const { AtomicU16::new(0) }; LOCKS];

const NUMBER: u64 = 0xffff;

fn next_free(number: u64) -> &'static AtomicU16 {
    &NEXT_FREE[(number as usize).wrapping_sub(1) % LOCKS]
}

fn with_top(free: u64, first: u64) -> u64 {
    (free & !NUMBER).wrapping_add(NUMBER + 1) | first
}

/// Initialises an entry for the lock at `address`; none if the table is full.
pub(crate) fn create(place: &'static ProcessPlace, address: u64, kind: Kind, made_at: Option<u64>) -> Option<Entry> {
    let entry = unused(place).or_else(|| reuse(place))?;
    entry.lock.kind.store(kind as u32, Relaxed);
    entry.lock.last.store(NO_THREAD, Relaxed);
    if let Some(site) = made_at {
        entry.lock.made_at.store(sites::number(place, site), Relaxed);
    }
    entry.lock.address.store(address, Release);
    Some(entry)
}

/// Returns whether at least half of the entries are in use. The rest is for locks that are acquired, not merely
/// initialised.
pub(crate) fn is_half_used(place: &ProcessPlace) -> bool {
    place.process.locks.load(Relaxed) as usize >= LOCKS / 2
}

/// Returns whether every entry is or was in use.
pub(crate) fn is_exhausted(place: &ProcessPlace) -> bool {
    place.process.locks.load(Relaxed) as usize >= LOCKS
}

fn unused(place: &'static ProcessPlace) -> Option<Entry> {
    let next = |used: u32| ((used as usize) < LOCKS).then_some(used + 1);
    let number = place.process.locks.fetch_update(Relaxed, Relaxed, next).ok()?;
    entry(place, u64::from(number) + 1)
}

fn reuse(place: &'static ProcessPlace) -> Option<Entry> {
    let pop = |free: u64| match free & NUMBER {
        0 => None,
        first => Some(with_top(free, next_free(first).load(Relaxed).into())),
    };
    let free = FREE.fetch_update(AcqRel, Acquire, pop).ok()?;
    let entry = entry(place, free & NUMBER)?;
    recycle(place, entry);
    Some(entry)
}

/// Marks an entry's lock as destroyed, and frees the entry if no thread ever waited for the lock.
pub(crate) fn destroy(entry: Entry) {
    let Entry { number, lock } = entry;
    if lock.destroyed.swap(1, Relaxed) == 0 && lock.waited_for.load(Relaxed) == 0 {
        let mut free = FREE.load(Relaxed);
        loop {
            next_free(number).store((free & NUMBER) as u16, Relaxed);
            match FREE.compare_exchange_weak(free, with_top(free, number), AcqRel, Relaxed) {
                Ok(_) => break,
                Err(other) => free = other,
            }
        }
    }
}

/// Adds the counts of a lock to the totals, and clears its entry.
fn recycle(place: &ProcessPlace, entry: Entry) {
    let Entry { number, lock } = entry;
    let folded = &place.process.folded;
    lock.address.store(0, Relaxed);
    folded.locks.fetch_add(1, Relaxed);
    folded.acquisitions.fetch_add(lock.uncontended.swap(0, Relaxed), Relaxed);
    if (lock.holds_early.load(Relaxed) > 0 || lock.holds_sampled.load(Relaxed) > 0)
        && let Some(spread) = place.holds.get((number as usize).wrapping_sub(1))
    {
        spread.buckets.iter().for_each(|bucket| bucket.store(0, Relaxed));
    }
    pairs::remove_all(place, lock);
    let holds = [&lock.holds_early, &lock.hold_early, &lock.holds_sampled, &lock.hold_sampled, &lock.hold_most];
    for count in [&lock.held_since].into_iter().chain(holds) {
        count.store(0, Relaxed);
    }
    for count in [&lock.destroyed, &lock.made_at, &lock.holder] {
        count.store(0, Relaxed);
    }
}

/// Empties the free list in the child of fork(2), whose place is new.
pub(crate) fn reset_after_fork() {
    FREE.store(0, Relaxed);
}
