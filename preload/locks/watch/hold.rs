//! How long locks are held: from when they were taken to their unlock, of those that are timed.
//!
//! The hold of a lock that was waited for is its thread's own affair until it ends: it begins with the end of the wait, and both are
//! written down together once the lock was given back ([`Over`]).

use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;

use super::accounts;
use super::area::{Kind, Lock, Place};
use super::entries::Entry;
use super::{clock, index, taken, thread, wait};

/// The lowest bit of `held_since`.
const CONTENDED: u64 = 1;

/// What a mutex is, as its initialisers have it: its kind, and how often it is held by who has it, where that may be more than once.
struct Mutex {
    kind: i32,
    count: i32,
}

impl Mutex {
    const RECURSIVE: i32 = 1;

    /// As it is now.
    fn at(address: u64) -> Self {
        let words: *const AtomicI32 = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: it is a mutex, which is five words and more.
        let word = |number| unsafe { &*words.add(number) }.load(Relaxed);
        Mutex { kind: word(4), count: word(1) }
    }

    fn is_held_twice(&self) -> bool {
        self.kind & 3 == Self::RECURSIVE && self.count > 1
    }

    /// Whether an unlock by who does not have it fails.
    fn knows_who_has_it(&self) -> bool {
        const ROBUST_OR_PI: i32 = 16 | 32;
        self.kind & 3 != 0 || self.kind & ROBUST_OR_PI != 0
    }
}

/// Whether there is somebody who holds it.
#[inline(always)]
pub(crate) const fn is_held(kind: Kind) -> bool {
    matches!(kind, Kind::Mutex | Kind::Rwlock | Kind::Spinlock)
}

/// Whether the hold that begins is one: not of what is no lock, or is held already.
pub(crate) fn can_be_taken(kind: Kind, address: u64) -> bool {
    is_held(kind) && !(kind == Kind::Mutex && Mutex::at(address).is_held_twice())
}

/// The hold of a lock begins; what the thread is known by must be known.
pub(crate) fn begin(kind: Kind, lock: &Lock, now: u64, contended: bool) {
    let since = now & !CONTENDED | u64::from(contended);
    if taken::is_alone(kind) {
        lock.held_since.store(since, Relaxed);
    } else if lock.held_since.compare_exchange(0, since, Relaxed, Relaxed).is_err() {
        return;
    }
    lock.holder.store(thread::known() as u32, Relaxed);
}

/// A lock that was waited for is being given back: its hold is over.
#[must_use]
pub(crate) struct Over {
    place: &'static Place,
    until: u64,
}

impl Over {
    /// It was given back.
    #[inline(always)]
    pub(crate) fn write_down(self) {
        wait::write_down(self.place, Some(self.until));
    }
}

/// The lock at this address is about to be given back.
#[inline(always)]
pub(crate) fn end(place: &'static Place, kind: Kind, address: u64) -> Option<Over> {
    if thread::held() == address {
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
fn end_contended(place: &'static Place, kind: Kind, address: u64) -> Option<Over> {
    let goes_on = kind == Kind::Mutex && Mutex::at(address).is_held_twice();
    (!goes_on).then(|| Over { place, until: clock::now() })
}

#[cold]
#[inline(never)]
fn end_timed(place: &'static Place, kind: Kind, address: u64, entry: Entry, since: u64) {
    let lock = entry.lock;
    let is_own = || u64::from(lock.holder.load(Relaxed)) == thread::known();
    let ends = match kind {
        Kind::Mutex => {
            let mutex = Mutex::at(address);
            !mutex.is_held_twice() && (!mutex.knows_who_has_it() || is_own())
        }
        Kind::Rwlock => is_own(),
        _ => true,
    };
    if !ends || lock.held_since.compare_exchange(since, 0, Relaxed, Relaxed).is_err() {
        return;
    }
    let time = clock::now().saturating_sub(since & !CONTENDED);
    let sums = match since & CONTENDED {
        CONTENDED => [&lock.holds_contended, &lock.hold_contended],
        _ => [&lock.holds_sampled, &lock.hold_sampled],
    };
    accounts::add_hold(place, entry, sums, time);
}

/// The owner of a mutex died with it: what it held it for is not known.
#[cold]
pub(crate) fn is_lost(place: &'static Place, address: u64) {
    if let Some(entry) = index::find(place, address) {
        entry.lock.held_since.store(0, Relaxed);
    }
}
