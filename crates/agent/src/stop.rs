//! The end, as threads wait for it.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Asked for once, seen by all.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Asks everybody to end.
    pub(crate) fn ask(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for so long, or until it is asked for; whether it is.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(asked, time, |asked| !*asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
