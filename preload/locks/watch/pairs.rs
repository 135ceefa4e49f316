//! Which thread took which lock, and from where.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::area::{FARTHEST, GIVEN_UP, Lock, NO_ENTRY, PAIRS, Pair, Place, USES, Use, pair_of};
use super::entries::Entry;

/// The pair of a lock and a thread, made if there is none; none where there is no room.
pub(crate) fn pair(place: &'static Place, entry: Entry, thread: u64) -> Option<&'static Pair> {
    let key = entry.number << 32 | thread;
    let found = if thread == NO_ENTRY.into() {
        None
    } else {
        find(key, pair_of(key, PAIRS), |number| Some(&place.pairs.get(number % PAIRS)?.key))
    };
    let Some((number, made)) = found else {
        place.process.pairs_lost.fetch_add(1, Relaxed);
        return None;
    };
    let pair = &place.pairs[number % PAIRS];
    if made {
        link(&entry.lock.first_pair, &pair.next, number % PAIRS);
    }
    Some(pair)
}

/// The use of a lock at the call site of this number plus one, likewise.
pub(crate) fn use_at(place: &'static Place, entry: Entry, site: u32) -> Option<&'static Use> {
    let found = match site {
        0 => None,
        site => {
            let key = entry.number << 32 | u64::from(site);
            find(key, pair_of(key, USES), |number| Some(&place.uses.get(number % USES)?.key))
        }
    };
    let Some((number, made)) = found else {
        place.process.pairs_lost.fetch_add(1, Relaxed);
        return None;
    };
    let found = &place.uses[number % USES];
    if made {
        link(&entry.lock.first_use, &found.next, number % USES);
    }
    Some(found)
}

/// Where the key stands, by its distance from the first place of the table, and whether it was put there now.
fn find(key: u64, first: usize, at: impl Fn(usize) -> Option<&'static AtomicU64>) -> Option<(usize, bool)> {
    for _ in 0..FARTHEST {
        let mut free = None;
        for number in first..first + FARTHEST {
            let found = at(number)?.load(Acquire);
            if found == key {
                return Some((number, false));
            }
            if (found == 0 || found == GIVEN_UP) && free.is_none() {
                free = Some((number, found));
            }
            if found == 0 {
                break;
            }
        }
        let (number, was) = free?;
        if at(number)?.compare_exchange(was, key, AcqRel, Relaxed).is_ok() {
            return Some((number, true));
        }
    }
    None
}

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

/// Gives up all pairs and uses of a lock, which was never waited for.
pub(crate) fn give_up(place: &Place, lock: &Lock) {
    let mut number = lock.first_pair.swap(0, Acquire);
    while let Some(pair) = place.pairs.get((number as usize).wrapping_sub(1)) {
        number = pair.next.swap(0, Relaxed);
        pair.contended.store(0, Relaxed);
        pair.wait.store(0, Relaxed);
        pair.account.store(0, Relaxed);
        pair.key.store(GIVEN_UP, Release);
    }
    let mut number = lock.first_use.swap(0, Acquire);
    while let Some(found) = place.uses.get((number as usize).wrapping_sub(1)) {
        number = found.next.swap(0, Relaxed);
        found.sampled.store(0, Relaxed);
        found.contended.store(0, Relaxed);
        found.wait.store(0, Relaxed);
        found.key.store(GIVEN_UP, Release);
    }
}
