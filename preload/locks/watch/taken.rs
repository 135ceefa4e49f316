//! Locks that were taken: counted, and some looked at more closely.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use super::area::{Kind, Lock, Place, is_sampled};
use super::entries::Entry;
use super::{clock, hold, index, pairs, sites, thread};

/// Whether what is counted of such a lock at each acquisition is written by nobody else meanwhile.
#[inline(always)]
pub(crate) const fn is_alone(kind: Kind) -> bool {
    matches!(kind, Kind::Mutex | Kind::Spinlock)
}

/// Counts an acquisition of the lock at `address`, by the call that returns to `site`, that nobody was waited for.
#[inline(always)]
pub(crate) fn count(place: &'static Place, kind: Kind, address: u64, site: u64) {
    if let Some(entry) = index::find(place, address)
        && entry.lock.last.load(Relaxed) == thread::known()
        && entry.lock.kind.load(Relaxed) == kind as u32
    {
        if is_sampled(one_more(kind, entry.lock)) {
            sample(place, kind, entry, address, site);
        }
    } else {
        count_first(place, kind, address, site);
    }
}

/// Adds one to the acquisitions that nobody contended.
#[inline(always)]
fn one_more(kind: Kind, lock: &Lock) -> u64 {
    one_more_of(&lock.uncontended, is_alone(kind))
}

#[inline(always)]
fn one_more_of(count: &AtomicU64, alone: bool) -> u64 {
    if alone {
        let number = count.load(Relaxed).wrapping_add(1);
        count.store(number, Relaxed);
        number
    } else {
        count.fetch_add(1, Relaxed).wrapping_add(1)
    }
}

/// The same where it was not this thread that had it last.
#[inline(never)]
fn count_first(place: &'static Place, kind: Kind, address: u64, site: u64) {
    let entry = index::find(place, address).filter(|entry| entry.lock.kind.load(Relaxed) == kind as u32);
    let Some(entry) = entry.or_else(|| index::find_or_make(place, address, kind, None)) else {
        place.process.folded.acquisitions.fetch_add(1, Relaxed);
        return;
    };
    is_last(place, entry);
    let number = one_more(kind, entry.lock);
    if number == 1 || is_sampled(number) {
        sample(place, kind, entry, address, site);
    }
}

/// Notes who has the lock; the pair of both, if there is one.
pub(crate) fn is_last(place: &'static Place, entry: Entry) {
    let thread = thread::number(place);
    if entry.lock.last.load(Relaxed) != thread {
        let _ = pairs::pair(place, entry, thread);
        entry.lock.last.store(thread, Relaxed);
    }
}

#[cold]
#[inline(never)]
fn sample(place: &'static Place, kind: Kind, entry: Entry, address: u64, site: u64) {
    if let Some(found) = pairs::use_at(place, entry, sites::number(place, site)) {
        found.sampled.fetch_add(1, Relaxed);
    }
    if hold::can_be_taken(kind, address) {
        hold::begin(kind, entry.lock, clock::now(), false);
    }
}
