//! What is drawn: differences of pairs, or costs of runs, and which of them where there are many.

use steady_model::{Block, FailureRule, Layout, Metric, Record};
use steady_render::scale::{Kind, Scale};

/// A pair or a run: when it ended, in seconds, and its difference or cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) at: f64,
    pub(super) value: f64,
}

/// All points of a chart, by layout in the order of time; and how many there are none for.
#[derive(Default)]
pub(super) struct Points {
    pub(super) by_layout: Vec<(Layout, Vec<Point>)>,
    /// Those with a failed run.
    pub(super) failed: usize,
    /// Those without a reading, or with one of zero, which has no ratio.
    pub(super) absent: usize,
}

impl Points {
    /// The differences between a contender's runs and the first command's: logarithms of the ratios.
    pub(super) fn of_pairs(record: &Record, contender: usize) -> Self {
        Points::collect(record, |block| {
            let (Some((_, old)), Some((_, new))) = (block.run_of(0), block.run_of(contender)) else { return None };
            Some([old, new].into_iter().try_fold(None, |before: Option<f64>, run| {
                let cost = cost(run, record.primary, &record.plan.failures)?.ln();
                Ok(Some(before.map_or(cost, |before| cost - before)))
            }))
        })
    }

    /// The costs of a command's runs.
    pub(super) fn of_runs(record: &Record) -> Self {
        let value = |block: &Block| {
            let (_, run) = block.run_of(0)?;
            Some(cost(run, record.primary, &record.plan.failures).map(Some))
        };
        Points::collect(record, value)
    }

    /// One point per block that `value` has something for.
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

    /// How many points there are.
    pub(super) fn len(&self) -> usize {
        self.by_layout.iter().map(|(_, points)| points.len()).sum()
    }

    /// An axis that shows the bulk of every layout: what lies further than three interquartile ranges from the middle
    /// half is left outside.
    pub(super) fn scale(&self, kind: Kind) -> Scale {
        let ranges = self.by_layout.iter().map(|(_, points)| bulk(points));
        let (low, high) =
            ranges.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), bulk| (low.min(bulk.0), high.max(bulk.1)));
        let mut scale = Scale::new(kind, low, high);
        // Zero is what all is held against: it is shown where that leaves half of the room to the points.
        if kind == Kind::Change && (high.max(0.0) - low.min(0.0)) <= 2.0 * (high - low) {
            scale = Scale::new(kind, low.min(0.0), high.max(0.0));
        }
        scale.padded()
    }
}

/// Why a run has no cost to draw.
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

/// The ends of the bulk.
fn bulk(points: &[Point]) -> (f64, f64) {
    let mut values: Vec<f64> = points.iter().map(|point| point.value).collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    let (least, most) = (values[0], values[values.len() - 1]);
    let range = at(0.75) - at(0.25);
    if range <= 0.0 {
        // More than half are one and the same: the clock's grain.
        return (at(0.02), at(0.98));
    }
    (least.max(at(0.25) - 3.0 * range), most.min(at(0.75) + 3.0 * range))
}

/// How many points are kept of each stretch of them: its two extremes, and as many between.
const KEPT: usize = 8;

/// At most about `most` of the points, and of how many in a row [`KEPT`] are kept, where not all are.
///
/// Every stretch of as many points in a row keeps its lowest, its highest and those at even ranks between: nothing in the
/// choice looks at anything but the values, and no extreme is lost.
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

/// What [`thin`] keeps of each stretch, in words.
pub(super) fn kept_in_words(stretch: usize) -> String {
    format!("of every {stretch} in a row the lowest, the highest and {} at even ranks between", KEPT - 2)
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
    fn the_bulk_leaves_out_what_is_far_away() {
        let mut all = points(1000);
        all[500].value = 1e9;
        assert!(bulk(&all).1 < 1e5);
        assert_eq!(bulk(&[Point { at: 0.0, value: 3.0 }]), (3.0, 3.0));
    }
}
