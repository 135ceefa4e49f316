//! The real functions, in the libraries after this one in the search order. All are looked up before anything is
//! counted.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

#[link(name = "c")]
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// The result of an interposed function that the C library does not have.
pub(crate) const ENOSYS: c_int = 38;

/// Looks up the function `name`, which is NUL-terminated, and stores its address; null if there is none.
///
/// Condition variables exist in two versions since glibc 2.3.2, and some loaders return the old one for a name without
/// a version. Later functions have one version. A lookup with dlvsym(3) must not fail: the loader would allocate memory
/// for dlerror(3), and the caller may be an allocator that is acquiring its first lock.
#[cold]
#[inline(never)]
pub(crate) fn look_up(stored: &AtomicPtr<c_void>, name: &str) -> *mut c_void {
    let next: *mut c_void = ptr::without_provenance_mut(usize::MAX);
    let mut function = ptr::null_mut();
    if name.starts_with("pthread_cond_") && !name.starts_with("pthread_cond_clock") {
        // SAFETY: both strings are NUL-terminated.
        function = unsafe { dlvsym(next, name.as_ptr().cast(), c"GLIBC_2.3.2".as_ptr()) };
    }
    if function.is_null() {
        // SAFETY: the name is NUL-terminated.
        function = unsafe { dlsym(next, name.as_ptr().cast()) };
    }
    stored.store(function, Ordering::Relaxed);
    function
}

/// The address of `__libc_single_threaded`, or of a zero where the C library has no such variable.
static SINGLE: AtomicPtr<c_void> = AtomicPtr::new((&raw const NOT_SINGLE).cast_mut().cast());
static NOT_SINGLE: u8 = 0;

/// Returns whether this is the only thread, as far as the C library knows.
#[inline(always)]
pub(crate) fn is_single_threaded() -> bool {
    let flag: *const AtomicU8 = SINGLE.load(Ordering::Relaxed).cast_const().cast();
    // SAFETY: the address is that of a byte of the C library or of this library.
    unsafe { &*flag }.load(Ordering::Relaxed) != 0
}

fn find_single() {
    // SAFETY: the name is NUL-terminated.
    let flag = unsafe { dlsym(ptr::null_mut(), c"__libc_single_threaded".as_ptr()) };
    if !flag.is_null() {
        SINGLE.store(flag, Ordering::Relaxed);
    }
}

macro_rules! functions {
    ($($name:ident)*) => {
        $(
            /// The real function; null where there is none.
            #[allow(non_snake_case)]
            #[inline(always)]
            pub(crate) fn $name() -> *mut c_void {
                let function = addresses::$name.load(Ordering::Relaxed);
                if function.is_null() { look_up(&addresses::$name, concat!(stringify!($name), "\0")) } else { function }
            }
        )*

        #[allow(non_upper_case_globals)]
        mod addresses {
            use super::{AtomicPtr, c_void, ptr};
            $(pub(super) static $name: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());)*
        }

        /// Looks up all functions.
        pub(crate) fn look_up_all() {
            $(let _ = $name();)*
            find_single();
        }
    };
}

// An allocator may call the first ones while the others are looked up.
functions! {
    pthread_mutex_lock pthread_mutex_unlock pthread_mutex_trylock pthread_mutex_init pthread_mutex_destroy
    clock_gettime
    pthread_mutex_timedlock pthread_mutex_clocklock
    pthread_rwlock_init pthread_rwlock_destroy pthread_rwlock_unlock
    pthread_rwlock_rdlock pthread_rwlock_tryrdlock pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock
    pthread_rwlock_wrlock pthread_rwlock_trywrlock pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock
    pthread_spin_init pthread_spin_destroy pthread_spin_lock pthread_spin_trylock pthread_spin_unlock
    pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait pthread_cond_destroy
    sem_init sem_destroy sem_wait sem_trywait sem_timedwait sem_clockwait
    pthread_create pthread_join pthread_timedjoin_np pthread_clockjoin_np
    mtx_init thrd_create thrd_join
    prctl syscall _exit _Exit quick_exit
}

/// Calls the real function of this name with these arguments. Returns its result, an int; ENOSYS if it does not exist.
macro_rules! real {
    ($name:ident($($argument:ident: $type:ty),*)) => {{
        let function = $crate::real::$name();
        if function.is_null() {
            $crate::real::ENOSYS
        } else {
            type Real = unsafe extern "C" fn($($type),*) -> core::ffi::c_int;
            // SAFETY: the C library's function of this name has this type.
            let function: Real = unsafe { core::mem::transmute(function) };
            // SAFETY: the arguments are those of the caller.
            unsafe { function($($argument),*) }
        }
    }};
}
pub(crate) use real;
