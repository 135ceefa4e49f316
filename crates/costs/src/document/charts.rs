//! Charts: the distribution of a probe's repetitions, and the cost by length of the loop.

use steady_model::Metric;
use steady_render::chart::{Axis, Bin, Chart, Height, Look, Marks, Series, Whisker};
use steady_render::document::{Block, Section};
use steady_render::letters::capital;
use steady_render::scale::{Kind, Scale};

use super::FEW;
use super::figures::{Figures, amount, below, beyond, modes};
use super::notes::count;
use crate::record::{Cost, CostsRecord};

/// One section with a histogram for each measured probe. If there are many, only the first has a legend.
pub(super) fn histograms(record: &CostsRecord) -> Vec<Section> {
    let drawn = record.costs().filter(|cost| cost.histogram.counts.iter().any(|count| *count > 0));
    let are_few = record.costs().count() <= FEW;
    let chart = |at: usize, cost: &Cost| Block::Chart(histogram(cost, at == 0 || are_few));
    drawn.enumerate().map(|(at, cost)| Section::new(&title(cost), vec![chart(at, cost)])).collect()
}

/// The histogram of each measured probe, with the name of the probe.
pub(super) fn plots(record: &CostsRecord) -> Vec<(&'static str, Chart)> {
    let drawn = |cost: &Cost| (cost.probe.name(), Chart { label: title(cost), ..histogram(cost, true) });
    record.costs().map(drawn).collect()
}

/// Title of a histogram: `system_call: 61.70 ns for a system call`.
fn title(cost: &Cost) -> String {
    let size = if cost.below_resolution { below(cost) } else { Figures::of(cost).median() };
    format!("{}: {size} for {}", cost.probe.name(), cost.probe.unit())
}

/// Histogram of a probe's repetitions, with the median, its interval, and the two modes of a bimodal distribution.
/// `with_key` adds a legend.
fn histogram(cost: &Cost, with_key: bool) -> Chart {
    let histogram = &cost.histogram;
    let edge = |bin: usize| histogram.low_seconds + bin as f64 * histogram.width_seconds;
    let bins = histogram.counts.iter().enumerate().map(|(at, count)| Bin {
        from: edge(at),
        to: edge(at + 1),
        height: f64::from(*count),
    });
    let most = histogram.counts.iter().copied().max().map_or(1.0, |most| f64::from(most.max(1)));
    let mark = |x: f64| Whisker { x, low: 0.0, high: most };
    let named = |name: &str, look, marks| Series { name: with_key.then(|| name.to_owned()), look, marks };
    // The interval is drawn above the columns.
    let (low, high) = (cost.low_seconds, cost.high_seconds);
    let interval = Marks::Line(vec![(low, 1.06 * most), (high, 1.06 * most)]);
    let mut series = vec![
        Series { name: None, look: Look::First, marks: Marks::Columns(bins.collect()) },
        named("95\u{a0}% interval of the median", Look::Second, interval),
        named("median", Look::Rest, Marks::Intervals(vec![mark(cost.median_seconds)])),
    ];
    if cost.modes.len() == 2 {
        let modes = cost.modes.iter().map(|mode| mark(mode.median_seconds)).collect();
        series.push(named("one of two modes", Look::Third, Marks::Intervals(modes)));
    }
    let rounds = format!("{} repetitions of {} rounds", cost.repetitions, count(cost.loops));
    let rests_on = format!("{rounds} in bins of {}", amount(histogram.width_seconds));
    let parts = [Some(rests_on), modes(cost), beyond(cost)];
    Chart {
        label: format!("Histogram of {} repetitions of {}", cost.repetitions, cost.probe.name()),
        height: Height::Low,
        x: Axis::Scale(Scale::new(Kind::Cost(Metric::Cpu), edge(0), edge(histogram.counts.len()))),
        y: Axis::Scale(Scale::new(Kind::Count, 0.0, 1.12 * most)),
        series,
        note: Some(format!("{}.", capital(&parts.into_iter().flatten().collect::<Vec<_>>().join("; ")))),
    }
}

/// The axis of relative costs covers at least this range on either side, as a natural logarithm. It keeps noise from
/// filling the chart.
const LEAST: f64 = 0.75;

/// Chart of the costs of a probe by length of the loop, relative to the cost that is the answer. Returns `None` if
/// fewer than two costs can be drawn.
pub(super) fn by_length(all: &[&Cost], answer: &Cost) -> Option<Chart> {
    let relative = |seconds: f64| (seconds / answer.median_seconds).ln();
    let drawn: Vec<(f64, &Cost)> = all
        .iter()
        .enumerate()
        .filter(|(_, cost)| relative(cost.median_seconds).is_finite())
        .map(|(at, cost)| (at as f64, *cost))
        .collect();
    if drawn.len() < 2 {
        return None;
    }
    let whiskers = drawn.iter().map(|(x, cost)| Whisker {
        x: *x,
        low: relative(cost.low_seconds.max(f64::MIN_POSITIVE)),
        high: relative(cost.high_seconds),
    });
    let line: Vec<(f64, f64)> = drawn.iter().map(|(x, cost)| (*x, relative(cost.median_seconds))).collect();
    let (low, high) = line.iter().fold((-LEAST, LEAST), |ends, point| (ends.0.min(point.1), ends.1.max(point.1)));
    let named = |name: String, look, marks| Series { name: Some(name), look, marks };
    Some(Chart {
        label: format!("Cost of {} by length of the loop", answer.probe.name()),
        height: Height::Tall,
        x: Axis::Names(all.iter().map(|cost| rounds(cost.loops)).collect()),
        y: Axis::Scale(Scale::new(Kind::Change, low, high).padded()),
        series: vec![
            named(format!("cost at {} rounds", rounds(answer.loops)), Look::Rest, Marks::Across(0.0)),
            named("95\u{a0}% interval".to_owned(), Look::Second, Marks::Intervals(whiskers.collect())),
            named("median, relative to that cost".to_owned(), Look::First, Marks::Line(line)),
        ],
        note: Some("x axis: rounds of the loop.".to_owned()),
    })
}

/// Short form of a number of rounds: `300 k`.
fn rounds(number: u64) -> String {
    match number {
        _ if number >= 1_000_000 => format!("{} M", number as f64 / 1e6),
        _ if number >= 1_000 => format!("{} k", number as f64 / 1e3),
        _ => number.to_string(),
    }
}
