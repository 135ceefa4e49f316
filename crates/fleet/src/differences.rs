//! What counters grew by from scrape to scrape.

use std::collections::BTreeMap;

use crate::answer::Series;
use crate::grid::Grid;
use crate::scrapes::Host;

/// Some stores keep twelve digits of a value: what is less than that of it is no step back.
const ROUNDED: f64 = 1e-9;

/// What several counters of one kind grew by, each by a key and by its host's intervals. `None` where that is not
/// known.
pub(crate) struct Differences<K, const N: usize> {
    cells: BTreeMap<K, Vec<[Option<f64>; N]>>,
}

impl<K: Ord, const N: usize> Differences<K, N> {
    pub(crate) fn new() -> Self {
        Differences { cells: BTreeMap::new() }
    }

    /// Adds the values of the counter at place `which`. Where it went back, its interval is broken.
    pub(crate) fn add(&mut self, key: K, which: usize, host: &mut Host, values: &[Option<f64>]) {
        self.add_running(key, which, host, values, true);
    }

    /// Adds the values of a running sum that may go back.
    pub(crate) fn add_gauge(&mut self, key: K, which: usize, host: &mut Host, values: &[Option<f64>]) {
        self.add_running(key, which, host, values, false);
    }

    fn add_running(&mut self, key: K, which: usize, host: &mut Host, values: &[Option<f64>], only_grows: bool) {
        let cells = self.cells.entry(key).or_insert_with(|| vec![[None; N]; host.intervals.len()]);
        for (cell, interval) in cells.iter_mut().zip(&mut host.intervals) {
            // Sums begin at 0, and the agent was there: what it shows only now has grown from that.
            let Some(now) = values[interval.to] else { continue };
            let before = values[interval.from].unwrap_or(0.0);
            if only_grows {
                interval.broken |= now < before - ROUNDED * before.abs();
            }
            let least = if only_grows { 0.0 } else { f64::NEG_INFINITY };
            cell[which] = Some((now - before).max(least));
        }
    }

    /// What sums of a key grew by, by interval.
    pub(crate) fn of(&self, key: &K) -> Option<&Vec<[Option<f64>; N]>> {
        self.cells.get(key)
    }

    /// The keys, and what grew by interval.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&K, &Vec<[Option<f64>; N]>)> {
        self.cells.iter()
    }
}

/// The values of a series on the grid.
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
        Host { intervals: (0..intervals).map(interval).collect(), looked_for: intervals as u64 }
    }

    #[test]
    fn counters_begin_at_zero_and_go_back_with_nothing() {
        let mut host = host(4);
        let mut differences = Differences::<u32, 2>::new();
        differences.add(7, 1, &mut host, &[None, Some(3.0), Some(8.0), Some(8.0), None]);
        let [(key, cells)] = &differences.cells().collect::<Vec<_>>()[..] else { panic!("one key") };
        assert_eq!(**key, 7);
        let grown: Vec<Option<f64>> = cells.iter().map(|cell| cell[1]).collect();
        assert_eq!(grown, [Some(3.0), Some(5.0), Some(0.0), None]);
        assert!(cells.iter().all(|cell| cell[0].is_none()));
        assert_eq!(host.left_out(), 0);
    }

    #[test]
    fn gauges_may_go_back() {
        let mut host = host(3);
        let mut differences = Differences::<u32, 1>::new();
        differences.add_gauge(7, 0, &mut host, &[None, Some(-3.0), Some(2.0), Some(-1.0)]);
        let grown: Vec<Option<f64>> = differences.of(&7).unwrap().iter().map(|cell| cell[0]).collect();
        assert_eq!((grown, host.left_out()), (vec![Some(-3.0), Some(5.0), Some(-3.0)], 0));
        assert!(differences.of(&8).is_none());
    }

    #[test]
    fn a_step_back_breaks_its_interval() {
        let mut host = host(2);
        let mut differences = Differences::<u32, 1>::new();
        differences.add(0, 0, &mut host, &[Some(9.0), Some(4.0), Some(5.0)]);
        assert_eq!((host.intervals[0].broken, host.intervals[1].broken, host.left_out()), (true, false, 1));
        // The last digits of a large sum are none.
        let mut host = self::host(1);
        differences.add(1, 0, &mut host, &[Some(1e12), Some(1e12 - 1.0)]);
        assert!(!host.intervals[0].broken);
    }
}
