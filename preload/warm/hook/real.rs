//! The real functions, in the libraries after this one in the search order. They are looked up when they are first
//! needed.
//!
//! dlsym(3) takes a lock of the loader. fork(2) resets it in the child. The lock is recursive, and the child of
//! vfork(2) has the thread control block of its owner, so it can take the lock again. Therefore dlsym(3) can be called
//! wherever a program is started. A result is stored with one write, and is the same for every thread.

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

/// Looks up the NUL-terminated `name` unless the result is already stored.
#[inline(never)]
fn look_up(stored: &AtomicPtr<c_void>, handle: *mut c_void, name: &str) -> *mut c_void {
    let mut function = stored.load(Ordering::Relaxed);
    if function.is_null() {
        // SAFETY: the name is NUL-terminated.
        function = unsafe { dlsym(handle, name.as_ptr().cast()) };
        stored.store(function, Ordering::Relaxed);
    }
    function
}

macro_rules! functions {
    ($($name:ident)*) => {
        $(
            /// The real function; null where there is none.
            pub(crate) fn $name() -> *mut c_void {
                static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
                look_up(&FOUND, rtld_next(), concat!(stringify!($name), "\0"))
            }
        )*

        /// Looks up all functions.
        pub(crate) fn look_up_all() {
            environ();
            first_environment();
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

/// Returns the environment of the process: `environ` of the C library.
pub(crate) fn environ() -> *const *const c_char {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    let variable = look_up(&FOUND, RTLD_DEFAULT, "environ\0").cast::<*const *const c_char>();
    // SAFETY: the address is that of the C library's variable, or null.
    if variable.is_null() { ptr::null() } else { unsafe { *variable } }
}

/// Returns the environment that the process was started with, or null. It is on the stack behind the number of the
/// arguments, the arguments and a null pointer. The process may have changed it.
pub(crate) fn first_environment() -> *const *const c_char {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    let variable = look_up(&FOUND, RTLD_DEFAULT, "__libc_stack_end\0").cast::<*const usize>();
    if variable.is_null() {
        return ptr::null();
    }
    // SAFETY: the address is that of ld.so's variable, which contains the address of the number of arguments.
    unsafe { (*variable).add(**variable + 2).cast() }
}

/// Sets errno to ENOSYS and returns -1: the result of an interposed function that the C library does not have.
pub(crate) fn missing() -> c_int {
    const ENOSYS: c_int = 38;
    // SAFETY: errno is a variable of this thread.
    unsafe { *__errno_location() = ENOSYS };
    -1
}

/// Calls the real function of this name, which has this type; evaluates `$missing` if it does not exist.
macro_rules! real {
    ($name:ident($($argument:expr),*) as fn($($type:ty),*) -> $result:ty, else $missing:expr) => {{
        let function = $crate::real::$name();
        if function.is_null() {
            $missing
        } else {
            // SAFETY: the C library's function of this name has this type.
            let function: unsafe extern "C" fn($($type),*) -> $result = unsafe { core::mem::transmute(function) };
            // SAFETY: the arguments are those of the caller.
            unsafe { function($($argument),*) }
        }
    }};
}
pub(crate) use real;
