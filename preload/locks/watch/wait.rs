//! Waits: published when they begin, so that one that never ends is visible, and recorded when they are over.

use core::sync::atomic::Ordering::{Relaxed, Release};

use super::accounts::{self, FinishedWait};
use super::area::{Kind, NO_ENTRY, NO_THREAD, ProcessPlace, Thread};
use super::entries::{self, Entry};
use super::hold::{self, TimedAs};
use super::{acquisition, clock, index, sites, thread};

/// A wait that has begun.
#[derive(Clone, Copy)]
pub(crate) struct Wait {
    place: &'static ProcessPlace,
    /// None for a join.
    kind: Option<Kind>,
    address: u64,
    /// The number of the lock's entry plus one; [`NO_ENTRY`] if it has none, 0 for a join.
    lock: u32,
    /// The number of the call site plus one.
    site: u32,
    since: u64,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The lock was acquired, or the awaited event happened.
    Acquired,
    /// The call failed: timeout, deadlock error or unrecoverable mutex.
    GaveUp,
}

/// Begins a wait for the lock at this address, in the call that returns to `site`.
#[inline(never)]
pub(crate) fn begin(place: &'static ProcessPlace, kind: Kind, address: u64, site: u64) -> Wait {
    let lock = match index::find_or_create(place, address, kind, None) {
        Some(entry) => {
            if entry.lock.waited_for.load(Relaxed) == 0 {
                entry.lock.waited_for.store(1, Relaxed);
            }
            if hold::may_be_in_other_process(kind, address) && entry.lock.shared.load(Relaxed) == 0 {
                entry.lock.shared.store(1, Relaxed);
            }
            entry.number as u32
        }
        None => NO_ENTRY,
    };
    publish(Wait { place, kind: Some(kind), address, lock, site: sites::number(place, site), since: 0 })
}

/// Begins a wait for another thread to end, in the call that returns to `site`.
#[inline(never)]
pub(crate) fn begin_join(place: &'static ProcessPlace, site: u64) -> Wait {
    publish(Wait { place, kind: None, address: 0, lock: 0, site: sites::number(place, site), since: 0 })
}

#[inline(always)]
fn publish(wait: Wait) -> Wait {
    let number = thread::current_or_register(wait.place);
    let Some(thread) = thread::entry(wait.place, number) else { return Wait { since: clock::now(), ..wait } };
    if thread.waits_since.load(Relaxed) != 0 {
        close_pending(wait.place, thread, number, Some(wait.address));
    }
    thread.waits_for.store(wait.lock, Relaxed);
    thread.waits_at.store(wait.site, Relaxed);
    let since = clock::now();
    thread.waits_since.store(since, Release);
    Wait { since, ..wait }
}

impl Wait {
    /// Ends the wait. If the lock was acquired, the end is only published. The wait is recorded when the lock is
    /// released, because other threads may be waiting for this thread to continue.
    #[inline(never)]
    pub(crate) fn end(self, end: End) {
        let Wait { place, kind, address, since, .. } = self;
        let now = clock::now();
        let number = thread::current();
        let Some(thread) = thread::entry(place, number) else { return self.end_unregistered(end, number, now) };
        if end == End::Acquired && self.lock != NO_ENTRY && kind.is_some_and(hold::has_holder) {
            self.forget_last_thread();
            if thread.waits_since.load(Relaxed) != since {
                self.publish_again(thread);
            }
            thread.waited_until.store(now, Release);
            thread::set_unrecorded(address);
            return;
        }
        thread.waits_since.store(0, Release);
        let time = now.saturating_sub(since);
        add_to_thread(thread, kind, time);
        self.record(end, number, time, None);
    }

    /// Publishes a wait during which a signal handler waited for another lock.
    #[cold]
    fn publish_again(&self, thread: &Thread) {
        thread.waits_for.store(self.lock, Relaxed);
        thread.waits_at.store(self.site, Relaxed);
        thread.waits_since.store(self.since, Release);
    }

    /// Clears [`Lock::last`](super::area::Lock::last): the thread that it names has released the lock, and may be
    /// waiting for it again. A lock for which all threads wait is cleared once, so their CPUs do not contend for the
    /// cache line.
    #[inline(always)]
    fn forget_last_thread(&self) {
        if self.kind.is_some_and(acquisition::is_written_by_holder)
            && let Some(entry) = entries::entry(self.place, self.lock.into())
            && entry.lock.last.load(Relaxed) != NO_THREAD
        {
            entry.lock.last.store(NO_THREAD, Relaxed);
        }
    }

    /// Ends the wait for a mutex whose owner died.
    #[cold]
    pub(crate) fn end_owner_dead(self) {
        hold::discard(self.place, self.address);
        self.end(End::Acquired);
    }

