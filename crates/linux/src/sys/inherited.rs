//! Descriptors that the program which started this one left open for it.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

/// A descriptor of one's own for what stands open under `number`; programs that are started inherit neither.
///
/// # Errors
/// EBADF where nothing stands open there.
pub fn inherited_descriptor(number: RawFd) -> io::Result<OwnedFd> {
    if number < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the number is not that of "no descriptor", and is only used for two calls that fail where nothing is open
    // under it; it is not closed here, so nobody else's descriptor is taken away.
    let there = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_setfd(there, fcntl_getfd(there)? | FdFlags::CLOEXEC)?;
    there.try_clone_to_owned()
}
