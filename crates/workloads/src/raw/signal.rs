//! A signal that a thread sends to itself, with a handler that counts.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of times that the handler has run.
static HANDLED: AtomicU64 = AtomicU64::new(0);
/// Whether the handler is installed. There is one for the whole process.
static TAKEN: AtomicBool = AtomicBool::new(false);

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// The installed handler of a real-time signal that this thread does not block. Dropping it restores the previous
/// state.
pub(crate) struct Handled {
    signal: libc::c_int,
    action: libc::sigaction,
    mask: libc::sigset_t,
}

/// The calling thread as the target of the signal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    process: libc::pid_t,
    thread: libc::pid_t,
    signal: libc::c_int,
}

impl Handled {
    /// Installs the handler, unless it is in use.
    pub(crate) fn install() -> io::Result<Self> {
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(io::Error::other("the signal handler is already in use"));
        }
        // A signal that neither the C library nor other software customarily uses.
        let signal = libc::SIGRTMIN() + 7;
        Self::set_up(signal).inspect_err(|_| TAKEN.store(false, Ordering::SeqCst))
    }

    fn set_up(signal: libc::c_int) -> io::Result<Self> {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the structures are plain data and valid during the calls. The handler only adds to an atomic, which
        // is async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            if libc::sigaction(signal, &action, before.as_mut_ptr()) < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut unblocked: libc::sigset_t = zeroed();
            let mut mask: libc::sigset_t = zeroed();
            libc::sigemptyset(&mut unblocked);
            libc::sigaddset(&mut unblocked, signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &unblocked, &mut mask);
            Ok(Handled { signal, action: before.assume_init(), mask })
        }
    }

    /// Returns how often the handler has run.
    pub(crate) fn count(&self) -> u64 {
        HANDLED.load(Ordering::Relaxed)
    }

    /// Returns the calling thread as a target.
    pub(crate) fn target(&self) -> Target {
        // SAFETY: both calls take no arguments and change nothing.
        unsafe { Target { process: libc::getpid(), thread: libc::gettid(), signal: self.signal } }
    }
}

impl Drop for Handled {
    fn drop(&mut self) {
        // SAFETY: both calls restore what the same calls returned before.
        unsafe {
            libc::sigaction(self.signal, &self.action, ptr::null_mut());
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask, ptr::null_mut());
        }
        TAKEN.store(false, Ordering::SeqCst);
    }
}

impl Target {
    /// Sends the signal with tgkill(2). When it returns, the handler has run.
    #[inline(always)]
    pub(crate) fn send(self) -> bool {
        // SAFETY: the arguments are numbers, and the handler may run at any time.
        unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, self.signal) == 0 }
    }
}
