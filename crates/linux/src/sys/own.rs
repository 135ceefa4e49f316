//! This process: its state before Rust's runtime changed it, inherited descriptors, and its memory layout.
//!
//! Rust's runtime ignores SIGPIPE, and opens standard streams that are closed. This process does not ignore SIGCHLD. A
//! process that executes another program must pass on the state that it was started with.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::mm::{Advice, madvise};

use super::signals::{Disposition, dispose_raw, is_ignored};

/// State before `main`: a bit for each closed standard stream, and one for each signal that is ignored.
static FOUND: AtomicU8 = AtomicU8::new(0);
const STREAMS: [i32; 3] = [0, 1, 2];

/// A signal whose disposition this process changes.
struct Changed {
    signal: i32,
    /// The bit of [`FOUND`].
    bit: u8,
    /// The disposition in this process.
    own: Disposition,
}

/// Rust's runtime ignores SIGPIPE. SIGCHLD must not be ignored in this process and the programs that it measures: the
/// kernel would reap their children, whose CPU time would be lost.
const SIGNALS: [Changed; 2] = [
    Changed { signal: libc::SIGPIPE, bit: 1 << 3, own: Disposition::Ignored },
    Changed { signal: libc::SIGCHLD, bit: 1 << 4, own: Disposition::Default },
];

/// Records the state. The C library calls it before Rust's runtime starts.
extern "C" fn note() {
    let mut found = 0;
    for Changed { signal, bit, .. } in SIGNALS {
        found |= if is_ignored(signal) { bit } else { 0 };
    }
    dispose_raw(libc::SIGCHLD, Disposition::Default);
    for stream in STREAMS {
        // SAFETY: the system call takes numbers, and fails if the descriptor is not open.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } < 0 {
            found |= 1 << stream;
        }
    }
    FOUND.store(found, Ordering::Relaxed);
}

// SAFETY: the section is the C library's list of functions to call at start. This function uses nothing that is not
// initialised then.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = note;

/// Returns whether standard output was closed when this process started. Rust's runtime opens `/dev/null` in its place,
/// so writes succeed and their data is lost.
pub fn stdout_was_closed() -> bool {
    FOUND.load(Ordering::Relaxed) & (1 << 1) != 0
}

/// Returns whether SIGPIPE was ignored when this process started.
pub(crate) fn sigpipe_was_ignored() -> bool {
    let found = FOUND.load(Ordering::Relaxed);
    SIGNALS.iter().any(|changed| changed.signal == libc::SIGPIPE && found & changed.bit != 0)
}

/// Restores the signals and the standard streams to the state before `main`.
pub(super) fn restore() {
    let found = FOUND.load(Ordering::Relaxed);
    for Changed { signal, bit, .. } in SIGNALS {
        dispose_raw(signal, if found & bit == 0 { Disposition::Default } else { Disposition::Ignored });
    }
    for stream in STREAMS.into_iter().filter(|stream| found & (1 << stream) != 0) {
        // Close it at the exec and not now, so that an error of the exec can still be printed.
        // SAFETY: the system call takes numbers, and fails if the descriptor is not open.
        unsafe { libc::fcntl(stream, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Sets the dispositions that the signals have in this process, after [`restore`].
pub(super) fn change_again() {
    SIGNALS.iter().for_each(|changed| dispose_raw(changed.signal, changed.own));
}

/// Duplicates the descriptor `number`. Both descriptors are closed in programs that this process starts.
///
/// # Errors
/// EBADF if the descriptor is not open.
pub fn inherited_descriptor(number: RawFd) -> io::Result<OwnedFd> {
    if number < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the number is not negative. It is used only for calls that fail if the descriptor is not open. It is not
    // closed here, so its owner keeps it.
    let inherited = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_setfd(inherited, fcntl_getfd(inherited)? | FdFlags::CLOEXEC)?;
    inherited.try_clone_to_owned()
}

/// Drops the pages of `length` bytes at `start` from this process (madvise(2), `MADV_DONTNEED`). The kernel reads them
/// from their file again if they are used.
///
/// The caller must have checked in proc_pid_smaps(5) that the range is one mapping of a file, not writable and without
/// dirty pages. After an error the pages stay.
pub(crate) fn drop_clean_file_pages(start: usize, length: usize) {
    // SAFETY: pages of a file that were never written contain the file's content, so reading them again gives the same
    // bytes. The mapping is not writable, so nothing can write to them in between.
    let _ = unsafe { madvise(std::ptr::with_exposed_provenance_mut(start), length, Advice::LinuxDontNeed) };
}

/// Argument of personality(2) that returns the current value and changes nothing.
const QUERY: libc::c_ulong = 0xffff_ffff;

/// Turns off address space randomisation for programs that this process and its children execute from now on
/// (`ADDR_NO_RANDOMIZE` of personality(2)).
///
/// # Errors
/// EPERM if a sandbox forbids it.
pub fn fix_addresses() -> io::Result<()> {
    // SAFETY: the call takes a number and touches no memory of this process.
    let now = unsafe { libc::personality(QUERY) };
    if now < 0 {
        return Err(io::Error::last_os_error());
    }
    let wanted = now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
    // SAFETY: the call takes a number and touches no memory of this process.
    if unsafe { libc::personality(wanted) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
