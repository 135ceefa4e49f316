//! Draws of snapshots: a snapshot has its addresses for good, so that what it is lucky with all its runs are lucky with.
//! Measuring goes draw by draw, each with snapshots that none before it had, and a draw is one unit of the test.

use steady_model::{Effort, Layout, Nanos};

use crate::coins::Coins;
use steady_process::runner::{BlockSpec, Start};

/// A draw has so many rounds at least, so that its runs' own noise is not all that it tells.
const LEAST: u64 = 8;
const MOST: u64 = 512;
/// But the effort is shared out over so many draws, where it can be: their number is that of the pairs of the test.
const DRAWS: u64 = 24;
/// All places of duets come up as often in so many rounds.
const WHOLE: u64 = 4;
/// Rounds as usual in a draw that has the least number of rounds or more: one order and its reverse.
const USUAL: u64 = 2;

/// Of what a draw consists. It is settled before the first pair that counts, from costs that are blind to signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PerDraw {
    /// Rounds that start from its snapshots.
    pub(super) rounds: u64,
    /// Rounds that start as usual, somewhere among them.
    pub(super) usual: u64,
    drawing: Nanos,
}

impl PerDraw {
    /// For rounds that take `took` where a draw takes `drawing`: measuring takes as long as drawing, or longer.
    pub(super) fn new(effort: Effort, drawing: Nanos, took: Nanos, now: Nanos) -> Self {
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
        PerDraw { rounds, usual: if rounds < LEAST { 1 } else { USUAL }, drawing }
    }

    /// How long a draw takes, to go by before the first is over.
    pub(super) fn takes(&self, took: Nanos) -> Nanos {
        Nanos(self.drawing.0 + took.0 * (self.rounds + self.usual))
    }

    /// How many rounds of a draw fit into the rest of a budget: all, or in the last draw more than half; else none.
    pub(super) fn rounds_within(&self, left: Nanos, takes: Nanos) -> u64 {
        let fit = (u128::from(self.rounds) * u128::from(left.0) / u128::from(takes.0.max(1))) as u64;
        if 2 * fit > self.rounds { fit.min(self.rounds) } else { 0 }
    }

    /// The blocks of a draw: so many rounds from its snapshots, and those as usual at random places among them.
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
        let mut all = started(coins, Start::Snapshot, rounds);
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
        PerDraw::new(effort, Nanos(drawing), Nanos(took), Nanos::ZERO).rounds
    }

    #[test]
    fn measuring_takes_as_long_as_drawing_but_a_budget_holds_many_draws() {
        let budget = Effort::Budget(Nanos(10_000 * MILLI));
        assert_eq!(rounds(budget, 15 * MILLI, MILLI / 2), 32);
        assert_eq!(rounds(budget, 15 * MILLI, 10 * MILLI), 8);
        assert_eq!(rounds(budget, 15 * MILLI, 100 * MILLI), 4);
        assert_eq!(rounds(budget, 15 * MILLI, 130 * MILLI), 2, "3 would fit");
        assert_eq!(rounds(budget, 15 * MILLI, 1_000 * MILLI), 1);
        assert_eq!(rounds(budget, 15 * MILLI, 0), 512);
        assert_eq!(rounds(Effort::Pairs(12), 15 * MILLI, MILLI), 1);
        assert_eq!(rounds(Effort::Pairs(1_000), 5 * MILLI, MILLI), 8);
    }

    #[test]
    fn the_last_draw_is_shorter_or_none() {
        let draw = PerDraw { rounds: 8, usual: 2, drawing: Nanos(1) };
        let within = |left| draw.rounds_within(Nanos(left), Nanos(100));
        assert_eq!([within(1_000), within(100), within(75), within(50), within(0)], [8, 8, 6, 0, 0]);
    }

    #[test]
    fn a_draw_has_its_rounds_and_those_as_usual_among_them() {
        let draw = PerDraw { rounds: 8, usual: 2, drawing: Nanos(1) };
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
        assert_eq!(places.len(), 10, "anywhere");
    }
}
