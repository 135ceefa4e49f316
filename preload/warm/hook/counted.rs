//! Counts how launches went, in memory shared by all that start programs from one store.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::calls::{self, Descriptor};
use super::card::{COUNTERS, Outcome};
use super::store::Store;

const BYTES: usize = COUNTERS * 8;

/// The file `counts`, mapped where something was counted first; null until then. In the child of fork(2) or vfork(2) it is
/// the parent's. While a program is being taken nothing is counted, so that none of this is in a snapshot.
static MAPPED: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());

/// One launch more that went so; where the counts cannot be had, it is not counted.
pub(crate) fn add(store: &mut Store<'_>, outcome: Outcome) {
    change(store, outcome as usize, false);
}

/// One more at this place, if it is one.
pub(crate) fn add_at(store: &mut Store<'_>, place: u32) {
    if place != 0 {
        change(store, place as usize, false);
    }
}

/// One less at each of these places, for it was counted too soon, and one more at each of those. The counts are mapped
/// already if they can be. Place 0 of programs is none.
pub(crate) fn correct(counted: [u32; 2], instead: [u32; 2]) {
    let counters = MAPPED.load(Ordering::Acquire);
    if counters.is_null() {
        return;
    }
    for ([outcome, program], less) in [(counted, true), (instead, false)] {
        change_mapped(counters, outcome as usize, less);
        if program != 0 {
            change_mapped(counters, program as usize, less);
        }
    }
}

fn change(store: &mut Store<'_>, place: usize, less: bool) {
    if let Some(counters) = mapped(store) {
        change_mapped(counters, place, less);
    }
}

/// Changes a counter by one. Only its lower half is changed, so that it begins again after 2^32 launches.
fn change_mapped(counters: *const u64, place: usize, less: bool) {
    if place < COUNTERS {
        // SAFETY: so many counters are mapped for good, and they are only ever changed so.
        let _ = unsafe { calls::add(counters.wrapping_add(place).cast(), less) };
    }
}

fn mapped(store: &mut Store<'_>) -> Option<*const u64> {
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
    Some(place)
}

fn map(store: &mut Store<'_>) -> Option<*mut u64> {
    let file = Descriptor::to_write(store.path(&[b"/counts"])?).ok()?;
    let stat = file.stat().ok()?;
    // What is shorter, or has no room on its disk yet, has nothing to count in.
    if !stat.is_file() || stat.bytes() < BYTES as u64 || stat.disk_bytes() < BYTES as u64 {
        return None;
    }
    file.map(BYTES).ok().map(<*mut _>::cast)
}
