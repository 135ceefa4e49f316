//! The grid of times at which counters are read.

/// Times at equal distances, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The first time, in seconds since 1970.
    pub(crate) start: u64,
    /// The distance of two times: the length of a block, in seconds.
    pub(crate) step: u64,
    /// The number of times.
    pub(crate) points: usize,
}

/// The fewest points of a grid that can be evaluated: those of two blocks.
pub(crate) const LEAST_POINTS: usize = 3;
/// The most points of a grid. Prometheus returns at most 11,000 points of a series.
const MOST_POINTS: u64 = 10_000;
/// The most values of one metric that are requested.
const MOST_VALUES: u64 = 400_000;

impl Grid {
    /// Returns the multiples of `step` in a window. The first one is at least `scrape` seconds, the time between scrapes,
    /// after the beginning of the window. So the last scrape before it is in the window, and all increases are too.
    pub(crate) fn of(from: u64, to: u64, step: u64, scrape: u64) -> Grid {
        let start = (from + scrape).next_multiple_of(step);
        let last = to / step * step;
        let points = if last >= start { (last - start) / step + 1 } else { 0 };
        Grid { start, step, points: points as usize }
    }

    /// Returns the last time of the grid.
    pub(crate) fn end(&self) -> u64 {
        self.moment(self.points.saturating_sub(1))
    }

    /// Returns the time at a position.
    pub(crate) fn moment(&self, place: usize) -> u64 {
        self.start + place as u64 * self.step
    }

    /// Returns the position of a time; `None` if it is not on the grid.
    pub(crate) fn place(&self, at: f64) -> Option<usize> {
        let place = (at - self.start as f64) / self.step as f64;
        let is_one = place.fract() == 0.0 && (0.0..self.points as f64).contains(&place);
        is_one.then_some(place as usize)
    }
}

/// Returns the length of a block in seconds: a multiple of the time between scrapes, at least `requested`, and long
/// enough that `series` series of a metric do not have too many values within `seconds`.
pub(crate) fn block(scrape: u64, requested: Option<u64>, series: u64, seconds: u64) -> u64 {
    let least = requested.unwrap_or(scrape).max(scrape).next_multiple_of(scrape);
    let steps = (MOST_VALUES / series.max(1)).clamp(1, MOST_POINTS);
    let needed = seconds.div_ceil(steps);
    least.max(needed).next_multiple_of(scrape)
}

/// Returns the length of a window, in seconds, that has [`LEAST_POINTS`] points wherever it begins. `step` is the length
/// of a block, and `scrape` the time between scrapes.
pub(crate) fn sufficient(step: u64, scrape: u64) -> u64 {
    // Less than one step is lost at each end.
    scrape + (LEAST_POINTS as u64 + 1) * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_in_the_window_and_at_least_a_scrape_after_its_start() {
        let grid = Grid::of(100, 160, 15, 15);
        assert_eq!((grid.start, grid.points, grid.end()), (120, 3, 150));
        assert_eq!([120.0, 135.0, 150.0].map(|at| grid.place(at)), [Some(0), Some(1), Some(2)]);
        assert_eq!([105.0, 165.0, 120.5, f64::NAN].map(|at| grid.place(at)), [None; 4]);
        assert_eq!(Grid::of(100, 101, 15, 15).points, 0);
        assert_eq!(Grid::of(0, u64::MAX / 2, 60, 60).moment(1), 120);
    }

    #[test]
    fn a_sufficient_window_has_two_blocks_wherever_it_begins() {
        for (step, scrape) in [(5, 5), (30, 15), (1, 1)] {
            let points = |from: u64, seconds: u64| Grid::of(from, from + seconds, step, scrape).points;
            let least = (1_000..1_000 + step).map(|from| points(from, sufficient(step, scrape))).min();
            assert!(least >= Some(LEAST_POINTS), "{step} {scrape}: {least:?}");
        }
        // Shorter windows may have two blocks if they begin at the right time.
        assert_eq!([Grid::of(100, 115, 5, 5), Grid::of(101, 116, 5, 5)].map(|grid| grid.points), [3, 2]);
    }

    #[test]
    fn blocks_are_multiples_of_the_scrape_interval_and_longer_for_large_fleets() {
        assert_eq!(block(15, None, 200, 300), 15);
        assert_eq!(block(15, Some(20), 200, 300), 30);
        assert_eq!(block(15, Some(5), 200, 300), 15);
        // 1,000 hosts, 50 routes and 2 versions: four values of each.
        assert_eq!(block(15, None, 100_000, 300), 75);
        assert_eq!(block(1, None, 1, 86_400), 9);
        assert_eq!(block(1, None, u64::MAX, 300), 300);
    }
}
