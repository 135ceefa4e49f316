//! Waiting: noted as it begins, so that it is seen where it never ends, and recorded when it is over.

use core::sync::atomic::Ordering::{Relaxed, Release};

use super::accounts::{self, Record};
use super::area::{Kind, NO_ENTRY, Place, Thread};
use super::entries::{self, Entry};
use super::{clock, hold, index, sites, thread};

/// A wait that has begun.
#[derive(Clone, Copy)]
pub(crate) struct Wait {
    place: &'static Place,
    kind: Option<Kind>,
    address: u64,
    /// The number of its entry plus one; [`NO_ENTRY`] where it has none.
    lock: u32,
    /// The number of the call site plus one.
    site: u32,
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

/// A wait for the lock at this address begins, in the call that returns to `site`.
#[inline(never)]
pub(crate) fn begin(place: &'static Place, kind: Kind, address: u64, site: u64) -> Wait {
    let lock = match index::find_or_make(place, address, kind, None) {
        Some(entry) => {
            if entry.lock.waited_for.load(Relaxed) == 0 {
                entry.lock.waited_for.store(1, Relaxed);
            }
            entry.number as u32
        }
        None => NO_ENTRY,
    };
    note(Wait { place, kind: Some(kind), address, lock, site: sites::number(place, site), since: 0 })
}

/// A wait for another thread's end begins, likewise.
#[inline(never)]
pub(crate) fn begin_join(place: &'static Place, site: u64) -> Wait {
    note(Wait { place, kind: None, address: 0, lock: 0, site: sites::number(place, site), since: 0 })
}

#[inline(always)]
fn note(wait: Wait) -> Wait {
    let number = thread::number(wait.place);
    let Some(thread) = thread::entry(wait.place, number) else { return Wait { since: clock::now(), ..wait } };
    if thread.waits_since.load(Relaxed) != 0 {
        close(wait.place, thread, number, Some(wait.address));
    }
    thread.waits_for.store(wait.lock, Relaxed);
    thread.waits_at.store(wait.site, Relaxed);
    let since = clock::now();
    thread.waits_since.store(since, Release);
    Wait { since, ..wait }
}

impl Wait {
    /// It is over. Where the lock was got, nothing is done but to note it, for others wait for what is done with it.
    #[inline(never)]
    pub(crate) fn end(self, end: End) {
        let Wait { place, kind, address, since, .. } = self;
        let now = clock::now();
        let number = thread::known();
        let Some(thread) = thread::entry(place, number) else { return self.end_of_unknown(end, number, now) };
        if end == End::Got && self.lock != NO_ENTRY && kind.is_some_and(hold::is_held) {
            thread.waited_until.store(now, Release);
            thread::set_held(address);
            return;
        }
        thread.waits_since.store(0, Release);
        let time = now.saturating_sub(since);
        add_to_thread(thread, kind, time);
        self.write(end, number, time, None);
    }

    /// It is over with a mutex whose owner died with it.
    #[cold]
    pub(crate) fn end_with_the_dead(self) {
        hold::is_lost(self.place, self.address);
        self.end(End::Got);
    }

    /// The thread has no entry: all is written down at once.
    #[cold]
    fn end_of_unknown(self, end: End, number: u64, now: u64) {
        let Wait { place, kind, since, .. } = self;
        let time = now.saturating_sub(since);
        place.process.other_threads_wait.fetch_add(time, Relaxed);
        self.write(end, number, time, None);
        if end == End::Got
            && let Some(kind) = kind.filter(|kind| hold::is_held(*kind))
            && let Some(entry) = entries::entry(place, self.lock.into())
        {
            entry.lock.last.store(number, Relaxed);
            hold::begin(kind, entry.lock, now, true);
        }
    }

    fn write(self, end: End, number: u64, wait: u64, hold: Option<u64>) {
        let Wait { place, kind, lock, site, .. } = self;
        match entries::entry(place, lock.into()) {
            Some(entry) => accounts::write(place, entry, number, Record { got: end == End::Got, wait, hold, site }),
            None if kind.is_some() => record_folded(place, wait, end),
            None => (),
        }
    }

