//! Hold times: from acquisition to unlock, for the holds that are measured.
//!
//! The hold of a contended acquisition is private to its thread until it ends: it begins when the wait ends, and both
//! are recorded together after the lock was released ([`ContendedHold`]).

use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;

use super::accounts;
use super::area::{HELD_CONTENDED, HELD_EARLY, Kind, Lock, ProcessPlace};
use super::entries::Entry;
use super::{acquisition, clock, index, thread, wait};

/// The kind of acquisition that a measured hold began with. The holds of each kind have their own sum. The value is the
/// bit of the kind in [`Lock::held_since`].
#[derive(Clone, Copy)]
#[repr(u64)]
pub(crate) enum TimedAs {
    /// A contended acquisition.
    Contended = HELD_CONTENDED,
    /// One of the lock's first uncontended acquisitions.
    Early = HELD_EARLY,
    /// A later uncontended acquisition that is sampled.
    Sampled = 0,
}

/// The bits of [`Lock::held_since`] that hold a [`TimedAs`].
const TIMED_AS: u64 = HELD_CONTENDED | HELD_EARLY;

/// The state of a `pthread_mutex_t`: its `__kind`, and `__count`, which is the depth of a recursive mutex.
struct MutexState {
    kind: i32,
    count: i32,
}

impl MutexState {
    const RECURSIVE: i32 = 1;

    /// Reads the current state.
    fn at(address: u64) -> Self {
        let words: *const AtomicI32 = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: `address` is that of a mutex, which has at least five words.
        let word = |number| unsafe { &*words.add(number) }.load(Relaxed);
        MutexState { kind: word(4), count: word(1) }
    }

    fn is_held_recursively(&self) -> bool {
        self.kind & 3 == Self::RECURSIVE && self.count > 1
    }

    /// Returns whether an unlock by another thread than the owner fails.
    fn checks_owner(&self) -> bool {
        const ROBUST_OR_PI: i32 = 16 | 32;
        self.kind & 3 != 0 || self.kind & ROBUST_OR_PI != 0
    }

    /// Returns whether other processes may hold it. The C library sets the same bit for robust mutexes.
    fn is_process_shared(&self) -> bool {
        const PROCESS_SHARED: i32 = 128;
        self.kind & PROCESS_SHARED != 0
    }
}

/// Returns whether other processes may hold the lock at this address, which is of this kind.
#[inline(always)]
pub(crate) fn may_be_in_other_process(kind: Kind, address: u64) -> bool {
    kind == Kind::Mutex && MutexState::at(address).is_process_shared()
}

/// Returns whether objects of this kind are held, that is, acquired and released.
#[inline(always)]
pub(crate) const fn has_holder(kind: Kind) -> bool {
    matches!(kind, Kind::Mutex | Kind::Rwlock | Kind::Spinlock)
}

/// Returns whether a hold begins with this acquisition. It does not if the mutex was held already (a recursive
/// acquisition).
pub(crate) fn begins_with(kind: Kind, address: u64) -> bool {
    has_holder(kind) && !(kind == Kind::Mutex && MutexState::at(address).is_held_recursively())
}

/// Begins to measure a hold of this thread, which must be registered ([`thread::current`]).
pub(crate) fn begin(kind: Kind, lock: &Lock, now: u64, timed_as: TimedAs) {
    let since = now & !TIMED_AS | timed_as as u64;
    if acquisition::is_written_by_holder(kind) {
        lock.held_since.store(since, Relaxed);
    } else if lock.held_since.compare_exchange(0, since, Relaxed, Relaxed).is_err() {
        return;
    }
    lock.holder.store(thread::current() as u32, Relaxed);
}

/// A hold of a contended acquisition that ends now. Record it after the lock is released, because other threads may be
/// waiting.
#[must_use]
pub(crate) struct ContendedHold {
    place: &'static ProcessPlace,
    end: u64,
}

impl ContendedHold {
    #[inline(always)]
    pub(crate) fn record(self) {
        wait::record_acquired(self.place, Some(self.end));
    }
}

/// Ends the measured hold of the lock at this address, just before the lock is released.
#[inline(always)]
pub(crate) fn end(place: &'static ProcessPlace, kind: Kind, address: u64) -> Option<ContendedHold> {
    if thread::unrecorded() == address {
        return end_contended(place, kind, address);
    }
    if let Some(entry) = index::find(place, address) {
        let since = entry.lock.held_since.load(Relaxed);
        if since != 0 {
            end_timed(place, kind, address, entry, since);
        }
    }
    None
}

#[inline(never)]
fn end_contended(place: &'static ProcessPlace, kind: Kind, address: u64) -> Option<ContendedHold> {
    let goes_on = kind == Kind::Mutex && MutexState::at(address).is_held_recursively();
    (!goes_on).then(|| ContendedHold { place, end: clock::now() })
}

#[cold]
#[inline(never)]
fn end_timed(place: &'static ProcessPlace, kind: Kind, address: u64, entry: Entry, since: u64) {
    let lock = entry.lock;
    let is_own = || u64::from(lock.holder.load(Relaxed)) == thread::current();
    let ends = match kind {
        Kind::Mutex => {
            let mutex = MutexState::at(address);
            !mutex.is_held_recursively() && (!mutex.checks_owner() || is_own())
        }
        Kind::Rwlock => is_own(),
        _ => true,
    };
    if !ends || lock.held_since.compare_exchange(since, 0, Relaxed, Relaxed).is_err() {
        return;
    }
    let time = clock::now().saturating_sub(since & !TIMED_AS);
    let (count, sum) = match since & TIMED_AS {
        HELD_CONTENDED => (&lock.holds_contended, &lock.hold_contended),
        HELD_EARLY => (&lock.holds_early, &lock.hold_early),
        _ => (&lock.holds_sampled, &lock.hold_sampled),
    };
    accounts::add_hold(place, entry, count, sum, time);
}

/// Discards the measured hold of a mutex whose owner died.
#[cold]
pub(crate) fn discard(place: &'static ProcessPlace, address: u64) {
    if let Some(entry) = index::find(place, address) {
        entry.lock.held_since.store(0, Relaxed);
    }
}
