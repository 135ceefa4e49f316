//! Sockets: receives many datagrams with one system call, and counts dropped messages.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Receives the datagrams that are queued at a socket into equal pieces of `buffer`, at most one per element of
/// `lengths`, without waiting. Returns their number. Writes their lengths to `lengths`; `None` is a datagram that was
/// longer than its piece.
///
/// # Errors
/// EAGAIN if the queue is empty.
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
            // SAFETY: the structure is plain data, for which zero is valid and means no address and no control data.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect();
    let descriptor = socket.as_fd().as_raw_fd();
    let most = messages.len() as libc::c_uint;
    // SAFETY: `messages` has `most` headers. Each refers to one element of `pieces`, and that to a separate part of
    // `buffer`. All three outlive the call. The headers have no buffers for addresses or control data, so the kernel
    // writes nothing else.
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

/// Index of the number of dropped messages in `SO_MEMINFO` (linux/sock_diag.h).
const DROPS: usize = 8;
/// Number of values in `SO_MEMINFO`.
const NUMBERS: usize = 9;

/// Returns how many messages to this socket the kernel has dropped so far.
///
/// # Errors
/// ENOPROTOOPT before Linux 4.12.
pub(crate) fn dropped_messages(socket: impl AsFd) -> io::Result<u32> {
    let mut numbers = [0_u32; NUMBERS];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: `numbers` is valid for writing `length` bytes, and both outlive the call.
    let result = unsafe {
        libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_MEMINFO, numbers.as_mut_ptr().cast(), &raw mut length)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // An older kernel may return fewer values, without this one.
    if (length as usize) < size_of_val(&numbers) { Err(io::ErrorKind::Unsupported.into()) } else { Ok(numbers[DROPS]) }
}
