//! Charts of a bench.

use steady_render::chart::{Axis, Bar, Chart, Height, Look, Marks, Series, Whisker};
use steady_render::scale::{Kind, Scale};
use steady_render::units::{TIE, memory, short};
use steady_workloads::signature::Allocator;

use super::{main_bytes, name, pool, ways, workers};
use crate::record::{Answer, BenchRecord, Figures, MeasuredCondition};

/// Allocators with a line in charts by number of workers.
const DRAWN: [Allocator; 4] = [Allocator::None, Allocator::Pool, Allocator::Global, Allocator::System];

/// Charts the throughput of each condition as a bar, on the size that the questions are about.
pub(super) fn throughput(record: &BenchRecord) -> Option<Chart> {
    let bytes = main_bytes(record);
    let rate = |one: &&MeasuredCondition| Some(one.figures.as_ref().ok()?.bytes_per_second.as_ref().ok()? / 1e6);
    let ways: Vec<&MeasuredCondition> = ways(record, bytes).into_iter().filter(|one| rate(one).is_some()).collect();
    let rates: Vec<f64> = ways.iter().filter_map(rate).collect();
    let most = rates.iter().copied().reduce(f64::max)?;
    let bars = rates.iter().enumerate().map(|(row, rate)| Bar { row, from: 0.0, to: *rate, text: short(*rate) });
    Some(Chart {
        label: format!("Throughput on {}, in MB/s", memory(bytes as f64)),
        height: Height::Tall,
        x: Axis::Scale(Scale::new(Kind::Number, 0.0, most)),
        y: Axis::Names(ways.iter().map(|one| name(&one.condition)).collect()),
        series: vec![Series { name: None, look: Look::First, marks: Marks::Bars(bars.collect()) }],
        note: None,
    })
}

/// Charts the throughput by number of workers as a line for each allocator, on the size that the questions are about.
pub(crate) fn throughput_by_workers(record: &BenchRecord) -> Chart {
    let bytes = main_bytes(record);
    let rate = |figures: &Figures| figures.bytes_per_second.as_ref().ok().map(|rate| (rate / 1e6).ln());
    let nothing = Chart {
        label: "There is no chart: there are too few measurements".to_owned(),
        height: Height::Middle,
        x: Axis::Names(vec![]),
        y: Axis::Names(vec![]),
        series: vec![],
        note: None,
    };
    lines(record, bytes, Kind::LogNumber, rate).map_or(nothing, |chart| Chart {
        label: format!("Signatures of {}: throughput in MB/s by workers", memory(bytes as f64)),
        note: Some("x axis: workers".to_owned()),
        ..chart
    })
}

/// Charts the time of each allocator by number of workers, relative to a pool with one worker.
pub(super) fn time_by_workers(record: &BenchRecord, bytes: u64) -> Option<Chart> {
    let is_base = |one: &&&MeasuredCondition| one.condition.allocator == Allocator::Pool && one.condition.workers == 1;
    let base = ways(record, bytes).iter().find(is_base)?.figures.as_ref().ok()?.wall_seconds;
    let note = "x axis: workers; y axis: real time relative to a pool with one worker (log scale).";
    let mut chart = lines(record, bytes, Kind::Change, |figures| Some((figures.wall_seconds / base).ln()))?;
    chart.series.insert(0, Series { name: None, look: Look::Rest, marks: Marks::Across(0.0) });
    let label = format!("Real time on {} by workers, for each allocator", memory(bytes as f64));
    Some(Chart { label, note: Some(note.to_owned()), ..chart })
}

/// Charts logarithms by number of workers as a line for each allocator. Returns `None` with fewer than two numbers of
/// workers.
fn lines(record: &BenchRecord, bytes: u64, kind: Kind, log: impl Fn(&Figures) -> Option<f64>) -> Option<Chart> {
    let ways: Vec<&MeasuredCondition> = ways(record, bytes)
        .into_iter()
        .filter(|one| one.figures.as_ref().is_ok_and(|one| log(one).is_some()))
        .collect();
    // A thread for each block was measured with one allocator only.
    let pools: Vec<&MeasuredCondition> =
        ways.iter().copied().filter(|one| one.condition.allocator == Allocator::Pool).collect();
    let workers = workers(&pools);
    let line = |allocator: Allocator| -> Vec<(f64, f64)> {
        let points = ways.iter().filter(|one| one.condition.allocator == allocator).filter_map(|one| {
            let place = workers.iter().position(|count| *count == one.condition.workers)?;
            Some((place as f64, log(one.figures.as_ref().ok()?)?))
        });
        points.collect()
    };
    let series = DRAWN.map(|allocator| Series {
        name: Some(allocator.name().to_owned()),
        look: match allocator {
            Allocator::Pool => Look::First,
            Allocator::Global => Look::Second,
            Allocator::System => Look::Third,
            _ => Look::Rest,
        },
        marks: Marks::Line(line(allocator)),
    });
    let logs = DRAWN.iter().flat_map(|allocator| line(*allocator)).map(|(_, log)| log);
    let (low, high) = (logs.clone().reduce(f64::min)?, logs.reduce(f64::max)?);
    (workers.len() > 1).then(|| Chart {
        label: String::new(),
        height: Height::Middle,
        y: Axis::Scale(Scale::new(kind, low - 0.15, high + 0.15)),
        x: Axis::Names(workers.iter().map(u32::to_string).collect()),
        series: series.into(),
        note: None,
    })
}

/// Charts the time of pools that start over only when they are full, by their size.
pub(super) fn time_by_pools(record: &BenchRecord, answers: &[&Answer]) -> Option<Chart> {
    let is_known = |answer: &&&Answer| answer.factor.is_ok() && answer.interval.is_ok();
    let known: Vec<&&Answer> = answers.iter().filter(is_known).collect();
    let factors = known.iter().flat_map(|answer| &answer.factor).enumerate();
    let points = factors.map(|(place, factor)| (place as f64, factor.ln())).collect();
    let intervals = known.iter().flat_map(|answer| &answer.interval).enumerate();
    let whiskers: Vec<Whisker> = intervals
        .map(|(place, interval)| Whisker { x: place as f64, low: interval.low.ln(), high: interval.high.ln() })
        .collect();
    let low = whiskers.iter().map(|one| one.low).fold(0.0, f64::min) - 0.01;
    let high = whiskers.iter().map(|one| one.high).fold(0.0, f64::max) + 0.01;
    let series = |look, marks| Series { name: None, look, marks };
    (known.len() > 1).then(|| Chart {
        label: "Time by the size of the pool".to_owned(),
        height: Height::Middle,
        x: Axis::Names(known.iter().map(|answer| pool(record, answer.condition)).collect()),
        y: Axis::Scale(Scale::new(Kind::Change, low, high)),
        series: vec![
            series(Look::Rest, Marks::Across(0.0)),
            series(Look::Third, Marks::Intervals(whiskers)),
            series(Look::First, Marks::Line(points)),
        ],
        note: Some(format!(
            "x axis: size of a pool that starts over only when it is full; y axis: its time relative to a pool that \
             starts over with each block, one worker, with intervals at 95{TIE}%."
        )),
    })
}
