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
pub(crate) fn add(store: &mut Store<'_>, outcome: Outcome) {
    change(store, outcome as usize, 1);
}

/// One more at this place, if it is one.
pub(crate) fn add_at(store: &mut Store<'_>, place: u32) {
    if place != 0 {
        change(store, place as usize, 1);
    }
}

/// One less at each of these places, for it was counted too soon, and one more at each of those. The counts are mapped
/// already if they can be. Place 0 of programs is none.
pub(crate) fn correct(counted: [u32; 2], instead: [u32; 2]) {
    let Some(counters) = seen(MAPPED.load(Ordering::Acquire)) else { return };
    for (places, by) in [(counted, -1_i64), (instead, 1)] {
        let [outcome, program] = places.map(|place| counters.get(place as usize));
        for counter in [outcome, program.filter(|_| places[1] != 0)].into_iter().flatten() {
            counter.fetch_add(by as u64, Ordering::Relaxed);
        }
    }
}

fn change(store: &mut Store<'_>, place: usize, by: i64) {
    if let Some(counter) = mapped(store).and_then(|counters| counters.get(place)) {
        counter.fetch_add(by as u64, Ordering::Relaxed);
    }
}

fn mapped(store: &mut Store<'_>) -> Option<&'static [AtomicU64]> {
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
    seen(place)
}

fn seen(place: *mut AtomicU64) -> Option<&'static [AtomicU64]> {
    // SAFETY: so much is mapped for good, and the file behind it is never made shorter.
    (!place.is_null()).then(|| unsafe { slice::from_raw_parts(place, COUNTERS) })
}

fn map(store: &mut Store<'_>) -> Option<*mut AtomicU64> {
    let file = Descriptor::to_write(store.path(&[b"/counts"])?).ok()?;
    let stat = file.stat().ok()?;
    // What is shorter, or has no room on its disk yet, might end the process where it is touched.
    if !stat.is_file() || stat.bytes < BYTES as i64 || stat.disk_bytes() < BYTES as i64 {
        return None;
    }
    file.map(BYTES).ok().map(<*mut _>::cast)
}
