//! What a sleeping thread costs that wakes now and then to look at its process's CPU clock.

use std::thread;

use steady_linux::clock;
use steady_model::{Absent, Nanos, Reading};

use super::worker::{POLLER_STACK_BYTES, sleep_and_look};

/// How often it is woken to measure it, and at which interval at most: a wake-up costs what it costs, so that the cost
/// of rarer ones is scaled from these.
const WAKE_UPS: u64 = 50;
const INTERVAL: Nanos = Nanos(10_000_000);

/// CPU time per second of such a thread, by its own CPU clock. What the kernel does for it in interrupts, a microsecond
/// or so each time, is not in that clock.
pub(super) fn poll_cost(every: Nanos) -> Reading<f64> {
    let interval = every.min(INTERVAL);
    let poller = thread::Builder::new().stack_size(POLLER_STACK_BYTES).spawn(move || {
        sleep_and_look(interval);
        let before = clock::thread_cpu();
        for _ in 0..WAKE_UPS {
            sleep_and_look(interval);
        }
        clock::thread_cpu() - before
    });
    let absent = |why: String| Absent::because(format!("no thread to measure it with: {why}"));
    let used = poller.map_err(|error| absent(error.to_string()))?.join().map_err(|_| absent("it broke off".into()))?;
    Ok(used.seconds() / WAKE_UPS as f64 / every.seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rarer_looks_cost_less() {
        let (often, rarely) = (poll_cost(Nanos(1_000_000)).unwrap(), poll_cost(Nanos(1_000_000_000)).unwrap());
        assert!(rarely > 0.0 && rarely < often, "{rarely} {often}");
    }
}
