//! Functions that take the path of a file: if that is `/proc/PID/exe` of a process that runs from a snapshot, they use
//! the program's file instead of the snapshot. Programs find services by these links.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;

use crate::calls::AT_FDCWD;
use crate::pointers::Prober;
use crate::proc_exe::{self, ProgramFile};
use crate::real::{self, real};

type Path = *const c_char;

/// The flag of open(2) for the link itself, on x86-64.
const O_NOFOLLOW: c_int = 0o400_000;
/// The flag of fstatat(2) and statx(2) for the link itself.
const AT_SYMLINK_NOFOLLOW: c_int = 0x100;

/// Returns the program's file, if the path is a link in `/proc` to a snapshot.
///
/// # Safety
///
/// The path must be a NUL-terminated string.
unsafe fn program_file(directory: c_int, path: Path) -> Option<ProgramFile> {
    // SAFETY: guaranteed by the caller.
    proc_exe::program_of_link(directory, unsafe { CStr::from_ptr(path) })
}

/// Implements readlink(2): writes the program's path if the link leads to a snapshot, otherwise calls `real` with the
/// size of the buffer.
fn read_link(directory: c_int, path: Path, into: *mut c_char, bytes: usize, real: impl Fn(usize) -> isize) -> isize {
    let mut file = Prober::new().text(path).and_then(|path| proc_exe::program_of_link(directory, path));
    let Some(program) = file.as_mut().and_then(ProgramFile::path).map(CStr::to_bytes) else {
        return real(bytes);
    };
    // The real function checks the buffer. It writes at most as many bytes as the result has.
    let length = program.len().min(bytes);
    let written = real(length);
    if written < 0 {
        return written;
    }
    // SAFETY: the buffer has that many bytes and does not overlap this library's memory.
    unsafe { ptr::copy_nonoverlapping(program.as_ptr().cast(), into, length) };
    length as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readlink(path: Path, into: *mut c_char, bytes: usize) -> isize {
    read_link(
        AT_FDCWD,
        path,
        into,
        bytes,
        |bytes| real!(readlink(path, into, bytes) as fn(Path, *mut c_char, usize) -> isize, else real::missing() as isize),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readlinkat(directory: c_int, path: Path, into: *mut c_char, bytes: usize) -> isize {
    read_link(directory, path, into, bytes, |bytes| {
        real!(
            readlinkat(directory, path, into, bytes) as fn(c_int, Path, *mut c_char, usize) -> isize,
            else real::missing() as isize
        )
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __readlink_chk(path: Path, into: *mut c_char, bytes: usize, room: usize) -> isize {
    if bytes <= room {
        // SAFETY: the buffer has that many bytes.
        return unsafe { readlink(path, into, bytes) };
    }
    // The buffer is too small: the real function aborts the program.
    real!(
        __readlink_chk(path, into, bytes, room) as fn(Path, *mut c_char, usize, usize) -> isize,
        else real::missing() as isize
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __readlinkat_chk(
    directory: c_int,
    path: Path,
    into: *mut c_char,
    bytes: usize,
    room: usize,
) -> isize {
    if bytes <= room {
        // SAFETY: the buffer has that many bytes.
        return unsafe { readlinkat(directory, path, into, bytes) };
    }
    // The buffer is too small: the real function aborts the program.
    real!(
        __readlinkat_chk(directory, path, into, bytes, room) as fn(c_int, Path, *mut c_char, usize, usize) -> isize,
        else real::missing() as isize
    )
}

/// The directory that a path is relative to.
macro_rules! directory_of {
    () => {
        AT_FDCWD
    };
    ($directory:ident) => {
        $directory
    };
}

/// Defines functions that are called again with the program's own path if they succeed with the path of the snapshot.
/// Their success shows that the path is readable. With the flag after `unless`, they look at the link itself, and their
/// result stays. An optional `mode` is always passed on: it is in a register, which the real function ignores if there
/// is no mode.
macro_rules! path_functions {
    ($($name:ident([$($before:ident: $before_type:ty)?] $(, $after:ident: $after_type:ty)*) -> $result:ty, by $kind:ident $(, unless $flags:ident has $flag:ident)?;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($before: $before_type,)? path: Path $(, $after: $after_type)*) -> $result {
            let call = |path: Path| -> $result {
                real!(
                    $name($($before,)? path $(, $after)*) as fn($($before_type,)? Path $(, $after_type)*) -> $result,
                    else $kind::missing()
                )
            };
            let result = call(path);
            // With AT_EMPTY_PATH, there may be no path.
            if $kind::failed(result) || path.is_null() $(|| $flags & $flag != 0)? {
                return result;
            }
            // SAFETY: the kernel has read the path.
            let mut file = unsafe { program_file(directory_of!($($before)?), path) };
            match file.as_mut().and_then(ProgramFile::path) {
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
mod descriptor {
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
mod status {
    pub(super) use super::descriptor::{failed, missing};

    pub(super) fn undo(_: super::c_int) {}
}

/// Functions that return a stream.
mod stream {
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

/// Defines realpath(3) and similar functions, which read the path themselves: they are called with the program's path
/// instead.
macro_rules! realpath_functions {
    ($($name:ident([] $(, $after:ident: $after_type:ty)*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: Path $(, $after: $after_type)*) -> *mut c_void {
            // SAFETY: a pointer that is not null is a string.
            let mut file = if path.is_null() { None } else { unsafe { program_file(AT_FDCWD, path) } };
            let path = file.as_mut().and_then(ProgramFile::path).map_or(path, CStr::as_ptr);
            real!($name(path $(, $after)*) as fn(Path $(, $after_type)*) -> *mut c_void, else stream::missing())
        }
    )*};
}

realpath_functions! {
    realpath([], into: *mut c_char);
    __realpath_chk([], into: *mut c_char, room: usize);
    canonicalize_file_name([]);
}

path_functions! {
    open([], flags: c_int, mode: c_uint) -> c_int, by descriptor, unless flags has O_NOFOLLOW;
    open64([], flags: c_int, mode: c_uint) -> c_int, by descriptor, unless flags has O_NOFOLLOW;
    __open_2([], flags: c_int) -> c_int, by descriptor, unless flags has O_NOFOLLOW;
    __open64_2([], flags: c_int) -> c_int, by descriptor, unless flags has O_NOFOLLOW;
    openat([directory: c_int], flags: c_int, mode: c_uint) -> c_int, by descriptor, unless flags has O_NOFOLLOW;
    openat64([directory: c_int], flags: c_int, mode: c_uint) -> c_int, by descriptor, unless flags has O_NOFOLLOW;
    __openat_2([directory: c_int], flags: c_int) -> c_int, by descriptor, unless flags has O_NOFOLLOW;
    __openat64_2([directory: c_int], flags: c_int) -> c_int, by descriptor, unless flags has O_NOFOLLOW;
    stat([], into: *mut c_void) -> c_int, by status;
    stat64([], into: *mut c_void) -> c_int, by status;
    fstatat([directory: c_int], into: *mut c_void, flags: c_int) -> c_int, by status, unless flags has AT_SYMLINK_NOFOLLOW;
    fstatat64([directory: c_int], into: *mut c_void, flags: c_int) -> c_int, by status, unless flags has AT_SYMLINK_NOFOLLOW;
    statx([directory: c_int], flags: c_int, mask: c_uint, into: *mut c_void) -> c_int, by status, unless flags has AT_SYMLINK_NOFOLLOW;
    fopen([], mode: Path) -> *mut c_void, by stream;
    fopen64([], mode: Path) -> *mut c_void, by stream;
}
