//! The four clocks, as instruments.

use steady_linux::clock::Clock;
use steady_model::{ClockFacts, Probe};

const CLOCKS: [(Probe, &str, Clock); 4] = [
    (Probe::ClockRealtime, "CLOCK_REALTIME", Clock::Realtime),
    (Probe::ClockMonotonic, "CLOCK_MONOTONIC", Clock::Monotonic),
    (Probe::ClockProcessCpu, "CLOCK_PROCESS_CPUTIME_ID", Clock::ProcessCpu),
    (Probe::ClockThreadCpu, "CLOCK_THREAD_CPUTIME_ID", Clock::ThreadCpu),
];

/// What the kernel states of its clocks, and what they show.
pub fn clocks() -> Vec<ClockFacts> {
    let facts = |(probe, name, clock): (Probe, &str, Clock)| ClockFacts {
        probe,
        name: name.to_owned(),
        stated_resolution: clock.stated_resolution(),
        smallest_step: clock.smallest_step(),
    };
    CLOCKS.map(facts).to_vec()
}
