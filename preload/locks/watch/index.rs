//! Which entry is the lock's at an address.

use core::hint;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use super::area::{FARTHEST, GIVEN_UP, INDEX, Kind, Place, index_of};
use super::entries::{self, Entry};

/// Below the address, the number of its entry plus one; 0 while that is being made.
const NUMBER: u64 = 0xffff;

/// The entry of the lock at this address, if it has one.
#[inline(always)]
pub(crate) fn find(place: &'static Place, address: u64) -> Option<Entry> {
    let found = place.index[index_of(address)].load(Acquire);
    if found >> 16 == address { entries::entry(place, found & NUMBER) } else { find_farther(place, address) }
}

#[inline(never)]
fn find_farther(place: &'static Place, address: u64) -> Option<Entry> {
    for step in 1..FARTHEST {
        match slot(place, address, step).load(Acquire) {
            0 => return None,
            found if found >> 16 == address => return entries::entry(place, found & NUMBER),
            _ => (),
        }
    }
    None
}

fn slot(place: &'static Place, address: u64, step: usize) -> &'static AtomicU64 {
    &place.index[(index_of(address) + step) % INDEX]
}

/// What a search for an address came to.
enum Search {
    Found(Entry),
    /// Another thread makes the entry right now.
    BeingMade,
    /// There is none, but room for one: where, and what is there now.
    Free(usize, u64),
    Full,
}

fn search(place: &'static Place, address: u64) -> Search {
    let mut free = None;
    for step in 0..FARTHEST {
        let found = slot(place, address, step).load(SeqCst);
        if found != GIVEN_UP && found >> 16 == address {
            return entries::entry(place, found & NUMBER).map_or(Search::BeingMade, Search::Found);
        }
        if found == 0 || found == GIVEN_UP {
            free = free.or(Some(Search::Free(step, found)));
        }
        if found == 0 {
            break;
        }
    }
    free.unwrap_or(Search::Full)
}

/// The entry of the lock at this address, made if there is none; none where there is no room. One of another kind is of a lock that
/// was there before, and whose end was not told.
#[cold]
#[inline(never)]
pub(crate) fn find_or_make(place: &'static Place, address: u64, kind: Kind, made_at: Option<u64>) -> Option<Entry> {
    for _ in 0..10_000 {
        match search(place, address) {
            Search::Found(entry) if entry.lock.kind.load(Relaxed) == kind as u32 => return Some(entry),
            Search::Found(entry) => end(place, address, entry),
            Search::BeingMade => hint::spin_loop(),
            Search::Free(step, was) => {
                let slot = slot(place, address, step);
                if slot.compare_exchange(was, address << 16, SeqCst, Relaxed).is_err() {
                    continue;
                }
                // Another thread may have found a place nearer by while this one was looking.
                if (0..step).any(|step| self::slot(place, address, step).load(SeqCst) >> 16 == address) {
                    slot.store(GIVEN_UP, SeqCst);
                    continue;
                }
                let entry = entries::begin(place, address, kind, made_at);
                slot.store(entry.map_or(GIVEN_UP, |entry| address << 16 | entry.number), SeqCst);
                return entry;
            }
            Search::Full => return None,
        }
    }
    None
}

/// The lock at this address is destroyed, or another one begins there. Whether it had an entry.
#[cold]
#[inline(never)]
pub(crate) fn ended(place: &'static Place, address: u64) -> bool {
    let entry = find(place, address);
    if let Some(entry) = entry {
        end(place, address, entry);
    }
    entry.is_some()
}

fn end(place: &'static Place, address: u64, entry: Entry) {
    let value = address << 16 | entry.number;
    let slot = (0..FARTHEST).map(|step| slot(place, address, step));
    // Only one of several ends it.
    if { slot }.any(|slot| slot.compare_exchange(value, GIVEN_UP, SeqCst, Relaxed).is_ok()) {
        entries::end(entry);
    }
}
