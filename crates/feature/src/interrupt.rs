//! Signals that ask to stop: the first ends the measuring, and the verdict so far is shown.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Catches SIGINT, SIGTERM and SIGHUP for the rest of the process's life.
pub struct Interrupt {
    caught: Arc<AtomicUsize>,
    released: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts to catch; the descriptor becomes readable with the first signal.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn catch() -> io::Result<(Self, OwnedFd)> {
        let caught = Arc::new(AtomicUsize::new(0));
        let (reader, writer) = UnixStream::pair()?;
        let released = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&released))?;
            signal_hook::flag::register_usize(signal, Arc::clone(&caught), signal as usize)?;
            signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
        }
        Ok((Interrupt { caught, released }, OwnedFd::from(reader)))
    }

    /// From now on a signal ends the process. Called once the measuring is over, because writing to a pipe that nobody reads
    /// would block forever.
    pub fn release(&self) {
        self.released.store(true, Ordering::SeqCst);
    }

    /// The last signal caught, or SIGINT where none was.
    pub fn signal(&self) -> i32 {
        match self.caught.load(Ordering::SeqCst) {
            0 => SIGINT,
            signal => signal as i32,
        }
    }
}
