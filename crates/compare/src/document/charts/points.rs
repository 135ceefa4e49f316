//! The points of the charts: differences of pairs or costs of runs, and a selection of them if there are many.

use steady_model::{Block, FailureRule, Layout, Metric, Record};
use steady_render::scale::{Kind, Scale};

/// A pair or a run: the time of its end in seconds, and its difference or cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) at: f64,
    pub(super) value: f64,
}

/// All points of a chart by layout, in the order of time, and the number of pairs or runs that have no point.
#[derive(Default)]
pub(super) struct Points {
    pub(super) by_layout: Vec<(Layout, Vec<Point>)>,
    /// Pairs or runs that have no point because a run failed.
    pub(super) failed: usize,
    /// Pairs or runs that have no point because a cost was not measured, or is zero and has no logarithm.
    pub(super) absent: usize,
}

impl Points {
    /// The differences between a contender's runs and the first command's runs: logarithms of the ratios.
    pub(super) fn of_pairs(record: &Record, contender: usize) -> Self {
        Points::collect(record, |block| {
            let (Some((_, old)), Some((_, new))) = (block.run_of(0), block.run_of(contender)) else { return None };
            Some([old, new].into_iter().try_fold(None, |before: Option<f64>, run| {
                let cost = cost(run, record.primary, &record.plan.failures)?.ln();
                Ok(Some(before.map_or(cost, |before| cost - before)))
            }))
        })
    }

    /// The costs of the runs of the first command.
    pub(super) fn of_runs(record: &Record) -> Self {
        let value = |block: &Block| {
            let (_, run) = block.run_of(0)?;
            Some(cost(run, record.primary, &record.plan.failures).map(Some))
        };
        Points::collect(record, value)
    }

    /// One point per block for which `value` returns a number.
    fn collect(record: &Record, value: impl Fn(&Block) -> Option<Result<Option<f64>, Missing>>) -> Self {
        let mut points = Points::default();
        let mut lists: [Vec<Point>; 2] = Default::default();
        for block in &record.blocks {
            match value(block) {
                Some(Ok(Some(value))) => lists[block.layout.index()].push(Point { at: block.ended.seconds(), value }),
                Some(Err(Missing::Failed)) => points.failed += 1,
                Some(Err(Missing::Absent) | Ok(None)) => points.absent += 1,
                None => {}
            }
        }
        let lists = Layout::ALL.into_iter().zip(lists);
        points.by_layout = lists.filter(|(_, points)| !points.is_empty()).collect();
        points
    }

    /// The number of points in all layouts.
    pub(super) fn len(&self) -> usize {
        self.by_layout.iter().map(|(_, points)| points.len()).sum()
    }

    /// An axis that contains the bulk of every layout. Points further than three interquartile ranges from the middle
    /// half are outside.
    pub(super) fn scale(&self, kind: Kind) -> Scale {
        let ranges = self.by_layout.iter().map(|(_, points)| bulk(points));
        let (low, high) =
            ranges.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), bulk| (low.min(bulk.0), high.max(bulk.1)));
        let mut scale = Scale::new(kind, low, high);
        // The axis contains zero, which is no difference, if the points still fill half of it.
        if kind == Kind::Change && (high.max(0.0) - low.min(0.0)) <= 2.0 * (high - low) {
            scale = Scale::new(kind, low.min(0.0), high.max(0.0));
        }
        scale.padded()
    }
}

/// Why a run has no point.
enum Missing {
    Failed,
    Absent,
}

fn cost(run: &steady_model::Run, metric: Metric, rule: &FailureRule) -> Result<f64, Missing> {
    if !run.succeeded(rule) {
        return Err(Missing::Failed);
    }
    run.cost(metric).ok().filter(|cost| *cost > 0.0).ok_or(Missing::Absent)
}

/// The ends of the range that contains the bulk of the points.
fn bulk(points: &[Point]) -> (f64, f64) {
    let mut values: Vec<f64> = points.iter().map(|point| point.value).collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    let (least, most) = (values[0], values[values.len() - 1]);
    let range = at(0.75) - at(0.25);
    if range <= 0.0 {
        // At least half of the values are equal, because the clock is coarse.
        return (at(0.02), at(0.98));
    }
    (least.max(at(0.25) - 3.0 * range), most.min(at(0.75) + 3.0 * range))
}

/// The number of points that are kept of each stretch: its two extremes, and six between them.
const KEPT: usize = 8;

/// Selects about `most` points, [`KEPT`] from each stretch. Returns them and the length of a stretch, which is `None`
/// if all points are selected.
///
/// Each stretch of consecutive points keeps its lowest, its highest and points at even ranks between them. The choice
/// depends on the values only, and keeps all extremes.
pub(super) fn thin(points: &[Point], most: usize) -> (Vec<Point>, Option<usize>) {
    if points.len() <= most {
        return (points.to_vec(), None);
    }
    let stretch = (points.len() * KEPT).div_ceil(most.max(KEPT));
    let kept = points.chunks(stretch).flat_map(|chunk| {
        let mut chunk = chunk.to_vec();
        chunk.sort_by(|one, other| one.value.total_cmp(&other.value));
        let keep = KEPT.min(chunk.len());
        (0..keep).map(move |place| chunk[place * (chunk.len() - 1) / (keep - 1).max(1)]).collect::<Vec<_>>()
    });
    (kept.collect(), Some(stretch))
}

/// The rule of [`thin`] in words.
pub(super) fn kept_in_words(stretch: usize) -> String {
    format!("of every {stretch} in a row, the lowest, the highest and {} at even ranks between them", KEPT - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: usize) -> Vec<Point> {
        (0..count).map(|index| Point { at: index as f64, value: ((index * 7919) % 1009) as f64 }).collect()
    }

    #[test]
    fn thinning_keeps_the_extremes_of_every_stretch() {
        let all = points(100_000);
        let (kept, stretch) = thin(&all, 4_000);
        let stretch = stretch.unwrap();
        assert!(kept.len() <= 4_000 && kept.len() > 3_900, "{}", kept.len());
        for (chunk, few) in all.chunks(stretch).zip(kept.chunks(KEPT)) {
            let ends = |points: &[Point]| {
                let values = points.iter().map(|point| point.value);
                (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max))
            };
            assert_eq!(ends(chunk), ends(few));
        }
        assert_eq!(thin(&all[..50], 4_000), (all[..50].to_vec(), None));
    }

    #[test]
    fn the_bulk_excludes_outliers() {
        let mut all = points(1000);
        all[500].value = 1e9;
        assert!(bulk(&all).1 < 1e5);
        assert_eq!(bulk(&[Point { at: 0.0, value: 3.0 }]), (3.0, 3.0));
    }
}
