//! What is written at once.

use steady_model::{HostSecond, ReleaseRows, ReleaseRulerRow};

/// What was gathered since the last write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The second in which it was gathered, since 1970: what was folded or lost is booked there.
    pub second: u64,
    /// The host's name, for `rulers` and `seconds`.
    pub host: String,
    /// Rows of services, each once; their own `rulers` are those of processes, and `seconds` are empty.
    pub services: Vec<ReleaseRows>,
    /// The agent's own rulers.
    pub rulers: Vec<ReleaseRulerRow>,
    /// The host.
    pub seconds: Vec<HostSecond>,
}

impl Batch {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.services.is_empty() && self.rulers.is_empty() && self.seconds.is_empty()
    }

    /// How many rows there are in it.
    pub fn rows(&self) -> usize {
        let of = |rows: &ReleaseRows| rows.requests.len() + rows.rulers.len() + rows.walls.len() + rows.processes.len();
        self.services.iter().map(of).sum::<usize>() + self.rulers.len() + self.seconds.len()
    }

    /// How many requests it tells of.
    pub fn requests(&self) -> u64 {
        let rows = self.services.iter().flat_map(|rows| &rows.requests);
        rows.map(|row| row.sums.requests + row.sums.warming).sum()
    }
}
