//! The real functions: those of the libraries behind this one, all found before anything is counted.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

#[link(name = "c")]
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// What a function returns that the C library does not have.
pub(crate) const ENOSYS: c_int = 38;

/// Finds one, and keeps it; null where there is none. Names end with a zero.
///
/// Conditions have been of two kinds since version 2.3.2 of the C library, and some loaders give the old one to who does not ask
/// for a version. Of what came later there is one kind. Nothing may be asked for in vain: the loader would allocate memory to say
/// so, perhaps for an allocator that takes its very first lock right now.
#[cold]
#[inline(never)]
pub(crate) fn find(place: &AtomicPtr<c_void>, name: &str) -> *mut c_void {
    let next: *mut c_void = ptr::without_provenance_mut(usize::MAX);
    let mut function = ptr::null_mut();
    if name.starts_with("pthread_cond_") && !name.starts_with("pthread_cond_clock") {
        // SAFETY: the names end with a zero.
        function = unsafe { dlvsym(next, name.as_ptr().cast(), c"GLIBC_2.3.2".as_ptr()) };
    }
    if function.is_null() {
        // SAFETY: the name ends with a zero.
        function = unsafe { dlsym(next, name.as_ptr().cast()) };
    }
    place.store(function, Ordering::Relaxed);
    function
}

/// Where the C library says that there is one thread, or where nothing ever does.
static SINGLE: AtomicPtr<c_void> = AtomicPtr::new((&raw const NOT_SINGLE).cast_mut().cast());
static NOT_SINGLE: u8 = 0;

/// Whether this is the only thread, as far as the C library knows.
#[inline(always)]
pub(crate) fn is_single_threaded() -> bool {
    let place: *const AtomicU8 = SINGLE.load(Ordering::Relaxed).cast_const().cast();
    // SAFETY: it is the C library's, or our own.
    unsafe { &*place }.load(Ordering::Relaxed) != 0
}

fn find_single() {
    // SAFETY: the name ends with a zero.
    let place = unsafe { dlsym(ptr::null_mut(), c"__libc_single_threaded".as_ptr()) };
    if !place.is_null() {
        SINGLE.store(place, Ordering::Relaxed);
    }
}

macro_rules! functions {
    ($($name:ident)*) => {
        $(
            /// The real function; null where there is none.
            #[inline(always)]
            pub(crate) fn $name() -> *mut c_void {
                let function = found::$name.load(Ordering::Relaxed);
                if function.is_null() { find(&found::$name, concat!(stringify!($name), "\0")) } else { function }
            }
        )*

        #[allow(non_upper_case_globals)]
        mod found {
            use super::{AtomicPtr, c_void, ptr};
            $(pub(super) static $name: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());)*
        }

        /// Finds them all.
        pub(crate) fn find_all() {
            $(let _ = $name();)*
            find_single();
        }
    };
}

// What an allocator may call while others are looked for stands first.
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
    prctl syscall
}

/// Calls the real function of this name, which takes these and returns an int.
macro_rules! real {
    ($name:ident($($argument:ident: $type:ty),*)) => {{
        let function = $crate::real::$name();
        if function.is_null() {
            $crate::real::ENOSYS
        } else {
            type Real = unsafe extern "C" fn($($type),*) -> core::ffi::c_int;
            // SAFETY: the C library's function of this name has this type.
            let function: Real = unsafe { core::mem::transmute(function) };
            // SAFETY: the caller gave what that function asks for.
            unsafe { function($($argument),*) }
        }
    }};
}
pub(crate) use real;
