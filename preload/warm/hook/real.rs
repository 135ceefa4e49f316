//! The real functions: those of the libraries behind this one, found when they are first needed.
//!
//! dlsym(3) takes a lock of the loader's that fork(2) makes anew in the child, and whose owner's child by vfork(2) may take
//! it again; so it can be called wherever a program is started. What was found is stored with one write, and is the same
//! whoever finds it.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

#[link(name = "c")]
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

const RTLD_DEFAULT: *mut c_void = ptr::null_mut();

fn rtld_next() -> *mut c_void {
    ptr::without_provenance_mut(usize::MAX)
}

/// What was found, or is found now. Names end with a zero.
#[inline(never)]
fn found(place: &AtomicPtr<c_void>, handle: *mut c_void, name: &str) -> *mut c_void {
    let mut function = place.load(Ordering::Relaxed);
    if function.is_null() {
        // SAFETY: the name ends with a zero.
        function = unsafe { dlsym(handle, name.as_ptr().cast()) };
        place.store(function, Ordering::Relaxed);
    }
    function
}

macro_rules! functions {
    ($($name:ident)*) => {
        $(
            /// The real function; null where there is none.
            pub(crate) fn $name() -> *mut c_void {
                static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
                found(&FOUND, rtld_next(), concat!(stringify!($name), "\0"))
            }
        )*

        /// Finds them all.
        pub(crate) fn find_all() {
            environ();
            $(let _ = $name();)*
        }
    };
}

functions! {
    execve execv execvp execvpe execveat fexecve execl execlp execle posix_spawn posix_spawnp
    readlink readlinkat __readlink_chk __readlinkat_chk realpath __realpath_chk canonicalize_file_name
    open open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2 fopen fopen64 fclose
    stat stat64 fstatat fstatat64 statx
}

/// The environment of the process.
pub(crate) fn environ() -> *const *const c_char {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    let place = found(&FOUND, RTLD_DEFAULT, "environ\0").cast::<*const *const c_char>();
    // SAFETY: it is the C library's own variable, or none.
    if place.is_null() { ptr::null() } else { unsafe { *place } }
}

/// What a function returns that the C library does not have.
pub(crate) fn missing() -> c_int {
    const ENOSYS: c_int = 38;
    // SAFETY: each thread has its own errno.
    unsafe { *__errno_location() = ENOSYS };
    -1
}

/// Calls the real function of this name, which has this type.
macro_rules! real {
    ($name:ident($($argument:expr),*) as fn($($type:ty),*) -> $result:ty, else $missing:expr) => {{
        let function = $crate::real::$name();
        if function.is_null() {
            $missing
        } else {
            // SAFETY: the C library's function of this name has this type.
            let function: unsafe extern "C" fn($($type),*) -> $result = unsafe { core::mem::transmute(function) };
            // SAFETY: the caller gave what that function asks for.
            unsafe { function($($argument),*) }
        }
    }};
}
pub(crate) use real;
