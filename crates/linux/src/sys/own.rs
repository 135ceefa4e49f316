//! This process: what it was started with and Rust's runtime changes before `main`, what it was given open, how its memory is
//! laid out.
//!
//! Rust ignores SIGPIPE, and opens standard streams that are closed. A process that becomes another program gives that what it
//! was given itself.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::mm::{Advice, madvise};

use super::signals::{Disposition, dispose_raw, is_ignored};

/// Noted before `main`: a bit for each closed stream, and one for SIGPIPE.
static FOUND: AtomicU8 = AtomicU8::new(0);
const STREAMS: [i32; 3] = [0, 1, 2];
const IGNORED: u8 = 1 << 3;

/// Called by the C library before Rust's runtime begins.
extern "C" fn note() {
    let mut found = if is_ignored(libc::SIGPIPE) { IGNORED } else { 0 };
    for stream in STREAMS {
        // SAFETY: a plain system call, which fails where nothing is open under the number.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } < 0 {
            found |= 1 << stream;
        }
    }
    FOUND.store(found, Ordering::Relaxed);
}

// SAFETY: the section is the C library's list of functions to call at the start; this one needs nothing that is not there yet.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = note;

/// Whether standard output was closed when this process was started. Rust's runtime opens `/dev/null` in its place, so
/// writing to it succeeds and loses what is written.
pub fn stdout_was_closed() -> bool {
    FOUND.load(Ordering::Relaxed) & (1 << 1) != 0
}

/// Gives SIGPIPE and the streams back what they were.
pub(super) fn put_back() {
    let found = FOUND.load(Ordering::Relaxed);
    let pipe = if found & IGNORED == 0 { Disposition::Default } else { Disposition::Ignored };
    dispose_raw(libc::SIGPIPE, pipe);
    for stream in STREAMS.into_iter().filter(|stream| found & (1 << stream) != 0) {
        // Not closed: where the program cannot be executed, somebody has to hear of it.
        // SAFETY: a plain system call, which fails where nothing is open under the number.
        unsafe { libc::fcntl(stream, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Makes it again as Rust's runtime wants it.
pub(super) fn undo() {
    dispose_raw(libc::SIGPIPE, Disposition::Ignored);
}

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

/// Drops `length` bytes of pages at `start` from this process (madvise(2), `MADV_DONTNEED`); what is used again is read
/// from its file again.
///
/// The caller vouches, having read it in proc_pid_smaps(5), that all of it is one mapping of a file, not writable and
/// without dirty pages. Errors leave the pages where they are.
pub(crate) fn drop_clean_file_pages(start: usize, length: usize) {
    // SAFETY: pages of a file that were never written to hold what the file holds, so reading them again gives the
    // same bytes; nobody can write to them meanwhile, for the mapping is not writable.
    let _ = unsafe { madvise(std::ptr::with_exposed_provenance_mut(start), length, Advice::LinuxDontNeed) };
}

/// What personality(2) takes to change nothing.
const ASK: libc::c_ulong = 0xffff_ffff;

/// Has the kernel draw no addresses for programs that this process and its children execute from now on
/// (`ADDR_NO_RANDOMIZE` of personality(2)).
///
/// # Errors
/// EPERM in a sandbox that does not allow that.
pub fn fix_addresses() -> io::Result<()> {
    // SAFETY: the call takes a number and touches no memory of this process.
    let now = unsafe { libc::personality(ASK) };
    if now < 0 {
        return Err(io::Error::last_os_error());
    }
    let wanted = now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
    // SAFETY: as above.
    if unsafe { libc::personality(wanted) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
