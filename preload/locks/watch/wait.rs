//! Waiting: noted as it begins, so that it is seen where it never ends, and recorded when it is over.

use core::sync::atomic::Ordering::Relaxed;

use super::area::{BUCKETS, Kind, NO_ENTRY, Place, Thread, bucket_of};
use super::entries::{self, Entry};
use super::{clock, hold, index, pairs, taken, thread};

/// A wait that has begun.
#[derive(Clone, Copy)]
pub(crate) struct Wait {
    place: &'static Place,
    kind: Option<Kind>,
    address: u64,
    since: u64,
}

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the lock, or what was waited for.
    Got,
    /// Without it: it took too long, or would have taken for ever.
    GivenUp,
}

/// A wait for the lock at this address begins.
#[inline(never)]
pub(crate) fn begin(place: &'static Place, kind: Kind, address: u64) -> Wait {
    let entry = index::find_or_make(place, address, kind, None);
    note(
        place,
        entry.map_or(NO_ENTRY, |entry| entry.number as u32),
        Wait { place, kind: Some(kind), address, since: 0 },
    )
}

/// A wait for another thread's end begins.
#[inline(never)]
pub(crate) fn begin_join(place: &'static Place) -> Wait {
    note(place, 0, Wait { place, kind: None, address: 0, since: 0 })
}

fn note(place: &'static Place, lock: u32, wait: Wait) -> Wait {
    let number = thread::number(place);
    let Some(thread) = thread::entry(place, number) else { return Wait { since: clock::now(), ..wait } };
    close_cancelled(place, thread, number);
    let since = clock::now();
    thread.waits_for.store(lock, Relaxed);
    thread.waits_since.store(since, Relaxed);
    Wait { since, ..wait }
}

impl Wait {
    /// It is over; `site` is where the call returns to.
    #[inline(never)]
    pub(crate) fn end(self, end: End, site: u64) {
        let Wait { place, kind, address, since } = self;
        let now = clock::now();
        let time = now.saturating_sub(since);
        let thread = thread::number(place);
        if let Some(thread) = thread::entry(place, thread) {
            thread.waits_since.store(0, Relaxed);
            thread.waits_for.store(0, Relaxed);
            add_to_thread(thread, kind, time);
        } else {
            place.process.other_threads_wait.fetch_add(time, Relaxed);
        }
        let Some(kind) = kind else { return };
        // It may have been destroyed meanwhile.
        match index::find(place, address).or_else(|| index::find_or_make(place, address, kind, None)) {
            Some(entry) => record(place, kind, entry, thread, [time, now], end, site),
            None => record_folded(place, time, end),
        }
    }
}

impl Wait {
    /// It was none.
    #[cold]
    pub(crate) fn is_none(self) {
        if let Some(thread) = thread::entry(self.place, thread::known()) {
            thread.waits_since.store(0, Relaxed);
            thread.waits_for.store(0, Relaxed);
        }
    }
}

fn add_to_thread(thread: &Thread, kind: Option<Kind>, time: u64) {
    let sum = match kind {
        Some(Kind::Mutex | Kind::Rwlock | Kind::Spinlock) => &thread.wait,
        Some(Kind::Condition | Kind::Semaphore) => &thread.wait_events,
        None => &thread.wait_joins,
    };
    sum.fetch_add(time, Relaxed);
}

fn record(place: &'static Place, kind: Kind, entry: Entry, thread: u64, [time, now]: [u64; 2], end: End, site: u64) {
    let lock = entry.lock;
    if end == End::Got {
        taken::one_more(kind, lock);
        lock.contended.fetch_add(1, Relaxed);
        lock.last.store(thread, Relaxed);
    } else {
        lock.given_up.fetch_add(1, Relaxed);
    }
    lock.wait.fetch_add(time, Relaxed);
    if time > lock.wait_most.load(Relaxed) {
        lock.wait_most.fetch_max(time, Relaxed);
    }
    if let Some(spread) = place.waits.get((entry.number as usize).wrapping_sub(1)) {
        spread.buckets[bucket_of(time) % BUCKETS].fetch_add(1, Relaxed);
    }
    if let Some(pair) = pairs::pair(place, entry, thread) {
        pair.contended.fetch_add(1, Relaxed);
        pair.wait.fetch_add(time, Relaxed);
    }
    if site != 0
        && let Some(found) = pairs::use_at(place, entry, site)
    {
        found.contended.fetch_add((end == End::Got).into(), Relaxed);
        found.wait.fetch_add(time, Relaxed);
    }
    if end == End::Got && !matches!(kind, Kind::Condition | Kind::Semaphore) {
        hold::begin(kind, lock, now, true);
    }
}

fn record_folded(place: &Place, time: u64, end: End) {
    let folded = &place.process.folded;
    if end == End::Got {
        folded.acquisitions.fetch_add(1, Relaxed);
        folded.contended.fetch_add(1, Relaxed);
    }
    folded.wait.fetch_add(time, Relaxed);
    folded.wait_most.fetch_max(time, Relaxed);
}

/// A wait that the thread never came back from, for it was cancelled or left by a jump, ends now at the latest.
pub(crate) fn close_cancelled(place: &'static Place, thread: &Thread, number: u64) {
    let since = thread.waits_since.swap(0, Relaxed);
    if since == 0 {
        return;
    }
    let now = clock::now();
    let time = now.saturating_sub(since);
    let lock = thread.waits_for.swap(0, Relaxed);
    let entry = entries::entry(place, lock.into());
    let kind = |entry: Entry| KINDS.into_iter().find(|kind| *kind as u32 == entry.lock.kind.load(Relaxed));
    match (lock, entry.and_then(|entry| Some((entry, kind(entry)?)))) {
        (0, _) => add_to_thread(thread, None, time),
        (_, Some((entry, kind))) => {
            add_to_thread(thread, Some(kind), time);
            record(place, kind, entry, number, [time, now], End::GivenUp, 0);
        }
        (_, None) => {
            add_to_thread(thread, Some(Kind::Mutex), time);
            record_folded(place, time, End::GivenUp);
        }
    }
}

const KINDS: [Kind; 5] = [Kind::Mutex, Kind::Rwlock, Kind::Spinlock, Kind::Condition, Kind::Semaphore];
