//! Dependent loads from each level of cache and from memory, with the kernels of the rulers.

use std::io;

use steady_model::{Absent, Bytes, Probe, Reading, Timed};

use super::meter::{Meter, Who};
use super::{Primitive, ProbeCpus};
use crate::rulers::{Chase, Flushed, Kernel, Pages};

/// The seed of the order of the loads; any order is suitable.
const SEED: u64 = 1;
const WORD: usize = size_of::<usize>();
/// The kernels other than `Chase` load one word of each page of 4096 bytes.
const WORDS_PER_PAGE: usize = 4096 / WORD;

/// Opens a probe of loads from the level that `probe` names. Each load depends on the previous one. The number of loads
/// is the distance in the kernel's cycle.
pub(super) fn open(probe: Probe, place: &ProbeCpus) -> Reading<Box<dyn Primitive>> {
    let bytes = |size: &Reading<Bytes>| size.clone().map(|size| size.0 as usize);
    Ok(match probe {
        Probe::LoadL1 => Box::new(Loads::new(Chase::new(bytes(&place.l1)?, SEED), 1)),
        Probe::LoadL2 => Box::new(Loads::new(Chase::new(bytes(&place.l2)?, SEED), 1)),
        Probe::LoadShared => Box::new(Loads::new(Pages::new(bytes(&place.shared)?, SEED), WORDS_PER_PAGE)),
        _ => {
            let flushed = Flushed::new(SEED)
                .ok_or_else(|| Absent::because("flushing the caches is not implemented for this CPU architecture"))?;
            Box::new(Loads::new(flushed, WORDS_PER_PAGE))
        }
    })
}

struct Loads<K> {
    kernel: K,
    /// The position in the cycle for each piece of memory.
    ranks: Vec<u32>,
    words_per_piece: usize,
    length: u64,
    rank: u64,
}

impl<K: Kernel> Loads<K> {
    fn new(mut kernel: K, words_per_piece: usize) -> Self {
        let first = kernel.run(1);
        let mut places = vec![first];
        loop {
            match kernel.run(1) {
                place if place == first => break,
                place => places.push(place),
            }
        }
        let piece = |place: u64| place as usize / words_per_piece;
        let pieces = places.iter().map(|place| piece(*place) + 1).max().unwrap_or(0);
        let mut ranks = vec![0; pieces];
        for (rank, place) in (0..).zip(&places) {
            ranks[piece(*place)] = rank;
        }
        Loads { kernel, ranks, words_per_piece, length: places.len() as u64, rank: 0 }
    }

    /// Makes `loads` loads. Returns the distance in the cycle from the previous position to the last load. It makes
    /// them in parts shorter than the cycle, so that the distance is unambiguous.
    fn follow(&mut self, loads: u64) -> u64 {
        let most = (self.length - 1).max(1);
        let (mut left, mut led) = (loads, 0);
        while left > 0 {
            let now = left.min(most);
            let place = self.kernel.run(now) as usize;
            let rank = u64::from(self.ranks[place / self.words_per_piece]);
            led += (rank + self.length - self.rank) % self.length;
            self.rank = rank;
            left -= now;
        }
        led
    }

    /// Measures `work` in as many parts as the kernel requires for this number of loads.
    fn timed(&mut self, loops: u64, mut work: impl FnMut(&mut Self, u64) -> u64) -> io::Result<Timed> {
        self.kernel.warm(&mut || true);
        // Warming may have changed the position in the cycle.
        let place = self.kernel.run(1) as usize;
        self.rank = u64::from(self.ranks[place / self.words_per_piece]);
        let mut all = Timed { loops, ..Timed::default() };
        let mut left = loops;
        while left > 0 {
            let now = left.min(self.kernel.most());
            self.kernel.ready();
            let meter = Meter::start(Who::Thread)?;
            let events = work(self, now);
            all = sum(all, Timed { events, ..meter.stop()? });
            left -= now;
        }
        Ok(all)
    }
}

/// Adds two consecutive measurements.
fn sum(one: Timed, next: Timed) -> Timed {
    Timed { wall: one.wall + next.wall, events: one.events + next.events, ..super::meter::together(one, next) }
}

impl<K: Kernel> Primitive for Loads<K> {
    fn subtracted(&self) -> &'static str {
        "only the timing: the rest of a repetition runs while the CPU waits for the load"
    }

    fn calls_per_loop(&self) -> Reading<f64> {
        match self.kernel.most() {
            u64::MAX => Ok(0.0),
            _ => Err(Absent::because("the loads are timed in parts, and timing makes system calls")),
        }
    }

    fn run(&mut self, loops: u64) -> io::Result<Timed> {
        self.timed(loops, Self::follow)
    }

    fn empty(&mut self, loops: u64) -> io::Result<Timed> {
        self.timed(loops, |_, _| 0)
    }
}
