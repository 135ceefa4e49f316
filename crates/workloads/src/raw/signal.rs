//! A signal that is sent to the thread itself, and counted by its handler.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How often the handler has run.
static HANDLED: AtomicU64 = AtomicU64::new(0);
/// Whether somebody has the handler installed: it is the process's.
static TAKEN: AtomicBool = AtomicBool::new(false);

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// The handler, installed until this is dropped, for a real-time signal that this thread lets through.
pub(crate) struct Handled {
    signal: libc::c_int,
    action: libc::sigaction,
    mask: libc::sigset_t,
}

/// The thread that sends to itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    process: libc::pid_t,
    thread: libc::pid_t,
    signal: libc::c_int,
}

impl Handled {
    /// Installs it.
    pub(crate) fn install() -> io::Result<Self> {
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(io::Error::other("the handler is in use already"));
        }
        // One that neither the C library nor anybody by custom uses.
        let signal = libc::SIGRTMIN() + 7;
        Self::take(signal).inspect_err(|_| TAKEN.store(false, Ordering::SeqCst))
    }

    fn take(signal: libc::c_int) -> io::Result<Self> {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the structures are plain data and valid for the calls; the handler does nothing but add to an atomic,
        // which is allowed in one.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            if libc::sigaction(signal, &action, before.as_mut_ptr()) < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut let_through: libc::sigset_t = zeroed();
            let mut mask: libc::sigset_t = zeroed();
            libc::sigemptyset(&mut let_through);
            libc::sigaddset(&mut let_through, signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &let_through, &mut mask);
            Ok(Handled { signal, action: before.assume_init(), mask })
        }
    }

    /// How often it has run.
    pub(crate) fn count(&self) -> u64 {
        HANDLED.load(Ordering::Relaxed)
    }

    /// This thread.
    pub(crate) fn target(&self) -> Target {
        // SAFETY: both take nothing and change nothing.
        unsafe { Target { process: libc::getpid(), thread: libc::gettid(), signal: self.signal } }
    }
}

impl Drop for Handled {
    fn drop(&mut self) {
        // SAFETY: both put back what the same calls told before.
        unsafe {
            libc::sigaction(self.signal, &self.action, ptr::null_mut());
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask, ptr::null_mut());
        }
        TAKEN.store(false, Ordering::SeqCst);
    }
}

impl Target {
    /// tgkill(2): by the time that it returns the handler has run.
    #[inline(always)]
    pub(crate) fn send(self) -> bool {
        // SAFETY: a plain system call; the signal is handled by code that may run at any moment.
        unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, self.signal) == 0 }
    }
}
