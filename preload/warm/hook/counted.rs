//! Counts how launches went, in memory shared by all that start programs from one store.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use core::{ptr, slice};

use super::calls::{self, Descriptor};
use super::card::{COUNTERS, Outcome};
use super::store::Store;

const BYTES: usize = COUNTERS * 8;

/// The file `counts`, mapped where something was counted first; null until then. In the child of fork(2) or vfork(2) it is
/// the parent's. While a program is being taken nothing is counted, so that none of this is in a snapshot.
static MAPPED: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// One launch more that went so; where the counts cannot be had, it is not counted.
pub(crate) fn add(store: &mut Store, outcome: Outcome) {
    change(store, outcome as usize, 1);
}

/// One more at this place, if it is one.
pub(crate) fn add_at(store: &mut Store, place: u32) {
    if place != 0 {
        change(store, place as usize, 1);
    }
}

/// One less, for it was counted too soon.
pub(crate) fn take_back(store: &mut Store, outcome: Outcome, place: u32) {
    change(store, outcome as usize, -1);
    if place != 0 {
        change(store, place as usize, -1);
    }
}

fn change(store: &mut Store, place: usize, by: i64) {
    if let Some(counter) = mapped(store).and_then(|counters| counters.get(place)) {
        counter.fetch_add(by as u64, Ordering::Relaxed);
    }
}

fn mapped(store: &mut Store) -> Option<&'static [AtomicU64]> {
    let mut place = MAPPED.load(Ordering::Acquire);
    if place.is_null() {
        let new = map(store)?;
        place = match MAPPED.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: nobody has seen it.
                unsafe { calls::unmap(new.cast(), BYTES) };
                first
            }
        };
    }
    // SAFETY: so much is mapped for good, and the file behind it is never made shorter.
    Some(unsafe { slice::from_raw_parts(place, COUNTERS) })
}

fn map(store: &mut Store) -> Option<*mut AtomicU64> {
    let file = Descriptor::to_write(store.path(&[b"/counts"])?).ok()?;
    let stat = file.stat().ok()?;
    // What is shorter, or has no room on its disk yet, might end the process where it is touched.
    if !stat.is_file() || stat.bytes < BYTES as i64 || stat.disk_bytes() < BYTES as i64 {
        return None;
    }
    file.map(BYTES, true).ok().map(<*mut _>::cast)
}
