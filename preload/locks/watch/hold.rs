//! How long locks are held: from when they were taken to their unlock, of those that are timed.

use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;

use super::area::{BUCKETS, Kind, Lock, Place, bucket_of};
use super::entries::Entry;
use super::{clock, index, taken, thread};

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

/// Whether the hold that begins is one: not of what is no lock, or is held already.
pub(crate) fn can_be_taken(kind: Kind, address: u64) -> bool {
    match kind {
        Kind::Mutex => !Mutex::at(address).is_held_twice(),
        Kind::Rwlock | Kind::Spinlock => true,
        Kind::Condition | Kind::Semaphore => false,
    }
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

/// The lock at this address is about to be given back.
#[inline(always)]
pub(crate) fn end(place: &'static Place, kind: Kind, address: u64) {
    if let Some(entry) = index::find(place, address) {
        let since = entry.lock.held_since.load(Relaxed);
        if since != 0 {
            end_timed(place, kind, address, entry, since);
        }
    }
}

#[cold]
#[inline(never)]
fn end_timed(place: &'static Place, kind: Kind, address: u64, Entry { number, lock }: Entry, since: u64) {
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
    let [count, sum] = match since & CONTENDED {
        CONTENDED => [&lock.holds_contended, &lock.hold_contended],
        _ => [&lock.holds_sampled, &lock.hold_sampled],
    };
    count.fetch_add(1, Relaxed);
    sum.fetch_add(time, Relaxed);
    if time > lock.hold_most.load(Relaxed) {
        lock.hold_most.fetch_max(time, Relaxed);
    }
    if let Some(spread) = place.holds.get((number as usize).wrapping_sub(1)) {
        spread.buckets[bucket_of(time) % BUCKETS].fetch_add(1, Relaxed);
    }
}

/// The owner of a mutex died with it: what it held it for is not known.
#[cold]
pub(crate) fn is_lost(place: &'static Place, address: u64) {
    if let Some(entry) = index::find(place, address) {
        entry.lock.held_since.store(0, Relaxed);
    }
}
