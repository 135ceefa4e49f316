//! The chart of the machine's load over time.

use steady_model::{Moment, Reading, Record};
use steady_render::document::Block;
use steady_render::scale::{Kind, Scale};
use steady_render::{Axis, Chart, Height, Look, Marks, Series};

use super::points::Points;
use super::timeline::time;
use super::{plain, series};

/// The maximum number of steps in a line. If there are more moments, each step is the mean of several.
const MOST: usize = 600;

/// Returns one reading of a moment.
type Pick = fn(&Moment) -> Option<f64>;

/// The lines of the chart: style, name, reading of each moment, and reading over the whole comparison.
fn readings(record: &Record) -> [(Look, &'static str, Pick, &Reading<f64>); 3] {
    let activity = &record.activity;
    [
        (Look::First, "CPUs busy", |moment| moment.busy_ratio, &activity.busy_ratio),
        (Look::Second, "some process waited for a CPU", |moment| moment.pressure, &activity.pressure),
        (Look::Third, "stolen by the host", |moment| moment.steal_ratio, &activity.steal_ratio),
    ]
}

/// The chart, with the same time axis as the points, or a sentence that says why there is none.
pub(super) fn block(record: &Record, points: &Points) -> Block {
    if record.moments.is_empty() {
        let why = "The machine's load over time was not measured: the record has no readings of it.".to_owned();
        return Block::Paragraph(plain(why));
    }
    let group = record.moments.len().div_ceil(MOST);
    let mut notes = vec!["The machine's load.".to_owned()];
    let mut all = Vec::new();
    for (look, name, pick, whole) in readings(record) {
        let lines = lines(record, group, pick, look, name);
        if lines.is_empty() {
            let why = whole.as_ref().err().map_or("no moment has a reading", |absent| absent.0.as_str());
            notes.push(format!("Not measured: {name}: {why}."));
        }
        all.extend(lines);
    }
    if group > 1 {
        notes.push(format!("Each step is the mean of {group} readings."));
    }
    Block::Chart(Chart {
        label: "Shares of time during the comparison: CPUs busy, some process waiting for a CPU, stolen by the host"
            .to_owned(),
        height: Height::Low,
        x: Axis::Scale(time(record, points)),
        y: Axis::Scale(Scale::new(Kind::Share, 0.0, 1.0)),
        series: all,
        note: Some(notes.join(" ")),
    })
}

/// A line of steps: each moment stands for the time since the previous one. The line is interrupted where a reading is
/// missing.
fn lines(record: &Record, group: usize, pick: Pick, look: Look, name: &str) -> Vec<Series> {
    let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut from = record.moments.first().map_or(0.0, |moment| moment.at.seconds());
    from -= record.moments.get(1).map_or(0.0, |second| second.at.seconds() - from);
    let mut continues = false;
    for moments in record.moments.chunks(group) {
        let to = moments.last().map_or(from, |moment| moment.at.seconds());
        let known: Vec<f64> = moments.iter().filter_map(pick).filter(|share| share.is_finite()).collect();
        if !known.is_empty() && to > from {
            let value = (known.iter().sum::<f64>() / known.len() as f64).clamp(0.0, 1.0);
            match lines.last_mut().filter(|_| continues) {
                Some(line) => line.extend([(from, value), (to, value)]),
                None => lines.push(vec![(from.max(0.0), value), (to, value)]),
            }
        }
        continues = !known.is_empty() && to > from;
        from = to;
    }
    let line = |(index, line)| series((index == 0).then_some(name), look, Marks::Line(line));
    lines.into_iter().enumerate().map(line).collect()
}
