//! The process's place: taken when the watcher is loaded, or by the first lock if that is earlier.

use core::ffi::{CStr, c_char, c_ulong, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering::Relaxed, Ordering::Release};

use super::area::{HEAD_BYTES, Head, MAGIC, MODULE_PATH_BYTES, Origin, PLACE_BYTES, Place, VARIABLE};
use super::calls::{self, Descriptor};
use super::{clock, fork, real, thread};

#[link(name = "c")]
unsafe extern "C" {
    fn getauxval(kind: c_ulong) -> c_ulong;
    static environ: *const *const c_char;
}

/// Where what is done is counted; null where it is not, be it not yet or not at all.
static PLACE: AtomicPtr<Place> = AtomicPtr::new(core::ptr::null_mut());
static HEAD: AtomicPtr<Head> = AtomicPtr::new(core::ptr::null_mut());
static BEGUN: AtomicBool = AtomicBool::new(false);

/// The path of the area, with a zero at its end: the environment may have changed when the process forks.
static PATH: [AtomicU8; 256] = [const { AtomicU8::new(0) }; 256];

/// Where a program may map less than this it gets no place: it would be without what that takes.
const LEAST_MEMORY: u64 = 9 * PLACE_BYTES as u64;

/// The place of this process; none where nothing is counted.
#[inline(always)]
pub(crate) fn place() -> Option<&'static Place> {
    let place = PLACE.load(Relaxed);
    if place.is_null() {
        return begin();
    }
    // SAFETY: it is mapped as long as the process lives, and all that is in it may be written to at any moment.
    Some(unsafe { &*place })
}

#[cold]
#[inline(never)]
fn begin() -> Option<&'static Place> {
    if BEGUN.swap(true, Relaxed) {
        return None;
    }
    real::find_all();
    let head = find_area()?;
    clock::begin();
    if calls::most_memory() < LEAST_MEMORY {
        head.unmapped.fetch_add(1, Relaxed);
        return None;
    }
    let number = take(head)?;
    let file = open()?;
    let Some(place) = file.map(offset(number), PLACE_BYTES, None) else {
        head.unmapped.fetch_add(1, Relaxed);
        return None;
    };
    fork::ask_to_be_told();
    thread::ask_to_be_told();
    Some(use_place(place, Origin::Exec))
}

/// Begins to count in a place that was mapped.
pub(crate) fn use_place(memory: *mut c_void, origin: Origin) -> &'static Place {
    let memory: *mut Place = memory.cast();
    // SAFETY: it was mapped for that.
    let place = unsafe { &*memory };
    let process = &place.process;
    process.began.store(clock::now(), Relaxed);
    process.origin.store(origin as u32, Relaxed);
    let mut program = [0; MODULE_PATH_BYTES];
    let length = calls::program(&mut program);
    for (byte, place) in program.iter().zip(&process.program).take(length) {
        place.store(*byte, Relaxed);
    }
    process.program_length.store(length as u64, Release);
    thread::enter(place, 0, true);
    process.pid.store(calls::getpid(), Release);
    PLACE.store(memory, Release);
    place
}

/// The place, and the head of the area that it is in; none where nothing is counted.
pub(crate) fn mapped() -> Option<(*mut c_void, &'static Head)> {
    let (place, head) = (PLACE.load(Relaxed), HEAD.load(Relaxed));
    // SAFETY: where there is a place, the head is mapped too, as long as the process lives.
    (!place.is_null()).then(|| (place.cast(), unsafe { &*head }))
}

/// Counts nothing from now on.
pub(crate) fn stop() {
    PLACE.store(core::ptr::null_mut(), Relaxed);
}

/// The next place that nobody has, if there is one.
pub(crate) fn take(head: &Head) -> Option<u32> {
    let number = head.taken.fetch_add(1, Relaxed);
    (number < head.places.load(Relaxed)).then_some(number)
}

/// Where in the area a place is.
pub(crate) fn offset(number: u32) -> usize {
    HEAD_BYTES + number as usize * PLACE_BYTES
}

/// Opens the area again.
pub(crate) fn open() -> Option<Descriptor> {
    // SAFETY: it ends with a zero, which nothing is written over.
    unsafe { Descriptor::open(PATH.as_ptr().cast(), true) }
}

fn find_area() -> Option<&'static Head> {
    const AT_SECURE: c_ulong = 23;
    // SAFETY: takes a number.
    if unsafe { getauxval(AT_SECURE) } != 0 {
        return None;
    }
    let path = variable(VARIABLE.as_bytes())?;
    if path.len() >= PATH.len() {
        return None;
    }
    for (byte, place) in path.iter().zip(&PATH) {
        place.store(*byte, Relaxed);
    }
    let memory = open()?.map(0, HEAD_BYTES, None)?;
    let head: *mut Head = memory.cast();
    // SAFETY: it was mapped for that.
    let found = unsafe { &*head };
    if found.magic.load(Relaxed) != MAGIC {
        calls::unmap(memory, HEAD_BYTES);
        return None;
    }
    HEAD.store(head, Relaxed);
    Some(found)
}

fn variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: the C library's own variable: a vector of texts with a null pointer at its end, or null.
    let mut place = unsafe { environ };
    while !place.is_null() {
        // SAFETY: as above.
        let entry = unsafe { *place };
        if entry.is_null() {
            break;
        }
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        if let Some(value) = text.strip_prefix(name).and_then(|rest| rest.strip_prefix(b"=")) {
            return Some(value);
        }
        // SAFETY: the null pointer was not reached.
        place = unsafe { place.add(1) };
    }
    None
}

/// Notes that the process ended by itself.
pub(crate) extern "C" fn end() {
    let place = PLACE.load(Relaxed);
    if !place.is_null() {
        // SAFETY: as above.
        let process = unsafe { &(*place).process };
        process.cpu.store(clock::of_process(), Relaxed);
        process.ended.store(clock::now(), Release);
    }
}
