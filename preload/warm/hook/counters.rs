//! Counts launches, in memory shared by all processes that use the store.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::calls::{self, Descriptor};
use super::card::{COUNTERS, Outcome};
use super::store::Store;

const BYTES: usize = COUNTERS * 8;

/// The file `counts`, mapped at the first increment; null before. A child of fork(2) or vfork(2) uses its parent's
/// mapping. While a snapshot is captured nothing is counted, so no snapshot contains this mapping.
static MAPPED: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());

/// Counts a launch with this outcome. Does nothing if the counters cannot be mapped.
pub(crate) fn count(store: &mut Store<'_>, outcome: Outcome) {
    change(store, outcome as usize, false);
}

/// Increments the counter at this index. Index 0 stands for no counter.
pub(crate) fn increment(store: &mut Store<'_>, index: u32) {
    if index != 0 {
        change(store, index as usize, false);
    }
}

/// Moves a launch that was counted too early from some counters to others. Index 0 stands for no counter. Does
/// nothing if the counters are not mapped, because then the launch was not counted.
pub(crate) fn correct(counted: LaunchCounters, actual: LaunchCounters) {
    let counters = MAPPED.load(Ordering::Acquire);
    if counters.is_null() {
        return;
    }
    for (launch, subtract) in [(counted, true), (actual, false)] {
        change_mapped(counters, launch.outcome as usize, subtract);
        for index in [launch.program, launch.observed] {
            if index != 0 {
                change_mapped(counters, index as usize, subtract);
            }
        }
    }
}

/// The counters of a launch.
#[derive(Clone, Copy)]
pub(crate) struct LaunchCounters {
    pub(crate) outcome: Outcome,
    /// The index of the program's counter; 0 for none.
    pub(crate) program: u32,
    /// The index of the counter of an observed process; 0 for none.
    pub(crate) observed: u32,
}

fn change(store: &mut Store<'_>, index: usize, subtract: bool) {
    if let Some(counters) = mapped(store) {
        change_mapped(counters, index, subtract);
    }
}

/// Changes a counter by one. Only its lower 32 bits are changed, so it wraps after 2^32 launches.
fn change_mapped(counters: *const u64, index: usize, subtract: bool) {
    if index < COUNTERS {
        // SAFETY: `COUNTERS` counters are mapped permanently, and all changes are atomic.
        let _ = unsafe { calls::add(counters.wrapping_add(index).cast(), subtract) };
    }
}

fn mapped(store: &mut Store<'_>) -> Option<*const u64> {
    let mut counters = MAPPED.load(Ordering::Acquire);
    if counters.is_null() {
        let new = map(store)?;
        counters = match MAPPED.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: no other thread has seen the address.
                unsafe { calls::unmap(new.cast(), BYTES) };
                first
            }
        };
    }
    Some(counters)
}

fn map(store: &mut Store<'_>) -> Option<*mut u64> {
    let file = Descriptor::open_write(store.path(&[b"/counts"])?).ok()?;
    let stat = file.stat().ok()?;
    // A file that is shorter, or sparse, is not a complete file of counters.
    if !stat.is_file() || stat.bytes() < BYTES as u64 || stat.disk_bytes() < BYTES as u64 {
        return None;
    }
    file.map(BYTES).ok().map(<*mut _>::cast)
}
