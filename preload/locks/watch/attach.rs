//! Attaches the process to its place: when the watcher is loaded, or at the first lock operation if that is earlier.
//! The child of fork(2) gets its own place, mapped at the address of its parent's place.

use core::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering::Relaxed, Ordering::Release};

use super::area::{HEAD_BYTES, Head, MAGIC, MODULE_PATH_BYTES, Origin, PLACE_BYTES, ProcessPlace, VARIABLE};
use super::calls::{self, Descriptor};
use super::{clock, entries, real, thread};

#[link(name = "c")]
unsafe extern "C" {
    fn getauxval(kind: c_ulong) -> c_ulong;
    /// Called by pthread_atfork(3), which is in the static part of the C library.
    fn __register_atfork(
        prepare: *const c_void,
        parent: *const c_void,
        child: extern "C" fn(),
        library: *const c_void,
    ) -> c_int;
    static environ: *const *const c_char;
}

/// The place of this process; null before it is attached, and if it is not watched.
static PLACE: AtomicPtr<ProcessPlace> = AtomicPtr::new(core::ptr::null_mut());
static HEAD: AtomicPtr<Head> = AtomicPtr::new(core::ptr::null_mut());
static STARTED: AtomicBool = AtomicBool::new(false);

/// The NUL-terminated path of the area. It is needed again after fork(2), when the environment may have changed.
static PATH: [AtomicU8; 256] = [const { AtomicU8::new(0) }; 256];

/// A process with a lower limit of its address space (RLIMIT_AS) gets no place, which would use up too much of it.
const LEAST_MEMORY: u64 = 9 * PLACE_BYTES as u64;

/// Returns the place of this process, which is attached first if necessary; none if it is not watched.
#[inline(always)]
pub(crate) fn place() -> Option<&'static ProcessPlace> {
    let place = PLACE.load(Relaxed);
    if place.is_null() {
        return attach();
    }
    // SAFETY: the mapping lasts as long as the process, and all of it is atomics.
    Some(unsafe { &*place })
}

#[cold]
#[inline(never)]
fn attach() -> Option<&'static ProcessPlace> {
    if STARTED.swap(true, Relaxed) {
        return None;
    }
    real::look_up_all();
    let head = map_head()?;
    register_fork_handler();
    clock::calibrate();
    if calls::address_space_limit() < LEAST_MEMORY {
        head.unmapped.fetch_add(1, Relaxed);
        return None;
    }
    let number = claim(head)?;
    let file = open_area()?;
    let Some(place) = file.map(offset(number), PLACE_BYTES, None) else {
        head.unmapped.fetch_add(1, Relaxed);
        return None;
    };
    thread::create_exit_key();
    Some(use_place(place, Origin::Exec))
}

/// Registers the fork handler for children of this process.
fn register_fork_handler() {
    // SAFETY: the handler stays valid because the watcher is never unloaded.
    let _ = unsafe { __register_atfork(core::ptr::null(), core::ptr::null(), attach_child, core::ptr::null()) };
}

/// Runs in the child, which has one thread, before fork(2) returns.
///
/// The area may no longer be accessible, after chroot(2) or a change of user. Then remap_file_pages(2), which is
/// deprecated, moves the existing mapping to another part of the file. A child that may not make system calls is not
/// watched, nor is that of a process without a place.
extern "C" fn attach_child() {
    // SAFETY: the head is mapped as long as the process lives.
    let Some(head) = (unsafe { HEAD.load(Relaxed).as_ref() }) else { return };
    let place: *mut c_void = PLACE.load(Relaxed).cast();
    detach();
    if place.is_null() || calls::are_forbidden() {
        head.unmapped.fetch_add(1, Relaxed);
        return;
    }
    entries::reset_after_fork();
    thread::reset_after_fork();
    let Some(number) = claim(head) else { return calls::map_private_over(place, PLACE_BYTES) };
    let offset = offset(number);
    let again = || open_area()?.map(offset, PLACE_BYTES, Some(place));
    if again().is_some() || calls::remap(place, PLACE_BYTES, offset / 4096) {
        use_place(place, Origin::Fork);
    } else {
        head.unmapped.fetch_add(1, Relaxed);
        calls::map_private_over(place, PLACE_BYTES);
    }
}

