//! The increases of counters between scrapes.

use std::collections::BTreeMap;

use crate::answer::Series;
use crate::grid::Grid;
use crate::scrapes::{AgentScrapes, Host};

/// The largest relative decrease of a counter that is rounding: some stores keep only twelve digits of a value.
const ROUNDED: f64 = 1e-9;

/// The increases of N counters, by a key and by the intervals of its host.
pub(crate) struct Differences<K, const N: usize> {
    cells: BTreeMap<K, Vec<Cell<N>>>,
}

/// The increases of N counters of a key in an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell<const N: usize> {
    /// The increases; `None` if an increase is not known.
    pub(crate) grown: [Option<f64>; N],
    /// Whether the series have no value at the beginning of the interval.
    pub(crate) is_new: [bool; N],
}

impl<const N: usize> Cell<N> {
    /// Returns whether the store has a counter of this key.
    pub(crate) fn is_known(&self) -> bool {
        self.grown.iter().any(Option::is_some)
    }

    /// Returns the increases; `None` if some counters begin in the interval and others do not. An agent publishes all
    /// counters of a key together, so the store lacks earlier values of those that begin later.
    pub(crate) fn together(&self) -> Option<&[Option<f64>; N]> {
        let mut begins = self.grown.iter().zip(&self.is_new).filter(|(grown, _)| grown.is_some()).map(|(_, new)| new);
        let first = begins.next();
        begins.all(|new| Some(new) == first).then_some(&self.grown)
    }

    /// Returns the increases of the counters that begin in the interval, or of those that do not.
    pub(crate) fn with(&self, is_new: bool) -> [Option<f64>; N] {
        std::array::from_fn(|which| self.grown[which].filter(|_| self.is_new[which] == is_new))
    }
}

impl<K: Ord, const N: usize> Differences<K, N> {
    pub(crate) fn new() -> Self {
        Differences { cells: BTreeMap::new() }
    }

    /// Adds the values of the counter at position `which`. An interval in which a counter decreases is marked as
    /// broken.
    pub(crate) fn add(&mut self, key: K, which: usize, host: &mut Host, values: &[Option<f64>]) {
        self.add_running(key, which, host, values, true);
    }

    /// Adds the values of a running sum that may decrease.
    pub(crate) fn add_gauge(&mut self, key: K, which: usize, host: &mut Host, values: &[Option<f64>]) {
        self.add_running(key, which, host, values, false);
    }

    fn add_running(&mut self, key: K, which: usize, host: &mut Host, values: &[Option<f64>], is_counter: bool) {
        let empty = Cell { grown: [None; N], is_new: [false; N] };
        let cells = self.cells.entry(key).or_insert_with(|| vec![empty; host.intervals.len()]);
        for (cell, interval) in cells.iter_mut().zip(&mut host.intervals) {
            // A series that is missing at the first scrape was 0 then, because all sums start at 0.
            let Some(now) = values[interval.to] else { continue };
            let before = values[interval.from].unwrap_or(0.0);
            if is_counter {
                interval.broken |= now < before - ROUNDED * before.abs();
            }
            let least = if is_counter { 0.0 } else { f64::NEG_INFINITY };
            cell.grown[which] = Some((now - before).max(least));
            cell.is_new[which] = values[interval.from].is_none();
        }
    }

    /// Returns the increases of a key, by interval.
    pub(crate) fn of(&self, key: &K) -> Option<&Vec<Cell<N>>> {
        self.cells.get(key)
    }

    /// Returns all keys with their increases by interval.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&K, &Vec<Cell<N>>)> {
        self.cells.iter()
    }
}

/// Returns by how much a counter increased in the window, over all agents of a host. Unlike the increases by interval,
/// this includes what an agent had counted at its first scrape after a restart, and what was counted between scrapes that
/// are missing.
pub(crate) fn total_increase(agents: &[AgentScrapes], values: &[Option<f64>]) -> f64 {
    let increase = |agent: &AgentScrapes| {
        let mut before = if agent.is_new { 0.0 } else { values[agent.first].unwrap_or(0.0) };
        let mut sum = 0.0;
        for now in values[agent.first..=agent.last].iter().copied().flatten() {
            // The agent may forget a service, and count it from 0 again.
            let is_reset = now < before - ROUNDED * before.abs();
            sum += if is_reset { now } else { (now - before).max(0.0) };
            before = now;
        }
        sum
    };
    agents.iter().map(increase).sum()
}

