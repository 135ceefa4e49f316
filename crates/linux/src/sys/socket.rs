//! What a socket knows of itself.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Where the number of messages that found no room stands among what `SO_MEMINFO` tells (linux/sock_diag.h), and how
/// many there are in all.
const DROPS: usize = 8;
const NUMBERS: usize = 9;

/// How many messages to this socket the kernel had to drop so far.
///
/// # Errors
/// ENOPROTOOPT before Linux 4.12.
pub(crate) fn dropped_messages(socket: impl AsFd) -> io::Result<u32> {
    let mut numbers = [0_u32; NUMBERS];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: `numbers` is valid for writing the `length` bytes that are stated, and both outlive the call.
    let told = unsafe {
        libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_MEMINFO, numbers.as_mut_ptr().cast(), &raw mut length)
    };
    if told != 0 {
        return Err(io::Error::last_os_error());
    }
    // A kernel that tells less does not tell this.
    if (length as usize) < size_of_val(&numbers) { Err(io::ErrorKind::Unsupported.into()) } else { Ok(numbers[DROPS]) }
}
