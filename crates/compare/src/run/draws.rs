//! Draws of snapshots or of memory layouts. A snapshot or a linked program has fixed addresses, which affect all its runs
//! in the same way. Therefore each draw has new ones, and is one unit of the test.

use steady_model::{Effort, Layout, Nanos};

use crate::coins::Coins;
use steady_process::runner::{BlockSpec, Start};

/// The smallest number of rounds in a draw, if the effort allows it. It reduces the noise of single runs.
const LEAST: u64 = 8;
const MOST: u64 = 512;
/// The number of draws for which the effort should suffice, because draws are the units of the test. It limits the
/// rounds of a draw.
const DRAWS: u64 = 24;
/// The number of rounds of duets in which each combination of CPU and order occurs once.
const WHOLE: u64 = 4;
/// The number of usual rounds in a draw with at least [`LEAST`] rounds: one order and its reverse.
const USUAL: u64 = 2;

/// The composition of a draw. It is fixed before the first measured pair, and does not depend on signs of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PerDraw {
    /// The number of measured rounds.
    pub(super) rounds: u64,
    /// The number of rounds that start as usual, at random places among those from snapshots.
    pub(super) usual: u64,
    /// How the runs of measured rounds start.
    start: Start,
    drawing: Nanos,
}

impl PerDraw {
    /// Chooses the number of rounds so that measuring takes at least as long as drawing. A round takes `took`, and a draw
    /// takes `drawing`.
    pub(super) fn new(effort: Effort, start: Start, drawing: Nanos, took: Nanos, now: Nanos) -> Self {
        let wanted = drawing.0.div_ceil(took.0.max(1)).clamp(LEAST, MOST).next_multiple_of(WHOLE);
        let most = match effort {
            Effort::Budget(budget) => (Nanos((budget - now).0 / DRAWS) - drawing).0 / took.0.max(1),
            Effort::Pairs(pairs) => pairs / DRAWS,
        };
        let rounds = match wanted.min(most) {
            0 | 1 => 1,
            2 | 3 => 2,
            more => more - more % WHOLE,
        };
        let usual = match start {
            Start::Usual => 0,
            Start::Snapshot if rounds < LEAST => 1,
            Start::Snapshot => USUAL,
        };
        PerDraw { rounds, usual, start, drawing }
    }

    /// The estimated duration of a draw, before the first draw has ended.
    pub(super) fn takes(&self, took: Nanos) -> Nanos {
        Nanos(self.drawing.0 + took.0 * (self.rounds + self.usual))
    }

    /// The number of rounds of a draw that fit into the rest of a budget: all, or more than half of them in the last
    /// draw, or none.
    pub(super) fn rounds_within(&self, left: Nanos, takes: Nanos) -> u64 {
        let fit = (u128::from(self.rounds) * u128::from(left.0) / u128::from(takes.0.max(1))) as u64;
        if 2 * fit > self.rounds { fit.min(self.rounds) } else { 0 }
    }

    /// The blocks of a draw: `rounds` measured rounds, with the usual rounds at random places among them.
    pub(super) fn blocks(
        &self,
        coins: &mut Coins,
        layout: Layout,
        commands: usize,
        rounds: u64,
        draw: u64,
    ) -> Vec<BlockSpec> {
        let started = |coins: &mut Coins, start: Start, rounds: u64| {
            let mut all = coins.balanced(layout, commands, rounds as usize);
            let blocks = all.iter_mut().flatten();
            blocks.for_each(|block| (block.start, block.draw) = (start, Some(draw)));
            all
        };
        let mut all = started(coins, self.start, rounds);
        for round in started(coins, Start::Usual, self.usual) {
            all.insert(coins.place(all.len() + 1), round);
        }
        all.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use steady_model::Seed;

    use super::*;

    const MILLI: u64 = 1_000_000;

    fn rounds(effort: Effort, drawing: u64, took: u64) -> u64 {
        PerDraw::new(effort, Start::Snapshot, Nanos(drawing), Nanos(took), Nanos::ZERO).rounds
    }

    #[test]
    fn measuring_takes_as_long_as_creating_snapshots_but_a_budget_has_many_draws() {
        let budget = Effort::Budget(Nanos(10_000 * MILLI));
        assert_eq!(rounds(budget, 15 * MILLI, MILLI / 2), 32);
        assert_eq!(rounds(budget, 15 * MILLI, 10 * MILLI), 8);
        assert_eq!(rounds(budget, 15 * MILLI, 100 * MILLI), 4);
        assert_eq!(rounds(budget, 15 * MILLI, 130 * MILLI), 2, "3 fit, and an even number is balanced");
        assert_eq!(rounds(budget, 15 * MILLI, 1_000 * MILLI), 1);
        assert_eq!(rounds(budget, 15 * MILLI, 0), 512);
        assert_eq!(rounds(Effort::Pairs(12), 15 * MILLI, MILLI), 1);
        assert_eq!(rounds(Effort::Pairs(1_000), 5 * MILLI, MILLI), 8);
    }

    #[test]
    fn the_last_draw_is_shorter_or_left_out() {
        let draw = PerDraw { rounds: 8, usual: 2, start: Start::Snapshot, drawing: Nanos(1) };
        let within = |left| draw.rounds_within(Nanos(left), Nanos(100));
        assert_eq!([within(1_000), within(100), within(75), within(50), within(0)], [8, 8, 6, 0, 0]);
    }

    #[test]
    fn usual_rounds_are_at_random_places_of_a_draw() {
        let draw = PerDraw { rounds: 8, usual: 2, start: Start::Snapshot, drawing: Nanos(1) };
        let mut coins = Coins::new(Seed(1));
        let mut places = Vec::new();
        for number in 0..50 {
            let blocks = draw.blocks(&mut coins, Layout::Turns, 2, 8, number);
            assert_eq!(blocks.len(), 10);
            assert!(blocks.iter().all(|block| block.draw == Some(number)));
            let usual = blocks.iter().enumerate().filter(|(_, block)| block.start == Start::Usual);
            places.extend(usual.map(|(place, _)| place));
        }
        assert_eq!(places.len(), 100);
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 10, "usual rounds do not occur at all places");
    }
}
