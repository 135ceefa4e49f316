//! Functions that look at a file: where that is the program's own, by way of `/proc`, a program that runs from a snapshot
//! is shown its own file in place of the snapshot.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;

use crate::own;
use crate::pointers::may_lead;
use crate::real::{self, real};

type Path = *const c_char;

/// The path to be looked at.
///
/// # Safety
///
/// The path is null or a text.
unsafe fn seen(path: Path) -> Path {
    if !may_lead(path) {
        return path;
    }
    // SAFETY: it is a text then.
    own::instead(unsafe { CStr::from_ptr(path) }).map_or(path, CStr::as_ptr)
}

/// What the link holds, if it is the one to the program's own file: as readlink(2) has it.
///
/// # Safety
///
/// The path is null or a text, and there is room for so many bytes.
unsafe fn link(path: Path, into: *mut c_char, bytes: usize) -> Option<isize> {
    // SAFETY: the caller vouches for it.
    let program = unsafe { seen(path) };
    if program == path || bytes == 0 || !may_lead(into) {
        return None;
    }
    // SAFETY: both are texts, and no more is written than there is room for.
    unsafe {
        let length = CStr::from_ptr(program).count_bytes().min(bytes);
        ptr::copy_nonoverlapping(program, into, length);
        Some(length as isize)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readlink(path: Path, into: *mut c_char, bytes: usize) -> isize {
    // SAFETY: the caller has it as readlink(2) does; likewise below.
    if let Some(length) = unsafe { link(path, into, bytes) } {
        return length;
    }
    real!(readlink(path, into, bytes) as fn(Path, *mut c_char, usize) -> isize, else real::missing() as isize)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readlinkat(folder: c_int, path: Path, into: *mut c_char, bytes: usize) -> isize {
    // SAFETY: as above.
    if let Some(length) = unsafe { link(path, into, bytes) } {
        return length;
    }
    real!(
        readlinkat(folder, path, into, bytes) as fn(c_int, Path, *mut c_char, usize) -> isize,
        else real::missing() as isize
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __readlink_chk(path: Path, into: *mut c_char, bytes: usize, room: usize) -> isize {
    if bytes <= room
        // SAFETY: as above.
        && let Some(length) = unsafe { link(path, into, bytes) }
    {
        return length;
    }
    real!(
        __readlink_chk(path, into, bytes, room) as fn(Path, *mut c_char, usize, usize) -> isize,
        else real::missing() as isize
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __readlinkat_chk(
    folder: c_int,
    path: Path,
    into: *mut c_char,
    bytes: usize,
    room: usize,
) -> isize {
    if bytes <= room
        // SAFETY: as above.
        && let Some(length) = unsafe { link(path, into, bytes) }
    {
        return length;
    }
    real!(
        __readlinkat_chk(folder, path, into, bytes, room) as fn(c_int, Path, *mut c_char, usize, usize) -> isize,
        else real::missing() as isize
    )
}

/// Functions that are called with another path, and otherwise with the same. Where a function takes a mode only sometimes,
/// it is handed on always: it comes in a register, which nobody looks at where none was given.
macro_rules! looking {
    ($($name:ident([$($before:ident: $before_type:ty)?] $(, $after:ident: $after_type:ty)*) -> $result:ty, else $missing:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($before: $before_type,)? path: Path $(, $after: $after_type)*) -> $result {
            // SAFETY: the caller gave null or a text.
            let path = unsafe { seen(path) };
            real!($name($($before,)? path $(, $after)*) as fn($($before_type,)? Path $(, $after_type)*) -> $result, else $missing)
        }
    )*};
}

/// What fopen(3) and realpath(3) return if they are missing.
fn none() -> *mut c_void {
    real::missing();
    ptr::null_mut()
}

looking! {
    open([], flags: c_int, mode: c_uint) -> c_int, else real::missing();
    open64([], flags: c_int, mode: c_uint) -> c_int, else real::missing();
    __open_2([], flags: c_int) -> c_int, else real::missing();
    __open64_2([], flags: c_int) -> c_int, else real::missing();
    openat([folder: c_int], flags: c_int, mode: c_uint) -> c_int, else real::missing();
    openat64([folder: c_int], flags: c_int, mode: c_uint) -> c_int, else real::missing();
    __openat_2([folder: c_int], flags: c_int) -> c_int, else real::missing();
    __openat64_2([folder: c_int], flags: c_int) -> c_int, else real::missing();
    stat([], into: *mut c_void) -> c_int, else real::missing();
    stat64([], into: *mut c_void) -> c_int, else real::missing();
    fstatat([folder: c_int], into: *mut c_void, flags: c_int) -> c_int, else real::missing();
    fstatat64([folder: c_int], into: *mut c_void, flags: c_int) -> c_int, else real::missing();
    statx([folder: c_int], flags: c_int, mask: c_uint, into: *mut c_void) -> c_int, else real::missing();
    fopen([], mode: Path) -> *mut c_void, else none();
    fopen64([], mode: Path) -> *mut c_void, else none();
    realpath([], into: *mut c_char) -> *mut c_void, else none();
    __realpath_chk([], into: *mut c_char, room: usize) -> *mut c_void, else none();
    canonicalize_file_name([]) -> *mut c_void, else none();
}
