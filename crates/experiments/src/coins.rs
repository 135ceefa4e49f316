//! The coins of an experiment: every nuisance is drawn afresh for every block, from a generator whose seed is recorded.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Layout, Seed};

use crate::launcher::PADDING_MAX;
use crate::runner::{BlockSpec, RunSpec};

/// A stream of coins.
pub(crate) struct Coins {
    generator: ChaCha12Rng,
}

impl Coins {
    pub(crate) fn new(seed: Seed) -> Self {
        Coins { generator: ChaCha12Rng::seed_from_u64(seed.0) }
    }

    /// One run of each of `commands` commands, one after the other in random order.
    pub(crate) fn turns(&mut self, commands: usize) -> BlockSpec {
        let mut order: Vec<usize> = (0..commands).collect();
        order.shuffle(&mut self.generator);
        let runs = order.into_iter().map(|command| self.run(command, 0)).collect();
        BlockSpec { number: None, layout: Layout::Turns, runs }
    }

    /// The first command and `contender` at the same time: who starts first and who sits where is drawn.
    pub(crate) fn duet(&mut self, contender: usize) -> BlockSpec {
        let seat = self.generator.random_range(0..2);
        let mut runs = vec![self.run(0, seat), self.run(contender, 1 - seat)];
        runs.shuffle(&mut self.generator);
        BlockSpec { number: None, layout: Layout::Duet, runs }
    }

    /// The blocks that give one pair of every contender, in random order.
    pub(crate) fn round(&mut self, layout: Layout, commands: usize) -> Vec<BlockSpec> {
        match layout {
            Layout::Turns => vec![self.turns(commands)],
            Layout::Duet => {
                let mut contenders: Vec<usize> = (1..commands).collect();
                contenders.shuffle(&mut self.generator);
                contenders.into_iter().map(|contender| self.duet(contender)).collect()
            }
        }
    }

    /// The index of one of `shares`, drawn with those probabilities.
    pub(crate) fn pick(&mut self, shares: &[f64]) -> usize {
        let mut left = self.generator.random::<f64>() * shares.iter().sum::<f64>();
        for (index, share) in shares.iter().enumerate() {
            left -= share;
            if left < 0.0 {
                return index;
            }
        }
        shares.len().saturating_sub(1)
    }

    fn run(&mut self, command: usize, seat: usize) -> RunSpec {
        RunSpec { command, seat, padding: self.generator.random_range(0..PADDING_MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest deviation of a fair coin's share in 4,000 throws that one would see in a million tests.
    const FAIR: f64 = 5.0 * 0.5 / 63.2;

    fn share(throws: impl Iterator<Item = bool>) -> f64 {
        throws.map(|head| if head { 1.0 / 4000.0 } else { 0.0 }).sum()
    }

    #[test]
    fn order_and_seats_of_duets_are_fair_and_independent() {
        let mut coins = Coins::new(Seed(1));
        let duets: Vec<_> = (0..4000).map(|_| coins.duet(1)).collect();
        let base_first = |block: &BlockSpec| block.runs[0].command == 0;
        let base_left = |block: &BlockSpec| block.runs.iter().any(|run| run.command == 0 && run.seat == 0);
        for share in [
            share(duets.iter().map(base_first)),
            share(duets.iter().map(base_left)),
            share(duets.iter().map(|block| base_first(block) == base_left(block))),
            share(duets.windows(2).map(|two| base_first(&two[0]) == base_first(&two[1]))),
        ] {
            assert!((share - 0.5).abs() < FAIR, "{share}");
        }
        assert!(duets.iter().all(|block| block.runs[0].seat != block.runs[1].seat));
    }

    #[test]
    fn every_order_of_three_commands_comes_up() {
        let mut coins = Coins::new(Seed(2));
        let mut orders: Vec<Vec<usize>> =
            (0..200).map(|_| coins.turns(3).runs.iter().map(|run| run.command).collect()).collect();
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn a_seed_gives_the_same_coins_again() {
        let draw = |seed| {
            let mut coins = Coins::new(Seed(seed));
            (0..20).map(|_| coins.turns(2)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn picks_follow_the_shares() {
        let mut coins = Coins::new(Seed(3));
        let share = share((0..4000).map(|_| coins.pick(&[0.5, 0.5]) == 0));
        assert!((share - 0.5).abs() < FAIR);
        assert_eq!(coins.pick(&[0.0, 1.0]), 1);
        assert_eq!(coins.pick(&[1.0]), 0);
    }
}
