//! The processes that have recently sent datagrams of a service.

use std::collections::HashMap;

use steady_model::RequestProcess;
use steady_stats::release::Accumulator;

/// The processes of a service, by their numbers in rows ([`number_of`]).
#[derive(Debug, Default)]
pub(super) struct Processes {
    known: HashMap<u64, Known>,
}

/// The state of one process.
#[derive(Debug, Default)]
struct Known {
    /// The time of its last datagram, in seconds.
    last_seen: u64,
    /// The last reading of its CPU time.
    reading: Option<CpuReading>,
    /// Whether the process lost lines since that reading.
    lost_lines: bool,
}

/// Cumulative CPU time of a process, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuReading {
    /// The time of the reading, on the monotonic clock.
    pub(super) time: u64,
    /// CPU time of the whole process.
    pub(super) cpu: u64,
    /// CPU time of its requests.
    pub(super) requests_cpu: u64,
}

/// CPU time between two readings of one process, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuBetween {
    /// The time of the earlier reading, on the monotonic clock.
    pub(super) since: u64,
    /// CPU time of the whole process.
    pub(super) cpu: u64,
    /// CPU time of its requests.
    pub(super) requests_cpu: u64,
    /// Whether the process lost lines between the readings; another reading may be among them.
    pub(super) lost_lines: bool,
}

impl Processes {
    /// Returns the number of a process that sent a datagram at `now`, in seconds. If there would be more than `most`
    /// processes, the least recently seen quarter is forgotten.
    pub(super) fn seen(
        &mut self,
        process: RequestProcess,
        now: u64,
        most: usize,
        accumulator: &mut Accumulator,
    ) -> u64 {
        let number = number_of(process);
        if !self.known.contains_key(&number) && self.known.len() >= most {
            let mut times: Vec<u64> = self.known.values().map(|known| known.last_seen).collect();
            let (_, &mut until, _) = times.select_nth_unstable(most / 4);
            let mut to_remove = most / 4 + 1;
            self.known.retain(|&process, known| {
                // Many processes may have the same time, so the number is limited too.
                let is_removed = known.last_seen <= until && to_remove > 0;
                if is_removed {
                    to_remove -= 1;
                    accumulator.forget(process);
                }
                !is_removed
            });
        }
        self.known.entry(number).or_default().last_seen = now;
        number
    }

    /// Notes that a process lost lines.
    pub(super) fn lost_lines(&mut self, process: u64) {
        if let Some(known) = self.known.get_mut(&process) {
            known.lost_lines = true;
        }
    }

    /// Stores a reading, and returns the CPU time since the previous one. A reading that is not later than the previous
    /// one is ignored. After a smaller reading the count starts again.
    pub(super) fn cpu_since(&mut self, process: u64, reading: CpuReading) -> Option<CpuBetween> {
        let known = self.known.get_mut(&process)?;
        if known.reading.is_some_and(|before| reading.time <= before.time) {
            return None;
        }
        let lost_lines = std::mem::take(&mut known.lost_lines);
        let before = known.reading.replace(reading)?;
        let cpu = reading.cpu.checked_sub(before.cpu)?;
        let requests_cpu = reading.requests_cpu.checked_sub(before.requests_cpu)?;
        Some(CpuBetween { since: before.time, cpu, requests_cpu, lost_lines })
    }

    /// Returns the number of processes that sent a datagram at `then` or later.
    pub(super) fn since(&self, then: u64) -> usize {
        self.known.values().filter(|known| known.last_seen >= then).count()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

/// Returns the number of a process in rows: a hash, which depends only on the process. It is never 0, which stands for
/// no process.
pub(super) fn number_of(process: RequestProcess) -> u64 {
    mix(mix(u64::from(process.pid)) ^ process.began).max(1)
}

/// The output function of SplitMix64: each bit of the result depends on all bits of the value.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
