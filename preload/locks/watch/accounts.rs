//! Records waits and the holds that follow them, in accounts that only their own thread writes to.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Relaxed, Release};

use super::area::{ACCOUNTS, Account, BUCKETS, Pair, ProcessPlace, Spread, bucket_of};
use super::entries::Entry;
use super::pairs;

/// A wait that is over.
#[derive(Clone, Copy)]
pub(crate) struct FinishedWait {
    /// Whether the wait succeeded: the thread acquired the lock, was notified or decremented the semaphore.
    pub(crate) acquired: bool,
    pub(crate) wait: u64,
    /// How long the thread held the lock then, in nanoseconds, if known.
    pub(crate) hold: Option<u64>,
    /// The number of the call site plus one; 0 for none.
    pub(crate) site: u32,
}

/// Records a wait of the running thread, whose number plus one is `thread`.
#[inline(never)]
pub(crate) fn record(place: &'static ProcessPlace, entry: Entry, thread: u64, record: FinishedWait) {
    let pair = pairs::pair(place, entry, thread);
    match pair.and_then(|pair| account(place, pair)) {
        Some(account) => add_to_account(place, entry, account, record),
        None => add_to_lock(place, entry, pair, record),
    }
}

/// Returns the account of a pair, created if necessary; none if the table is full.
fn account(place: &'static ProcessPlace, pair: &Pair) -> Option<&'static Account> {
    match pair.account.load(Relaxed) {
        0 => create(place, pair),
        number => place.accounts.get(number as usize - 1),
    }
}

#[cold]
#[inline(never)]
fn create(place: &'static ProcessPlace, pair: &Pair) -> Option<&'static Account> {
    let used = &place.process.accounts;
    let next = |number: u64| ((number as usize) < ACCOUNTS).then_some(number + 1);
    let number = used.fetch_update(Relaxed, Relaxed, next).ok()?;
    let account = place.accounts.get(number as usize)?;
    account.key.store(pair.key.load(Relaxed), Release);
    pair.account.store(number as u32 + 1, Relaxed);
    Some(account)
}

/// Adds to a counter that no other thread writes to.
#[inline(always)]
fn add(sum: &AtomicU64, more: u64) {
    sum.store(sum.load(Relaxed).wrapping_add(more), Relaxed);
}

#[inline(always)]
fn add_to_spread(spread: &Spread, time: u64) {
    let bucket = &spread.buckets[bucket_of(time) % BUCKETS];
    bucket.store(bucket.load(Relaxed).wrapping_add(1), Relaxed);
}

#[inline(always)]
fn raise(maximum: &AtomicU64, time: u64) {
    if time > maximum.load(Relaxed) {
        maximum.store(time, Relaxed);
    }
}

fn add_to_account(place: &'static ProcessPlace, entry: Entry, account: &Account, record: FinishedWait) {
    let FinishedWait { acquired, wait, hold, site } = record;
    add(if acquired { &account.contended } else { &account.given_up }, 1);
    add(&account.wait, wait);
    raise(&account.wait_most, wait);
    add_to_spread(&account.waits, wait);
    if let Some(hold) = hold {
        add(&account.holds_contended, 1);
        add(&account.hold_contended, hold);
        raise(&account.hold_most, hold);
        add_to_spread(&account.holds, hold);
    }
    if site == 0 {
        return;
    }
    for known in &account.sites {
        let number = known.site.load(Relaxed);
        if number == u64::from(site) || number == 0 {
            add(&known.contended, acquired.into());
            add(&known.wait, wait);
            if number == 0 {
                known.site.store(site.into(), Release);
            }
            return;
        }
    }
    add_to_use(place, entry, record);
}

/// Records a wait of a pair without an account, in the lock's entry.
#[cold]
#[inline(never)]
fn add_to_lock(place: &'static ProcessPlace, entry: Entry, pair: Option<&Pair>, record: FinishedWait) {
    let FinishedWait { acquired, wait, hold, .. } = record;
    let (lock, index) = (entry.lock, (entry.number as usize).wrapping_sub(1));
    let count = if acquired { &lock.contended } else { &lock.given_up };
    count.fetch_add(1, Relaxed);
    lock.wait.fetch_add(wait, Relaxed);
    lock.wait_most.fetch_max(wait, Relaxed);
    if let Some(spread) = place.waits.get(index) {
        spread.buckets[bucket_of(wait) % BUCKETS].fetch_add(1, Relaxed);
    }
    if let Some(pair) = pair {
        pair.contended.fetch_add(acquired.into(), Relaxed);
        pair.wait.fetch_add(wait, Relaxed);
    }
    if let Some(hold) = hold {
        add_hold(place, entry, &lock.holds_contended, &lock.hold_contended, hold);
    }
    add_to_use(place, entry, record);
}

/// Adds a hold time to the lock's entry: to `count`, to `sum`, to the maximum and to the histogram.
pub(crate) fn add_hold(place: &ProcessPlace, entry: Entry, count: &AtomicU64, sum: &AtomicU64, hold: u64) {
    let Entry { number, lock } = entry;
    count.fetch_add(1, Relaxed);
    sum.fetch_add(hold, Relaxed);
    if hold > lock.hold_most.load(Relaxed) {
        lock.hold_most.fetch_max(hold, Relaxed);
    }
    if let Some(spread) = place.holds.get((number as usize).wrapping_sub(1)) {
        spread.buckets[bucket_of(hold) % BUCKETS].fetch_add(1, Relaxed);
    }
}

#[cold]
#[inline(never)]
fn add_to_use(place: &'static ProcessPlace, entry: Entry, record: FinishedWait) {
    let FinishedWait { acquired, wait, site, .. } = record;
    if site != 0
        && let Some(found) = pairs::use_at(place, entry, site)
    {
        found.contended.fetch_add(acquired.into(), Relaxed);
        found.wait.fetch_add(wait, Relaxed);
    }
}
