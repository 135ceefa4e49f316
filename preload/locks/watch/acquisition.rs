//! Acquisitions: counts them, and selects those whose hold is timed and whose call site is recorded.

use core::sync::atomic::Ordering::Relaxed;

use super::area::{Kind, Lock, ProcessPlace, is_early, is_sampled};
use super::entries::Entry;
use super::hold::{self, TimedAs};
use super::{clock, index, pairs, sites, thread};

/// Returns whether only the holder of such a lock writes its `uncontended` count.
#[inline(always)]
pub(crate) const fn is_written_by_holder(kind: Kind) -> bool {
    matches!(kind, Kind::Mutex | Kind::Spinlock)
}

/// Counts an acquisition without a wait, of the lock at `address`, by the call that returns to `site`.
#[inline(always)]
pub(crate) fn count(place: &'static ProcessPlace, kind: Kind, address: u64, site: u64) {
    if let Some(entry) = index::find(place, address)
        && entry.lock.last.load(Relaxed) == thread::current()
        && entry.lock.kind.load(Relaxed) == kind as u32
    {
        count_in(place, kind, entry, address, site);
    } else {
        count_by_new_thread(place, kind, address, site);
    }
}

/// Counts an acquisition in the lock's entry, and samples it if it is selected.
#[inline(always)]
fn count_in(place: &'static ProcessPlace, kind: Kind, entry: Entry, address: u64, site: u64) {
    let number = increment(kind, entry.lock);
    if is_early(number) || is_sampled(number) {
        sample(place, kind, entry, address, site, number);
    }
}

/// Increments the count of uncontended acquisitions. Returns the new count.
#[inline(always)]
fn increment(kind: Kind, lock: &Lock) -> u64 {
    let count = &lock.uncontended;
    if is_written_by_holder(kind) {
        let number = count.load(Relaxed).wrapping_add(1);
        count.store(number, Relaxed);
        number
    } else {
        count.fetch_add(1, Relaxed).wrapping_add(1)
    }
}

/// Like [`count`], for a thread that was not the last one to acquire the lock.
#[inline(never)]
fn count_by_new_thread(place: &'static ProcessPlace, kind: Kind, address: u64, site: u64) {
    let entry = index::find(place, address).filter(|entry| entry.lock.kind.load(Relaxed) == kind as u32);
    let Some(entry) = entry.or_else(|| index::find_or_create(place, address, kind, None)) else {
        place.process.folded.acquisitions.fetch_add(1, Relaxed);
        return;
    };
    set_last(place, entry);
    count_in(place, kind, entry, address, site);
}

/// Records that this thread acquired the lock last, and creates its pair with the lock.
pub(crate) fn set_last(place: &'static ProcessPlace, entry: Entry) {
    let thread = thread::current_or_register(place);
    if entry.lock.last.load(Relaxed) != thread {
        let _ = pairs::pair(place, entry, thread);
        entry.lock.last.store(thread, Relaxed);
    }
}

/// Records the call site of an acquisition, unless it is merely early, and begins to measure its hold. `number` is that
/// of the acquisition.
#[cold]
#[inline(never)]
fn sample(place: &'static ProcessPlace, kind: Kind, entry: Entry, address: u64, site: u64, number: u64) {
    if (number == 1 || is_sampled(number))
        && let Some(found) = pairs::use_at(place, entry, sites::number(place, site))
    {
        found.sampled.fetch_add(1, Relaxed);
    }
    if hold::begins_with(kind, address) {
        let timed_as = if is_early(number) { TimedAs::Early } else { TimedAs::Sampled };
        hold::begin(kind, entry.lock, clock::now(), timed_as);
    }
}
