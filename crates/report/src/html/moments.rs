//! The machine's load over time, below what was measured meanwhile.

use maud::{Markup, html};
use steady_model::{Moment, Reading, Record};

use super::scale::Scale;
use super::svg::{Path, Plot, sample};
use crate::units::percent;

/// More stretches of time than this are drawn as means of several.
const MOST: usize = 600;

/// How high all of the time is drawn: below the edge, where a line would lose half of its width.
const FULL: f64 = 0.94;

/// One reading of every moment.
type Pick = fn(&Moment) -> Option<f64>;

/// What is drawn: its class, its name, the reading over time and as a whole.
fn series(record: &Record) -> [(&'static str, &'static str, Pick, &Reading<f64>); 3] {
    let activity = &record.activity;
    [
        ("busy", "CPUs busy", |moment| moment.busy_ratio, &activity.busy_ratio),
        ("pressure", "something waited for a CPU", |moment| moment.pressure, &activity.pressure),
        ("steal", "stolen by the host", |moment| moment.steal_ratio, &activity.steal_ratio),
    ]
}

/// The chart and its key, on the axis of time of the charts above it.
pub(super) fn draw(record: &Record, time: &Scale, looks: &Markup, more: &Markup) -> Markup {
    let drawn = |pick: Pick| record.moments.iter().any(|moment| pick(moment).is_some());
    if record.moments.is_empty() {
        return html! {
            p.key { (more) }
            p.note { "The machine's load over time is absent: no moments of it were recorded." }
        };
    }
    let group = record.moments.len().div_ceil(MOST);
    let ticks = vec![(0.5 * FULL, percent(0.5)), (FULL, percent(1.0))];
    let inside = html! {
        (looks)
        @for (class, _, pick, _) in series(record).into_iter().rev() { (steps(record, time, group, pick, class)) }
    };
    let label = "Shares of time over the comparison: CPUs busy, something waiting for a CPU, stolen by the host.";
    html! {
        h4 { "The machine's load" }
        (Plot { label, height: "low", x: &time.ticks(), x_labels: true, y: &ticks, inside }.draw())
        p.key {
            @for (class, name, pick, whole) in series(record) {
                @if drawn(pick) { span { (sample(class)) (name) } }
                @else { span { (name) " absent: " (reason(whole)) } }
            }
            (more)
            @if group > 1 { span { "drawn: means of " (group) " moments in a row" } }
        }
    }
}

/// Why a reading is absent in every moment.
fn reason(whole: &Reading<f64>) -> String {
    whole.as_ref().err().map_or_else(|| "not told in any moment".to_owned(), |absent| absent.0.clone())
}

/// Each reading as long as it lasted: a moment tells of the time since the one before. Steal, which is mostly little, is
/// an area, the others are lines.
fn steps(record: &Record, time: &Scale, group: usize, pick: Pick, class: &str) -> Markup {
    let mut path = Path::default();
    let mut from = record.moments.first().map_or(0.0, |moment| moment.at.seconds());
    from -= record.moments.get(1).map_or(0.0, |second| second.at.seconds() - from);
    let mut going = false;
    for moments in record.moments.chunks(group) {
        let to = moments.last().map_or(from, |moment| moment.at.seconds());
        let told: Vec<f64> = moments.iter().filter_map(pick).collect();
        let (left, right) = (time.clamped(from), time.clamped(to));
        from = to;
        if told.is_empty() || left >= right {
            going = false;
            continue;
        }
        let value = (told.iter().sum::<f64>() / told.len() as f64).clamp(0.0, 1.0) * FULL;
        match (class, going) {
            ("steal", _) => path.column(left, right, value),
            (_, true) => path.on((left, value)),
            (_, false) => path.start((left, value)),
        }
        if class != "steal" {
            path.on((right, value));
            going = true;
        }
    }
    path.draw(class)
}
