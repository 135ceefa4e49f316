//! What a thread waited for a lock and held it then, written down where nobody else writes.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Relaxed, Release};

use super::area::{ACCOUNTS, Account, BUCKETS, Pair, Place, Spread, bucket_of};
use super::entries::Entry;
use super::pairs;

/// A wait that is over.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    /// Whether it ended with the lock, or what was waited for.
    pub(crate) got: bool,
    pub(crate) wait: u64,
    /// How long the lock was held then, if that is known.
    pub(crate) hold: Option<u64>,
    /// The number of the call site plus one; 0 where there is none.
    pub(crate) site: u32,
}

/// Writes one down, by the thread with this number plus one, which is the running one.
#[inline(never)]
pub(crate) fn write(place: &'static Place, entry: Entry, thread: u64, record: Record) {
    let pair = pairs::pair(place, entry, thread);
    match pair.and_then(|pair| account(place, pair)) {
        Some(account) => write_to(place, entry, account, record),
        None => write_to_lock(place, entry, pair, record),
    }
}

/// The account of a pair, begun if there is none; none where there is no room.
fn account(place: &'static Place, pair: &Pair) -> Option<&'static Account> {
    match pair.account.load(Relaxed) {
        0 => begin(place, pair),
        number => place.accounts.get(number as usize - 1),
    }
}

#[cold]
#[inline(never)]
fn begin(place: &'static Place, pair: &Pair) -> Option<&'static Account> {
    let begun = &place.process.accounts;
    let next = |number: u64| ((number as usize) < ACCOUNTS).then_some(number + 1);
    let number = begun.fetch_update(Relaxed, Relaxed, next).ok()?;
    let account = place.accounts.get(number as usize)?;
    account.key.store(pair.key.load(Relaxed), Release);
    pair.account.store(number as u32 + 1, Relaxed);
    Some(account)
}

/// Adds what nobody else adds to.
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
fn raise(most: &AtomicU64, time: u64) {
    if time > most.load(Relaxed) {
        most.store(time, Relaxed);
    }
}

fn write_to(place: &'static Place, entry: Entry, account: &Account, record: Record) {
    let Record { got, wait, hold, site } = record;
    add(if got { &account.contended } else { &account.given_up }, 1);
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
            add(&known.contended, got.into());
            add(&known.wait, wait);
            if number == 0 {
                known.site.store(site.into(), Release);
            }
            return;
        }
    }
    write_to_use(place, entry, record);
}

/// Writes down what is in no account.
#[cold]
#[inline(never)]
fn write_to_lock(place: &'static Place, entry: Entry, pair: Option<&Pair>, record: Record) {
    let Record { got, wait, hold, .. } = record;
    let (lock, index) = (entry.lock, (entry.number as usize).wrapping_sub(1));
    let count = if got { &lock.contended } else { &lock.given_up };
    count.fetch_add(1, Relaxed);
    lock.wait.fetch_add(wait, Relaxed);
    lock.wait_most.fetch_max(wait, Relaxed);
    if let Some(spread) = place.waits.get(index) {
        spread.buckets[bucket_of(wait) % BUCKETS].fetch_add(1, Relaxed);
    }
    if let Some(pair) = pair {
        pair.contended.fetch_add(1, Relaxed);
        pair.wait.fetch_add(wait, Relaxed);
    }
    if let Some(hold) = hold {
        add_hold(place, entry, [&lock.holds_contended, &lock.hold_contended], hold);
    }
    write_to_use(place, entry, record);
}

/// A hold that is in no account, added to these counts of holds and of their time.
pub(crate) fn add_hold(place: &Place, Entry { number, lock }: Entry, [count, sum]: [&AtomicU64; 2], hold: u64) {
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
fn write_to_use(place: &'static Place, entry: Entry, Record { got, wait, site, .. }: Record) {
    if site != 0
        && let Some(found) = pairs::use_at(place, entry, site)
    {
        found.contended.fetch_add(got.into(), Relaxed);
        found.wait.fetch_add(wait, Relaxed);
    }
}
