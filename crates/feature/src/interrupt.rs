//! Signals that end the measuring. The report then has the results so far.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use steady_linux::signals::is_ignored;

/// Catches SIGINT, SIGTERM and SIGHUP until the process ends. Signals that this process was started to ignore, as by
/// nohup(1) or in the background of a script, stay ignored.
pub struct Interrupt {
    caught: Arc<AtomicUsize>,
    released: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts to catch the signals. The returned descriptor becomes readable at the first signal.
    ///
    /// # Errors
    /// There are no free file descriptors.
    pub fn catch() -> io::Result<(Self, OwnedFd)> {
        let caught = Arc::new(AtomicUsize::new(0));
        let (reader, writer) = UnixStream::pair()?;
        let released = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)) {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&released))?;
            signal_hook::flag::register_usize(signal, Arc::clone(&caught), signal as usize)?;
            signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
        }
        Ok((Interrupt { caught, released }, OwnedFd::from(reader)))
    }

    /// Restores the default: from now on a signal ends the process. Call it after the measuring, so that the user can
    /// interrupt a write to a pipe without a reader.
    pub fn release(&self) {
        self.released.store(true, Ordering::SeqCst);
    }

    /// The number of the last signal that was caught, or SIGINT if there was none.
    pub fn signal(&self) -> i32 {
        match self.caught.load(Ordering::SeqCst) {
            0 => SIGINT,
            signal => signal as i32,
        }
    }
}