    /// Ends the wait of a thread without an entry. It is recorded immediately.
    #[cold]
    fn end_unregistered(self, end: End, number: u64, now: u64) {
        let Wait { place, kind, since, .. } = self;
        let time = now.saturating_sub(since);
        place.process.other_threads_wait.fetch_add(time, Relaxed);
        self.record(end, number, time, None);
        if end == End::Acquired
            && let Some(kind) = kind.filter(|kind| hold::has_holder(*kind))
            && let Some(entry) = entries::entry(place, self.lock.into())
        {
            entry.lock.last.store(number, Relaxed);
            hold::begin(kind, entry.lock, now, TimedAs::Contended);
        }
    }

    fn record(self, end: End, number: u64, wait: u64, hold: Option<u64>) {
        let Wait { place, kind, lock, site, .. } = self;
        match entries::entry(place, lock.into()) {
            Some(entry) => accounts::record(
                place,
                entry,
                number,
                FinishedWait { acquired: end == End::Acquired, wait, hold, site },
            ),
            None if kind.is_some() => add_to_totals(place, wait, end),
            None => (),
        }
    }

    /// Discards the wait: the call failed before it waited.
    #[cold]
    pub(crate) fn discard(self) {
        if let Some(thread) = thread::entry(self.place, thread::current()) {
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
    // No other thread writes there.
    sum.store(sum.load(Relaxed).wrapping_add(time), Relaxed);
}

fn add_to_totals(place: &ProcessPlace, time: u64, end: End) {
    let folded = &place.process.folded;
    if end == End::Acquired {
        folded.acquisitions.fetch_add(1, Relaxed);
        folded.contended.fetch_add(1, Relaxed);
    }
    folded.wait.fetch_add(time, Relaxed);
    folded.wait_most.fetch_max(time, Relaxed);
}

/// Records the wait and the hold of the lock that this thread acquired last after waiting for it. `end` is when the
/// hold ended, if known.
#[inline(never)]
pub(crate) fn record_acquired(place: &'static ProcessPlace, end: Option<u64>) {
    thread::set_unrecorded(0);
    let number = thread::current();
    let Some(thread) = thread::entry(place, number) else { return };
    let (since, over) = (thread.waits_since.load(Relaxed), thread.waited_until.load(Relaxed));
    let (lock, site) = (thread.waits_for.load(Relaxed), thread.waits_at.load(Relaxed));
    // Clear these first, so that a signal handler that interrupts here does not record the wait twice.
    thread.waits_since.store(0, Release);
    thread.waited_until.store(0, Release);
    let wait = over.saturating_sub(since);
    let hold = end.map(|end| end.saturating_sub(over));
    add_to_thread(thread, Some(Kind::Mutex), wait);
    if let Some(entry) = entries::entry(place, lock.into()) {
        accounts::record(place, entry, number, FinishedWait { acquired: true, wait, hold, site });
    }
}

/// Records the wait that is still in the thread's entry, before the thread waits for the lock at `next` or ends.
#[cold]
#[inline(never)]
pub(crate) fn close_pending(place: &'static ProcessPlace, thread: &Thread, number: u64, next: Option<u64>) {
    if thread.waited_until.load(Relaxed) == 0 {
        close_cancelled(place, thread, number);
    } else {
        let (held, lock, over) =
            (thread::unrecorded(), thread.waits_for.load(Relaxed), thread.waited_until.load(Relaxed));
        record_acquired(place, None);
        // The thread still holds the earlier lock, unless it waits for that same one. A thread that ends leaves the lock
        // held, so the lock must not name the thread that had it before.
        if let Some(entry) = index::find(place, held).filter(|entry| entry.number == lock.into())
            && let Some(kind) = kind_of(entry)
        {
            entry.lock.last.store(number, Relaxed);
            if next.is_some_and(|next| next != held) {
                hold::begin(kind, entry.lock, over, TimedAs::Contended);
            }
        }
    }
}

/// Records a wait that the thread never returned from, because it was cancelled or left by longjmp(3). It ends now at
/// the latest.
fn close_cancelled(place: &'static ProcessPlace, thread: &Thread, number: u64) {
    let since = thread.waits_since.load(Relaxed);
    thread.waits_since.store(0, Release);
    let wait = clock::now().saturating_sub(since);
    let (lock, site) = (thread.waits_for.load(Relaxed), thread.waits_at.load(Relaxed));
    let entry = entries::entry(place, lock.into());
    match (lock, entry.and_then(|entry| Some((entry, kind_of(entry)?)))) {
        (0, _) => add_to_thread(thread, None, wait),
        (_, Some((entry, kind))) => {
            add_to_thread(thread, Some(kind), wait);
            accounts::record(place, entry, number, FinishedWait { acquired: false, wait, hold: None, site });
        }
        (_, None) => {
            add_to_thread(thread, Some(Kind::Mutex), wait);
            add_to_totals(place, wait, End::GaveUp);
        }
    }
}

fn kind_of(entry: Entry) -> Option<Kind> {
    KINDS.into_iter().find(|kind| *kind as u32 == entry.lock.kind.load(Relaxed))
}

const KINDS: [Kind; 5] = [Kind::Mutex, Kind::Rwlock, Kind::Spinlock, Kind::Condition, Kind::Semaphore];
