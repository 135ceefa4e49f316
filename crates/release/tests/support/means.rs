//! Welch's test on the means of a window, the usual comparison.

use steady_model::{ReleaseRows, wall_bucket_middle};
use steady_stats::release::critical;

/// Number of requests, and sums of their times and of the squares.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn mean(&self) -> f64 {
        self.sum / self.n
    }

    /// Returns the variance of the mean.
    fn error(&self) -> f64 {
        (self.squares - self.sum * self.mean()).max(0.0) / (self.n - 1.0) / self.n
    }
}

/// Change of a mean, and whether Welch's test finds it significant at 5 %.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeanChange {
    pub(crate) change: f64,
    pub(crate) differs: bool,
}

/// Compares the means of wall time and of CPU time. The squares of wall times are approximated by their buckets.
pub(crate) fn of(rows: &ReleaseRows) -> [MeanChange; 2] {
    let (mut wall, mut cpu) = ([Moments::default(); 2], [Moments::default(); 2]);
    for row in &rows.requests {
        let (side, n) = (row.version as usize, row.sums.requests as f64);
        wall[side].n += n;
        wall[side].sum += row.sums.wall;
        cpu[side].n += n;
        cpu[side].sum += row.sums.cpu;
        cpu[side].squares += row.sums.cpu_squared;
    }
    for row in &rows.walls {
        let square = |&(bucket, count): &(u16, u32)| wall_bucket_middle(bucket).powi(2) * f64::from(count);
        wall[row.version as usize].squares += row.counts.iter().map(square).sum::<f64>();
    }
    [wall, cpu].map(welch)
}

fn welch([old, new]: [Moments; 2]) -> MeanChange {
    let variance = old.error() + new.error();
    let freedom = variance.powi(2) / (old.error().powi(2) / (old.n - 1.0) + new.error().powi(2) / (new.n - 1.0));
    let apart = (new.mean() - old.mean()).abs();
    MeanChange { change: new.mean() / old.mean() - 1.0, differs: apart > critical(0.05, freedom) * variance.sqrt() }
}
