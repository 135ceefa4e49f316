//! The processes of a service that were heard of lately.

use std::collections::HashMap;

use steady_model::RequestProcess;
use steady_release::Fold;

/// Processes by their numbers in rows, and when each was heard of last, in seconds.
#[derive(Debug, Default)]
pub(super) struct Processes {
    heard: HashMap<u64, u64>,
}

impl Processes {
    /// The number of a process that speaks now. Where there are too many, the quarter of them that was silent for longest is
    /// forgotten.
    pub(super) fn heard(&mut self, process: RequestProcess, now: u64, most: usize, fold: &mut Fold) -> u64 {
        let number = number_of(process);
        if !self.heard.contains_key(&number) && self.heard.len() >= most {
            let mut times: Vec<u64> = self.heard.values().copied().collect();
            let (_, &mut until, _) = times.select_nth_unstable(most / 4);
            let mut room = most / 4 + 1;
            self.heard.retain(|&process, &mut heard| {
                // Many may have been heard of in the same second.
                let goes = heard <= until && room > 0;
                if goes {
                    room -= 1;
                    fold.forget(process);
                }
                !goes
            });
        }
        self.heard.insert(number, now);
        number
    }

    /// How many were heard of since then.
    pub(super) fn since(&self, then: u64) -> usize {
        self.heard.values().filter(|&&heard| heard >= then).count()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.heard.len()
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
