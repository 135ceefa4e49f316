//! The increases of counters between scrapes.

use std::collections::BTreeMap;

use crate::answer::Series;
use crate::grid::Grid;
use crate::scrapes::{AgentScrapes, Host};

/// The largest relative decrease of a counter that is rounding: some stores keep only twelve digits of a value.
const ROUNDED: f64 = 1e-9;

/// The increases of N counters, by a key and by the intervals of its host; `None` if an increase is not known.
pub(crate) struct Differences<K, const N: usize> {
    cells: BTreeMap<K, Vec<[Option<f64>; N]>>,
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
        let cells = self.cells.entry(key).or_insert_with(|| vec![[None; N]; host.intervals.len()]);
        for (cell, interval) in cells.iter_mut().zip(&mut host.intervals) {
            // A series that is missing at the first scrape was 0 then, because all sums start at 0.
            let Some(now) = values[interval.to] else { continue };
            let before = values[interval.from].unwrap_or(0.0);
            if is_counter {
                interval.broken |= now < before - ROUNDED * before.abs();
            }
            let least = if is_counter { 0.0 } else { f64::NEG_INFINITY };
            cell[which] = Some((now - before).max(least));
        }
    }

    /// Returns the increases of a key, by interval.
    pub(crate) fn of(&self, key: &K) -> Option<&Vec<[Option<f64>; N]>> {
        self.cells.get(key)
    }

    /// Returns all keys with their increases by interval.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&K, &Vec<[Option<f64>; N]>)> {
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
        let grown: Vec<Option<f64>> = cells.iter().map(|cell| cell[1]).collect();
        assert_eq!(grown, [Some(3.0), Some(5.0), Some(0.0), None]);
        assert!(cells.iter().all(|cell| cell[0].is_none()));
        assert_eq!(host.left_out(), 0);
    }

    #[test]
    fn gauges_may_decrease() {
        let mut host = host(3);
        let mut differences = Differences::<u32, 1>::new();
        differences.add_gauge(7, 0, &mut host, &[None, Some(-3.0), Some(2.0), Some(-1.0)]);
        let grown: Vec<Option<f64>> = differences.of(&7).unwrap().iter().map(|cell| cell[0]).collect();
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
