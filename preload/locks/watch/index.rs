//! The hash index from the address of a lock to its entry.

use core::hint;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use super::area::{INDEX, Kind, MAX_PROBES, ProcessPlace, TOMBSTONE, index_start};
use super::entries::{self, Entry};

/// The low bits of an index word: the number of the entry plus one, 0 while the entry is being initialised.
const NUMBER: u64 = 0xffff;

/// Returns the entry of the lock at this address, if it has one.
#[inline(always)]
pub(crate) fn find(place: &'static ProcessPlace, address: u64) -> Option<Entry> {
    let found = place.index[index_start(address)].load(Acquire);
    if found >> 16 == address { entries::entry(place, found & NUMBER) } else { probe(place, address) }
}

#[inline(never)]
fn probe(place: &'static ProcessPlace, address: u64) -> Option<Entry> {
    for step in 1..MAX_PROBES {
        match slot(place, address, step).load(Acquire) {
            0 => return None,
            found if found >> 16 == address => return entries::entry(place, found & NUMBER),
            _ => (),
        }
    }
    None
}

fn slot(place: &'static ProcessPlace, address: u64, step: usize) -> &'static AtomicU64 {
    &place.index[(index_start(address) + step) % INDEX]
}

/// The result of a search for an address.
enum Search {
    Found(Entry),
    /// Another thread is initialising the entry.
    BeingCreated,
    /// There is none. A new one can go to this probe step.
    Free {
        step: usize,
        found: u64,
    },
    Full,
}

fn search(place: &'static ProcessPlace, address: u64) -> Search {
    let mut free = None;
    for step in 0..MAX_PROBES {
        let found = slot(place, address, step).load(SeqCst);
        if found != TOMBSTONE && found >> 16 == address {
            return entries::entry(place, found & NUMBER).map_or(Search::BeingCreated, Search::Found);
        }
        if found == 0 || found == TOMBSTONE {
            free = free.or(Some(Search::Free { step, found }));
        }
        if found == 0 {
            break;
        }
    }
    free.unwrap_or(Search::Full)
}

/// Returns the entry of the lock at this address, created if necessary; none if the table is full. An entry of another
/// kind belongs to an earlier lock that was never destroyed, and is released.
#[cold]
#[inline(never)]
pub(crate) fn find_or_create(
    place: &'static ProcessPlace,
    address: u64,
    kind: Kind,
    made_at: Option<u64>,
) -> Option<Entry> {
    for _ in 0..10_000 {
        match search(place, address) {
            Search::Found(entry) if entry.lock.kind.load(Relaxed) == kind as u32 => return Some(entry),
            Search::Found(entry) => destroy_entry(place, address, entry),
            Search::BeingCreated => hint::spin_loop(),
            Search::Free { step, found } => {
                let slot = slot(place, address, step);
                if slot.compare_exchange(found, address << 16, SeqCst, Relaxed).is_err() {
                    continue;
                }
                // Another thread may have claimed an earlier slot for the same address since the search.
                if (0..step).any(|step| self::slot(place, address, step).load(SeqCst) >> 16 == address) {
                    slot.store(TOMBSTONE, SeqCst);
                    continue;
                }
                let entry = entries::create(place, address, kind, made_at);
                slot.store(entry.map_or(TOMBSTONE, |entry| address << 16 | entry.number), SeqCst);
                return entry;
            }
            Search::Full => return None,
        }
    }
    None
}

/// Releases the entry of the lock at this address, because the lock is destroyed or another one is initialised there.
/// Returns whether it had an entry.
#[cold]
#[inline(never)]
pub(crate) fn destroy(place: &'static ProcessPlace, address: u64) -> bool {
    let entry = find(place, address);
    if let Some(entry) = entry {
        destroy_entry(place, address, entry);
    }
    entry.is_some()
}

fn destroy_entry(place: &'static ProcessPlace, address: u64, entry: Entry) {
    let value = address << 16 | entry.number;
    let slot = (0..MAX_PROBES).map(|step| slot(place, address, step));
    // If several threads do this, one of them wins.
    if { slot }.any(|slot| slot.compare_exchange(value, TOMBSTONE, SeqCst, Relaxed).is_ok()) {
        entries::destroy(entry);
    }
}