/// Initialises a mapped place and starts counting in it.
fn use_place(memory: *mut c_void, origin: Origin) -> &'static ProcessPlace {
    let memory: *mut ProcessPlace = memory.cast();
    // SAFETY: `memory` is a mapping of `PLACE_BYTES`.
    let place = unsafe { &*memory };
    let process = &place.process;
    process.began.store(clock::now(), Relaxed);
    process.origin.store(origin as u32, Relaxed);
    let mut program = [0; MODULE_PATH_BYTES];
    let length = calls::read_program_path(&mut program);
    for (byte, target) in program.iter().zip(&process.program).take(length) {
        target.store(*byte, Relaxed);
    }
    process.program_length.store(length as u64, Release);
    thread::register(place, 0, true);
    process.pid.store(calls::getpid(), Release);
    PLACE.store(memory, Release);
    place
}

/// Stops counting in this process, because it has no place from now on.
fn detach() {
    PLACE.store(core::ptr::null_mut(), Relaxed);
}

/// Claims the next free place; none if there are no more.
fn claim(head: &Head) -> Option<u32> {
    let number = head.taken.fetch_add(1, Relaxed);
    (number < head.places.load(Relaxed)).then_some(number)
}

/// Returns the offset of a place in the area, in bytes.
fn offset(number: u32) -> usize {
    HEAD_BYTES + number as usize * PLACE_BYTES
}

fn open_area() -> Option<Descriptor> {
    // SAFETY: `PATH` is NUL-terminated: its last byte is never written.
    unsafe { Descriptor::open(PATH.as_ptr().cast(), true) }
}

fn map_head() -> Option<&'static Head> {
    const AT_SECURE: c_ulong = 23;
    // SAFETY: takes a number.
    if unsafe { getauxval(AT_SECURE) } != 0 {
        return None;
    }
    let path = environment_variable(VARIABLE.as_bytes())?;
    if path.len() >= PATH.len() {
        return None;
    }
    for (byte, target) in path.iter().zip(&PATH) {
        target.store(*byte, Relaxed);
    }
    let file = open_area()?;
    // Memory beyond the end of a file cannot be accessed, so its size is checked before it is mapped.
    let size = file.file_size().filter(|size| *size >= HEAD_BYTES as u64)?;
    let memory = file.map(0, HEAD_BYTES, None)?;
    let head: *mut Head = memory.cast();
    // SAFETY: `memory` is a mapping of `HEAD_BYTES`.
    let found = unsafe { &*head };
    let end = HEAD_BYTES as u64 + u64::from(found.places.load(Relaxed)) * PLACE_BYTES as u64;
    if found.magic.load(Relaxed) != MAGIC || size < end {
        calls::unmap(memory, HEAD_BYTES);
        return None;
    }
    HEAD.store(head, Relaxed);
    Some(found)
}

/// Returns the value of an environment variable.
fn environment_variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: environ(7) is a null-terminated vector of strings, or null.
    let mut variable = unsafe { environ };
    while !variable.is_null() {
        // SAFETY: as above.
        let entry = unsafe { *variable };
        if entry.is_null() {
            break;
        }
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        if let Some(value) = text.strip_prefix(name).and_then(|rest| rest.strip_prefix(b"=")) {
            return Some(value);
        }
        // SAFETY: this entry is not the terminating null pointer.
        variable = unsafe { variable.add(1) };
    }
    None
}

/// Ends watching, before the process may no longer read the time.
pub(crate) fn stop() {
    if end() {
        detach();
    }
}

/// Notes that the process ends by exit(3) or the return of `main`.
pub(crate) extern "C" fn on_exit() {
    if calls::are_forbidden() {
        note_end();
    } else {
        let _ = end();
    }
}

/// Notes that the process ends now. Returns whether it is known to be this process: a child of vfork(2), or of
/// _Fork(3), has the place of its parent, which goes on.
pub(crate) fn end() -> bool {
    // SAFETY: the mapping lasts as long as the process.
    let place = unsafe { PLACE.load(Relaxed).as_ref() };
    let is_own = place.is_some_and(|place| {
        let pid = place.process.pid.load(Relaxed);
        pid != 0 && pid == calls::getpid()
    });
    if is_own {
        note_end();
    }
    is_own
}

fn note_end() {
    // SAFETY: the mapping lasts as long as the process.
    if let Some(place) = unsafe { PLACE.load(Relaxed).as_ref() } {
        place.process.cpu.store(clock::process_cpu(), Relaxed);
        place.process.ended.store(clock::now(), Release);
    }
}
