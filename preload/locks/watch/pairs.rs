//! Pairs of a lock and a thread, and of a lock and a call site.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::area::{Lock, MAX_PROBES, NO_ENTRY, PAIRS, Pair, ProcessPlace, TOMBSTONE, USES, Use, pair_start};
use super::entries::Entry;

/// Returns the pair of a lock and a thread, created if necessary; none if the table is full.
pub(crate) fn pair(place: &'static ProcessPlace, entry: Entry, thread: u64) -> Option<&'static Pair> {
    let key = entry.number << 32 | thread;
    let found = if thread == NO_ENTRY.into() {
        None
    } else {
        find_or_claim(key, pair_start(key, PAIRS), |number| Some(&place.pairs.get(number % PAIRS)?.key))
    };
    let Some((number, created)) = found else {
        place.process.pairs_lost.fetch_add(1, Relaxed);
        return None;
    };
    let pair = &place.pairs[number % PAIRS];
    if created {
        link(&entry.lock.first_pair, &pair.next, number % PAIRS);
    }
    Some(pair)
}

/// Returns the pair of a lock and a call site (its number plus one), created if necessary; none if the table is full.
pub(crate) fn use_at(place: &'static ProcessPlace, entry: Entry, site: u32) -> Option<&'static Use> {
    let found = match site {
        0 => None,
        site => {
            let key = entry.number << 32 | u64::from(site);
            find_or_claim(key, pair_start(key, USES), |number| Some(&place.uses.get(number % USES)?.key))
        }
    };
    let Some((number, created)) = found else {
        place.process.pairs_lost.fetch_add(1, Relaxed);
        return None;
    };
    let found = &place.uses[number % USES];
    if created {
        link(&entry.lock.first_use, &found.next, number % USES);
    }
    Some(found)
}

/// Finds `key` in a table, from entry `first` on, or claims a free entry for it. Returns the entry's number, to be
/// wrapped to the size of the table, and whether it was claimed.
fn find_or_claim(key: u64, first: usize, at: impl Fn(usize) -> Option<&'static AtomicU64>) -> Option<(usize, bool)> {
    for _ in 0..MAX_PROBES {
        let mut free = None;
        for number in first..first + MAX_PROBES {
            let found = at(number)?.load(Acquire);
            if found == key {
                return Some((number, false));
            }
            if (found == 0 || found == TOMBSTONE) && free.is_none() {
                free = Some((number, found));
            }
            if found == 0 {
                break;
            }
        }
        let (number, old) = free?;
        if at(number)?.compare_exchange(old, key, AcqRel, Relaxed).is_ok() {
            return Some((number, true));
        }
    }
    None
}

/// Prepends an entry to the list of a lock.
fn link(first: &AtomicU32, next: &AtomicU32, number: usize) {
    let mut before = first.load(Relaxed);
    loop {
        next.store(before, Relaxed);
        match first.compare_exchange_weak(before, number as u32 + 1, Release, Relaxed) {
            Ok(_) => break,
            Err(other) => before = other,
        }
    }
}

/// Removes all pairs and uses of a lock that was never waited for.
pub(crate) fn remove_all(place: &ProcessPlace, lock: &Lock) {
    let mut number = lock.first_pair.swap(0, Acquire);
    while let Some(pair) = place.pairs.get((number as usize).wrapping_sub(1)) {
        number = pair.next.swap(0, Relaxed);
        pair.contended.store(0, Relaxed);
        pair.wait.store(0, Relaxed);
        pair.account.store(0, Relaxed);
        pair.key.store(TOMBSTONE, Release);
    }
    let mut number = lock.first_use.swap(0, Acquire);
    while let Some(found) = place.uses.get((number as usize).wrapping_sub(1)) {
        number = found.next.swap(0, Relaxed);
        found.sampled.store(0, Relaxed);
        found.contended.store(0, Relaxed);
        found.wait.store(0, Relaxed);
        found.key.store(TOMBSTONE, Release);
    }
}
