//! The random choices of an experiment: order, CPU and environment padding are drawn for every block. The generator's
//! seed is in the record.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Layout, Seed};

use steady_process::launcher::PADDING_MAX;
use steady_process::runner::{BlockSpec, RunSpec, Start};

/// A seeded generator of random choices.
pub(crate) struct Coins {
    generator: ChaCha12Rng,
}

impl Coins {
    pub(crate) fn new(seed: Seed) -> Self {
        Coins { generator: ChaCha12Rng::seed_from_u64(seed.0) }
    }

    /// A block of turns: one run of each of `commands` commands, in random order.
    pub(crate) fn turns(&mut self, commands: usize) -> BlockSpec {
        let mut order: Vec<usize> = (0..commands).collect();
        order.shuffle(&mut self.generator);
        self.in_order(&order)
    }

    fn in_order(&mut self, order: &[usize]) -> BlockSpec {
        let runs = order.iter().map(|command| self.run(*command, 0)).collect();
        BlockSpec { number: None, layout: Layout::Turns, runs, start: Start::Usual, draw: None }
    }

    /// A block of duets: the first command and `contender` run concurrently. The order of their starts and their CPUs
    /// are random.
    pub(crate) fn duet(&mut self, contender: usize) -> BlockSpec {
        let seat = self.generator.random_range(0..2);
        let mut block = self.seated(contender, seat);
        block.runs.shuffle(&mut self.generator);
        block
    }

    fn seated(&mut self, contender: usize, seat: usize) -> BlockSpec {
        let runs = vec![self.run(0, seat), self.run(contender, 1 - seat)];
        BlockSpec { number: None, layout: Layout::Duet, runs, start: Start::Usual, draw: None }
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

    /// Rounds in which every command has every place equally often, as far as their number allows.
    ///
    /// Exchanging the labels of two commands gives rounds that are equally likely, so all rounds together are one fair
    /// coin. The effect of a place on a run cancels in their mean.
    pub(crate) fn balanced(&mut self, layout: Layout, commands: usize, rounds: usize) -> Vec<Vec<BlockSpec>> {
        match layout {
            Layout::Turns => self.balanced_turns(commands, rounds),
            Layout::Duet => self.balanced_duets(commands, rounds),
        }
    }

    /// Random orders, each together with its reverse.
    fn balanced_turns(&mut self, commands: usize, rounds: usize) -> Vec<Vec<BlockSpec>> {
        let mut orders: Vec<Vec<usize>> = Vec::with_capacity(rounds + 1);
        while orders.len() < rounds {
            let mut order: Vec<usize> = (0..commands).collect();
            order.shuffle(&mut self.generator);
            orders.push(order.iter().rev().copied().collect());
            orders.push(order);
        }
        orders.truncate(rounds);
        orders.shuffle(&mut self.generator);
        orders.iter().map(|order| vec![self.in_order(order)]).collect()
    }

    /// Duets in which each combination of CPU and order of starts is equally frequent.
    fn balanced_duets(&mut self, commands: usize, rounds: usize) -> Vec<Vec<BlockSpec>> {
        let mut all: Vec<Vec<BlockSpec>> = vec![Vec::new(); rounds];
        for contender in 1..commands {
            let mut places: Vec<(usize, bool)> = Vec::with_capacity(rounds + 3);
            while places.len() < rounds {
                let mut four = [(0, false), (0, true), (1, false), (1, true)];
                four.shuffle(&mut self.generator);
                places.extend(four);
            }
            places.truncate(rounds);
            places.shuffle(&mut self.generator);
            for (round, (seat, swapped)) in all.iter_mut().zip(places) {
                let mut block = self.seated(contender, seat);
                if swapped {
                    block.runs.reverse();
                }
                round.push(block);
            }
        }
        all.iter_mut().for_each(|round| round.shuffle(&mut self.generator));
        all
    }

    /// A random index below `places`.
    pub(crate) fn place(&mut self, places: usize) -> usize {
        self.generator.random_range(0..places.max(1))
    }

    /// A random index into `shares`, with probabilities in proportion to the shares.
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

    /// The largest deviation of a share in 4,000 throws of a fair coin: five standard errors.
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
    fn every_order_of_three_commands_occurs() {
        let mut coins = Coins::new(Seed(2));
        let mut orders: Vec<Vec<usize>> =
            (0..200).map(|_| coins.turns(3).runs.iter().map(|run| run.command).collect()).collect();
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn a_draw_gives_every_command_every_place_equally_often() {
        let mut coins = Coins::new(Seed(4));
        let turns = coins.balanced(Layout::Turns, 3, 8);
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            let first =
                |block: &BlockSpec| block.runs.iter().find(|run| [one, other].contains(&run.command)).unwrap().command;
            assert_eq!(turns.iter().filter(|round| first(&round[0]) == one).count(), 4);
        }
        let duets = coins.balanced(Layout::Duet, 3, 8);
        for contender in 1..3 {
            let of = |round: &Vec<BlockSpec>| {
                let block = round.iter().find(|block| block.runs.iter().any(|run| run.command == contender)).unwrap();
                (block.runs[0].command == 0, block.runs[0].seat)
            };
            let mut places: Vec<(bool, usize)> = duets.iter().map(of).collect();
            places.sort();
            places.dedup_by_key(|place| *place);
            assert_eq!(places.len(), 4, "each combination of CPU and order occurs");
        }
        assert_eq!(coins.balanced(Layout::Duet, 2, 3).len(), 3);
        // Which of the two orders comes first is random, too.
        let firsts = (0..4000).map(|_| coins.balanced(Layout::Turns, 2, 3)[0][0].runs[0].command == 0);
        let share = share(firsts);
        assert!((share - 0.5).abs() < FAIR, "{share}");
    }

    #[test]
    fn a_seed_repeats_its_random_choices() {
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
