//! The moments at which counters are looked at.

/// Moments in equal steps, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The first.
    pub(crate) start: u64,
    /// From one to the next: the block.
    pub(crate) step: u64,
    /// How many.
    pub(crate) points: usize,
}

/// More points than this no store gives of a series (Prometheus: 11,000).
const MOST_POINTS: u64 = 10_000;
/// More values than this are not asked for of one metric.
const MOST_VALUES: u64 = 400_000;

impl Grid {
    /// The moments of a window that begin a block, each as long as `step`. Whatever a scrape at the first of them adds
    /// to the next one happened within the window, where scrapes are `scrape` seconds apart.
    pub(crate) fn of(from: u64, to: u64, step: u64, scrape: u64) -> Grid {
        let start = (from + scrape).next_multiple_of(step);
        let last = to / step * step;
        let points = if last >= start { (last - start) / step + 1 } else { 0 };
        Grid { start, step, points: points as usize }
    }

    /// The last.
    pub(crate) fn end(&self) -> u64 {
        self.moment(self.points.saturating_sub(1))
    }

    /// The one at a place.
    pub(crate) fn moment(&self, place: usize) -> u64 {
        self.start + place as u64 * self.step
    }

    /// The place of a moment; `None` where it is none of them.
    pub(crate) fn place(&self, at: f64) -> Option<usize> {
        let place = (at - self.start as f64) / self.step as f64;
        let is_one = place.fract() == 0.0 && (0.0..self.points as f64).contains(&place);
        is_one.then_some(place as usize)
    }
}

/// How long a block is: a multiple of the time between scrapes, no shorter than was asked for, and long enough that
/// `series` of a metric have not too many values within `seconds`.
pub(crate) fn block(scrape: u64, asked: Option<u64>, series: u64, seconds: u64) -> u64 {
    let least = asked.unwrap_or(scrape).max(scrape).next_multiple_of(scrape);
    let steps = (MOST_VALUES / series.max(1)).clamp(1, MOST_POINTS);
    let needed = seconds.div_ceil(steps);
    least.max(needed).next_multiple_of(scrape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_within_the_window_and_a_scrape_behind_its_begin() {
        let grid = Grid::of(100, 160, 15, 15);
        assert_eq!((grid.start, grid.points, grid.end()), (120, 3, 150));
        assert_eq!([120.0, 135.0, 150.0].map(|at| grid.place(at)), [Some(0), Some(1), Some(2)]);
        assert_eq!([105.0, 165.0, 120.5, f64::NAN].map(|at| grid.place(at)), [None; 4]);
        assert_eq!(Grid::of(100, 101, 15, 15).points, 0);
        assert_eq!(Grid::of(0, u64::MAX / 2, 60, 60).moment(1), 120);
    }

    #[test]
    fn blocks_are_whole_scrapes_and_grow_with_the_fleet() {
        assert_eq!(block(15, None, 200, 300), 15);
        assert_eq!(block(15, Some(20), 200, 300), 30);
        assert_eq!(block(15, Some(5), 200, 300), 15);
        // 1,000 hosts, 50 routes and 2 versions: four values of each.
        assert_eq!(block(15, None, 100_000, 300), 75);
        assert_eq!(block(1, None, 1, 86_400), 9);
        assert_eq!(block(1, None, u64::MAX, 300), 300);
    }
}
