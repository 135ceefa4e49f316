//! Sockets: many datagrams by one system call, and how many messages were dropped.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Receives what waits at a socket into equal pieces of `buffer`, at most one for each of `lengths`, without waiting; how many
/// there were. Their lengths go to `lengths`; that of one that was longer than its piece is `None`.
///
/// # Errors
/// EAGAIN where nothing waits.
pub(crate) fn receive(socket: impl AsFd, buffer: &mut [u8], lengths: &mut [Option<usize>]) -> io::Result<usize> {
    let piece = buffer.len() / lengths.len().max(1);
    let mut pieces: Vec<libc::iovec> = buffer
        .chunks_exact_mut(piece.max(1))
        .take(lengths.len())
        .map(|piece| libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = pieces
        .iter_mut()
        .map(|piece| {
            // SAFETY: the structure is plain data, for which zeros mean: nothing of this kind.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect();
    let descriptor = socket.as_fd().as_raw_fd();
    let most = messages.len() as libc::c_uint;
    // SAFETY: `messages` holds `most` headers; each names one element of `pieces`, and that a part of `buffer` of its own. All
    // three outlive the call. No room for addresses or for what comes beside is given, so nothing else is written.
    let received = unsafe {
        libc::recvmmsg(descriptor, messages.as_mut_ptr(), most, libc::MSG_DONTWAIT as _, std::ptr::null_mut())
    };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    for (message, length) in messages.iter().zip(lengths.iter_mut()).take(received) {
        let is_cut = message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
        *length = (!is_cut).then_some(message.msg_len as usize);
    }
    Ok(received)
}

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
