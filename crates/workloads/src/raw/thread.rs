//! Threads as the C library makes them, without what a language puts on top.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// pthread_create(3) of a thread that returns `value` plus one, and pthread_join(3); what it returned.
#[inline(always)]
pub(crate) fn start_and_join(value: usize) -> io::Result<usize> {
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    let mut result: *mut c_void = ptr::null_mut();
    // SAFETY: `thread` and `result` are valid for writing; the argument is a number and points to nothing; the thread that
    // is joined was just made, and by nobody else.
    unsafe {
        let argument = ptr::without_provenance_mut(value);
        checked(libc::pthread_create(thread.as_mut_ptr(), ptr::null(), add_one, argument))?;
        checked(libc::pthread_join(thread.assume_init(), &mut result))?;
    }
    Ok(result.addr())
}

extern "C" fn add_one(value: *mut c_void) -> *mut c_void {
    ptr::without_provenance_mut(value.addr().wrapping_add(1))
}

fn checked(error: libc::c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}