/// Returns the values of a series at the points of the grid.
pub(crate) fn values(series: &Series, grid: &Grid) -> Vec<Option<f64>> {
    let mut values = vec![None; grid.points];
    for sample in series.samples.iter().filter(|sample| sample.value.is_finite()) {
        if let Some(place) = grid.place(sample.at) {
            values[place] = Some(sample.value);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrapes::Interval;

    fn host(intervals: usize) -> Host {
        let interval = |at| Interval { from: at, to: at + 1, seconds: 10, broken: false };
        Host { agents: Vec::new(), intervals: (0..intervals).map(interval).collect(), expected: intervals as u64 }
    }

    #[test]
    fn counters_start_at_zero() {
        let mut host = host(4);
        let mut differences = Differences::<u32, 2>::new();
        differences.add(7, 1, &mut host, &[None, Some(3.0), Some(8.0), Some(8.0), None]);
        let [(key, cells)] = &differences.cells().collect::<Vec<_>>()[..] else {
            panic!("there is not exactly one key")
        };
        assert_eq!(**key, 7);
        let grown: Vec<Option<f64>> = cells.iter().map(|cell| cell.grown[1]).collect();
        assert_eq!(grown, [Some(3.0), Some(5.0), Some(0.0), None]);
        assert!(cells.iter().all(|cell| cell.grown[0].is_none() && cell.together().is_some()));
        assert_eq!(cells.iter().map(|cell| cell.is_new[1]).collect::<Vec<_>>(), [true, false, false, false]);
        assert_eq!(host.left_out(), 0);
    }

    #[test]
    fn counters_of_a_key_begin_together() {
        let mut host = host(2);
        let mut differences = Differences::<u32, 2>::new();
        differences.add(7, 0, &mut host, &[Some(1.0), Some(3.0), Some(8.0)]);
        differences.add(7, 1, &mut host, &[None, Some(900.0), Some(901.0)]);
        let cells = differences.of(&7).unwrap();
        assert!(cells[0].together().is_none(), "the store lacks its first value");
        assert_eq!(cells[1].together(), Some(&[Some(5.0), Some(1.0)]));
        assert_eq!([cells[0].with(false), cells[0].with(true)], [[Some(2.0), None], [None, Some(900.0)]]);
    }

    #[test]
    fn gauges_may_decrease() {
        let mut host = host(3);
        let mut differences = Differences::<u32, 1>::new();
        differences.add_gauge(7, 0, &mut host, &[None, Some(-3.0), Some(2.0), Some(-1.0)]);
        let grown: Vec<Option<f64>> = differences.of(&7).unwrap().iter().map(|cell| cell.grown[0]).collect();
        assert_eq!((grown, host.left_out()), (vec![Some(-3.0), Some(5.0), Some(-3.0)], 0));
        assert!(differences.of(&8).is_none());
    }

    #[test]
    fn the_total_increase_includes_what_is_counted_before_the_first_scrape_of_a_new_agent() {
        let agent = |first, last, is_new| AgentScrapes { first, last, is_new };
        let restarted = [agent(0, 1, false), agent(2, 3, true)];
        assert_eq!(total_increase(&restarted, &[Some(7.0), Some(9.0), Some(5.0), Some(6.0)]), 2.0 + 6.0);
        // The new agent counted more than the earlier one.
        assert_eq!(total_increase(&restarted, &[Some(7.0), Some(9.0), Some(50.0), None]), 2.0 + 50.0);
        assert_eq!(total_increase(&[agent(1, 2, true)], &[None, Some(4.0), Some(4.0)]), 4.0);
        // A service that an earlier agent did not know, scrapes that are missing, and a service that was forgotten.
        assert_eq!(total_increase(&[agent(0, 2, false)], &[None, Some(4.0), Some(4.0)]), 4.0);
        assert_eq!(total_increase(&[agent(0, 3, false)], &[Some(3.0), None, None, Some(8.0)]), 5.0);
        assert_eq!(total_increase(&[agent(0, 2, false)], &[Some(3.0), None, Some(1.0)]), 1.0);
        assert_eq!(total_increase(&[agent(0, 1, false)], &[Some(1e12), Some(1e12 - 1.0)]), 0.0);
    }

    #[test]
    fn a_decrease_of_a_counter_breaks_its_interval() {
        let mut host = host(2);
        let mut differences = Differences::<u32, 1>::new();
        differences.add(0, 0, &mut host, &[Some(9.0), Some(4.0), Some(5.0)]);
        assert_eq!((host.intervals[0].broken, host.intervals[1].broken, host.left_out()), (true, false, 1));
        // A decrease in the last digits of a large sum is rounding.
        let mut host = self::host(1);
        differences.add(1, 0, &mut host, &[Some(1e12), Some(1e12 - 1.0)]);
        assert!(!host.intervals[0].broken);
    }
}