    /// It was none.
    #[cold]
    pub(crate) fn is_none(self) {
        if let Some(thread) = thread::entry(self.place, thread::known()) {
            thread.waits_since.store(0, Release);
        }
    }
}

#[inline(always)]
fn add_to_thread(thread: &Thread, kind: Option<Kind>, time: u64) {
    let sum = match kind {
        Some(Kind::Mutex | Kind::Rwlock | Kind::Spinlock) => &thread.wait,
        Some(Kind::Condition | Kind::Semaphore) => &thread.wait_events,
        None => &thread.wait_joins,
    };
    // Nobody else writes there.
    sum.store(sum.load(Relaxed).wrapping_add(time), Relaxed);
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

/// The lock that this thread waited for, and has had since, was given back, or is about to be: all of it is written down. `until` is
/// when its hold ended, where that is known.
#[inline(never)]
pub(crate) fn write_down(place: &'static Place, until: Option<u64>) {
    thread::set_held(0);
    let number = thread::known();
    let Some(thread) = thread::entry(place, number) else { return };
    let (since, over) = (thread.waits_since.load(Relaxed), thread.waited_until.load(Relaxed));
    let (lock, site) = (thread.waits_for.load(Relaxed), thread.waits_at.load(Relaxed));
    // First, so that whoever is interrupted here does not write it down twice.
    thread.waits_since.store(0, Release);
    thread.waited_until.store(0, Release);
    let wait = over.saturating_sub(since);
    let hold = until.map(|until| until.saturating_sub(over));
    add_to_thread(thread, Some(Kind::Mutex), wait);
    if let Some(entry) = entries::entry(place, lock.into()) {
        accounts::write(place, entry, number, Record { got: true, wait, hold, site });
    }
}

/// Closes what the thread's entry still has of a wait, before it begins to wait for what is at `next` or ends.
#[cold]
#[inline(never)]
pub(crate) fn close(place: &'static Place, thread: &Thread, number: u64, next: Option<u64>) {
    if thread.waited_until.load(Relaxed) == 0 {
        close_cancelled(place, thread, number);
    } else {
        let (held, lock, over) = (thread::held(), thread.waits_for.load(Relaxed), thread.waited_until.load(Relaxed));
        write_down(place, None);
        // Who waits for it again did not keep it, unless it waits for itself.
        if let Some(next) = next
            && let Some(entry) = index::find(place, held).filter(|entry| entry.number == lock.into())
            && let Some(kind) = kind_of(entry)
        {
            entry.lock.last.store(number, Relaxed);
            if held != next {
                hold::begin(kind, entry.lock, over, true);
            }
        }
    }
}

/// A wait that the thread never came back from, for it was cancelled or left by a jump, ends now at the latest.
fn close_cancelled(place: &'static Place, thread: &Thread, number: u64) {
    let since = thread.waits_since.load(Relaxed);
    thread.waits_since.store(0, Release);
    let wait = clock::now().saturating_sub(since);
    let (lock, site) = (thread.waits_for.load(Relaxed), thread.waits_at.load(Relaxed));
    let entry = entries::entry(place, lock.into());
    match (lock, entry.and_then(|entry| Some((entry, kind_of(entry)?)))) {
        (0, _) => add_to_thread(thread, None, wait),
        (_, Some((entry, kind))) => {
            add_to_thread(thread, Some(kind), wait);
            accounts::write(place, entry, number, Record { got: false, wait, hold: None, site });
        }
        (_, None) => {
            add_to_thread(thread, Some(Kind::Mutex), wait);
            record_folded(place, wait, End::GivenUp);
        }
    }
}

fn kind_of(entry: Entry) -> Option<Kind> {
    KINDS.into_iter().find(|kind| *kind as u32 == entry.lock.kind.load(Relaxed))
}

const KINDS: [Kind; 5] = [Kind::Mutex, Kind::Rwlock, Kind::Spinlock, Kind::Condition, Kind::Semaphore];
