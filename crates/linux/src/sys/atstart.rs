//! What this process was started with and Rust's runtime changes before `main`: SIGPIPE, which it ignores, and standard
//! streams that are closed, which it opens. Who becomes another program gives that what it was given itself.

use std::sync::atomic::{AtomicU8, Ordering};

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
