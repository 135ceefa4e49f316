//! The processes of a service that were heard of lately.

use std::collections::HashMap;

use steady_model::RequestProcess;
use steady_stats::release::Fold;

/// Processes by their numbers in rows.
#[derive(Debug, Default)]
pub(super) struct Processes {
    known: HashMap<u64, Known>,
}

/// State of one process.
#[derive(Debug, Default)]
struct Known {
    /// When it was heard of last, in seconds.
    heard: u64,
    /// The last reading of its CPU time.
    reading: Option<CpuReading>,
    /// Whether it lost lines since that reading.
    lost_lines: bool,
}

/// Cumulative CPU time of a process, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuReading {
    /// When it was read.
    pub(super) time: u64,
    /// Of the whole process.
    pub(super) cpu: u64,
    /// Of its requests.
    pub(super) requests_cpu: u64,
}

/// CPU time between two readings of one process, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuBetween {
    /// The time of the first reading.
    pub(super) since: u64,
    /// Of the whole process.
    pub(super) cpu: u64,
    /// Of its requests.
    pub(super) requests_cpu: u64,
    /// Whether the process lost lines between them, and a reading perhaps.
    pub(super) lost_lines: bool,
}

impl Processes {
    /// The number of a process that speaks now. Where there are too many, the quarter of them that was silent for longest is
    /// forgotten.
    pub(super) fn heard(&mut self, process: RequestProcess, now: u64, most: usize, fold: &mut Fold) -> u64 {
        let number = number_of(process);
        if !self.known.contains_key(&number) && self.known.len() >= most {
            let mut times: Vec<u64> = self.known.values().map(|known| known.heard).collect();
            let (_, &mut until, _) = times.select_nth_unstable(most / 4);
            let mut room = most / 4 + 1;
            self.known.retain(|&process, known| {
                // Many may have been heard of in the same second.
                let goes = known.heard <= until && room > 0;
                if goes {
                    room -= 1;
                    fold.forget(process);
                }
                !goes
            });
        }
        self.known.entry(number).or_default().heard = now;
        number
    }

    /// Notes that a process lost lines.
    pub(super) fn lost_lines(&mut self, process: u64) {
        if let Some(known) = self.known.get_mut(&process) {
            known.lost_lines = true;
        }
    }

    /// Keeps a reading, and returns the CPU time since the previous one. A reading that is not later than the previous
    /// one is dropped; one that is smaller begins a new count.
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

    /// How many were heard of since then.
    pub(super) fn since(&self, then: u64) -> usize {
        self.known.values().filter(|known| known.heard >= then).count()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

/// The number that a process has in rows, the same whenever it is asked for: never 0, which is no process.
pub(super) fn number_of(process: RequestProcess) -> u64 {
    mix(mix(u64::from(process.pid)) ^ process.began).max(1)
}

/// The finishing of splitmix64: each bit of the result depends on all.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
