//! Functions that look at a file: where that is a snapshot that a process runs from, by way of `/proc/PID/exe`, programs are shown the
//! file of the process's program in its place. So they find services by their files.
//!
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;

use crate::calls::AT_FDCWD;
use crate::own::{self, File};
use crate::pointers::Prober;
use crate::real::{self, real};

type Path = *const c_char;

/// The program's file, if the path leads to a snapshot by way of `/proc`.
///
/// # Safety
///
/// The path is a text.
unsafe fn file(folder: c_int, path: Path) -> Option<File> {
    // SAFETY: the caller vouches for it.
    own::instead_of_any(folder, unsafe { CStr::from_ptr(path) })
}

/// What the link holds, where it leads to a snapshot: the path of the program's file; otherwise what `real` makes of it, which is given how many
/// bytes it may write.
fn link(folder: c_int, path: Path, into: *mut c_char, bytes: usize, real: impl Fn(usize) -> isize) -> isize {
    let mut file = Prober::new().text(path).and_then(|path| own::instead_of_any(folder, path));
    let Some(program) = file.as_mut().and_then(File::path).map(CStr::to_bytes) else {
        return real(bytes);
    };
    // It says whether there is such memory, of which no more is changed than should be.
    let length = program.len().min(bytes);
    let written = real(length);
    if written < 0 {
        return written;
    }
    // SAFETY: the caller has room for so many bytes, and what lies within this library is not there.
    unsafe { ptr::copy_nonoverlapping(program.as_ptr().cast(), into, length) };
    length as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readlink(path: Path, into: *mut c_char, bytes: usize) -> isize {
    link(
        AT_FDCWD,
        path,
        into,
        bytes,
        |bytes| real!(readlink(path, into, bytes) as fn(Path, *mut c_char, usize) -> isize, else real::missing() as isize),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readlinkat(folder: c_int, path: Path, into: *mut c_char, bytes: usize) -> isize {
    link(folder, path, into, bytes, |bytes| {
        real!(
            readlinkat(folder, path, into, bytes) as fn(c_int, Path, *mut c_char, usize) -> isize,
            else real::missing() as isize
        )
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __readlink_chk(path: Path, into: *mut c_char, bytes: usize, room: usize) -> isize {
    if bytes <= room {
        // SAFETY: there is room for so many bytes.
        return unsafe { readlink(path, into, bytes) };
    }
    // It ends the program.
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
    if bytes <= room {
        // SAFETY: there is room for so many bytes.
        return unsafe { readlinkat(folder, path, into, bytes) };
    }
    // It ends the program.
    real!(
        __readlinkat_chk(folder, path, into, bytes, room) as fn(c_int, Path, *mut c_char, usize, usize) -> isize,
        else real::missing() as isize
    )
}

/// The folder that a path is relative to.
macro_rules! folder_of {
    () => {
        AT_FDCWD
    };
    ($folder:ident) => {
        $folder
    };
}

/// Functions that are called again with the program's own path if they have succeeded with the snapshot's: then the path can
/// be read. Where a function takes a mode only sometimes, it is handed on always: it comes in a register, which nobody looks at where none
/// was given.
macro_rules! looking {
    ($($name:ident([$($before:ident: $before_type:ty)?] $(, $after:ident: $after_type:ty)*) -> $result:ty, by $kind:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($before: $before_type,)? path: Path $(, $after: $after_type)*) -> $result {
            let call = |path: Path| -> $result {
                real!(
                    $name($($before,)? path $(, $after)*) as fn($($before_type,)? Path $(, $after_type)*) -> $result,
                    else $kind::missing()
                )
            };
            let result = call(path);
            if $kind::failed(result) {
                return result;
            }
            // SAFETY: the kernel has read the path.
            let mut file = unsafe { file(folder_of!($($before)?), path) };
            match file.as_mut().and_then(File::path) {
                None => result,
                Some(program) => {
                    $kind::undo(result);
                    call(program.as_ptr())
                }
            }
        }
    )*};
}

/// Functions that return a descriptor.
mod opening {
    use super::{c_int, real};

    pub(super) fn missing() -> c_int {
        real::missing()
    }

    pub(super) fn failed(result: c_int) -> bool {
        result < 0
    }

    pub(super) fn undo(result: c_int) {
        crate::calls::close(result);
    }
}

/// Functions that return 0.
mod asking {
    pub(super) use super::opening::{failed, missing};

    pub(super) fn undo(_: super::c_int) {}
}

/// Functions that return a stream.
mod streaming {
    use super::{c_int, c_void, ptr, real};

    pub(super) fn missing() -> *mut c_void {
        real::missing();
        ptr::null_mut()
    }

    pub(super) fn failed(result: *mut c_void) -> bool {
        result.is_null()
    }

    pub(super) fn undo(result: *mut c_void) {
        real!(fclose(result) as fn(*mut c_void) -> c_int, else real::missing());
    }
}

/// realpath(3) and its like, which read the path themselves: they are called with another path instead.
macro_rules! naming {
    ($($name:ident([] $(, $after:ident: $after_type:ty)*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: Path $(, $after: $after_type)*) -> *mut c_void {
            // SAFETY: what is not null is a text.
            let mut file = if path.is_null() { None } else { unsafe { file(AT_FDCWD, path) } };
            let path = file.as_mut().and_then(File::path).map_or(path, CStr::as_ptr);
            real!($name(path $(, $after)*) as fn(Path $(, $after_type)*) -> *mut c_void, else streaming::missing())
        }
    )*};
}

naming! {
    realpath([], into: *mut c_char);
    __realpath_chk([], into: *mut c_char, room: usize);
    canonicalize_file_name([]);
}

looking! {
    open([], flags: c_int, mode: c_uint) -> c_int, by opening;
    open64([], flags: c_int, mode: c_uint) -> c_int, by opening;
    __open_2([], flags: c_int) -> c_int, by opening;
    __open64_2([], flags: c_int) -> c_int, by opening;
    openat([folder: c_int], flags: c_int, mode: c_uint) -> c_int, by opening;
    openat64([folder: c_int], flags: c_int, mode: c_uint) -> c_int, by opening;
    __openat_2([folder: c_int], flags: c_int) -> c_int, by opening;
    __openat64_2([folder: c_int], flags: c_int) -> c_int, by opening;
    stat([], into: *mut c_void) -> c_int, by asking;
    stat64([], into: *mut c_void) -> c_int, by asking;
    fstatat([folder: c_int], into: *mut c_void, flags: c_int) -> c_int, by asking;
    fstatat64([folder: c_int], into: *mut c_void, flags: c_int) -> c_int, by asking;
    statx([folder: c_int], flags: c_int, mask: c_uint, into: *mut c_void) -> c_int, by asking;
    fopen([], mode: Path) -> *mut c_void, by streaming;
    fopen64([], mode: Path) -> *mut c_void, by streaming;
}
