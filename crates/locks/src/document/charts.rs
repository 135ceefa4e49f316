//! Bar charts: the time that threads waited for each lock, and how they spent their lifetimes.

use steady_model::Metric;
use steady_render::chart::{Axis, Bar, Chart, Height, Look, Marks, Series};
use steady_render::letters::numbered;
use steady_render::scale::{Kind, Scale};
use steady_render::units::time;

use super::label;
use crate::record::{LockThread, LockUse, LocksRecord};

/// Maximum number of bars; more have no room for their names.
const ROWS: usize = 12;

/// The parts of a bar, from left to right.
const PARTS: [(&str, Look); 4] = [
    ("waiting for locks", Look::First),
    ("waiting for conditions and semaphores", Look::Second),
    ("waiting for other threads to end", Look::Third),
    ("other: on a CPU, waiting for a CPU, or blocked for another reason", Look::Rest),
];

/// Chart of the locks with the longest total waiting time.
pub(super) fn waits(record: &LocksRecord) -> Option<Chart> {
    let mut all: Vec<&LockUse> = record.locks.iter().filter(|lock| lock.waited() > 0.0).collect();
    all.sort_by(|one, other| other.waited().total_cmp(&one.waited()));
    let parts = |lock: &&LockUse| {
        let waited = lock.waited();
        if lock.kind.is_held() { [waited, 0.0, 0.0, 0.0] } else { [0.0, waited, 0.0, 0.0] }
    };
    bars("Waiting by lock", &all, ["lock with less waiting", "locks with less waiting"], |lock| label(lock), parts)
}

/// Chart of the threads that waited longest for locks.
pub(super) fn lives(record: &LocksRecord) -> Option<Chart> {
    let parts = |thread: &&LockThread| {
        let waits =
            [thread.wait_seconds, thread.wait_events_seconds, thread.wait_joins_seconds].map(|time| time.seconds());
        let [locks, events, joins] = waits;
        [locks, events, joins, thread.life_seconds.seconds() - (locks + events + joins)]
    };
    let name = |thread: &&LockThread| thread.tid.to_string();
    let others = ["thread that waited less for locks", "threads that waited less for locks"];
    bars("Lifetimes of threads", &record.threads_that_matter(), others, name, parts)
}

/// Draws one bar for each of the first [`ROWS`] items; `parts` returns the lengths of its parts in seconds. `others`
/// names the items that are left out, in the singular and the plural. Returns `None` if all bars are empty.
fn bars<T>(
    label: &str,
    items: &[T],
    others: [&str; 2],
    name: impl Fn(&T) -> String,
    parts: impl Fn(&T) -> [f64; PARTS.len()],
) -> Option<Chart> {
    let shown = &items[..ROWS.min(items.len())];
    let mut series: Vec<(Series, Vec<Bar>)> = PARTS
        .iter()
        .map(|(name, look)| {
            (Series { name: Some((*name).to_owned()), look: *look, marks: Marks::Bars(Vec::new()) }, Vec::new())
        })
        .collect();
    let mut longest = 0.0_f64;
    for (row, item) in shown.iter().enumerate() {
        let mut from = 0.0;
        for (part, (_, bars)) in parts(item).into_iter().zip(&mut series) {
            if part > 0.0 {
                bars.push(Bar { row, from, to: from + part, text: time(part) });
                from += part;
            }
        }
        longest = longest.max(from);
    }
    if longest <= 0.0 {
        return None;
    }
    let drawn = series.into_iter().filter(|(_, bars)| !bars.is_empty());
    let left = items.len() - shown.len();
    Some(Chart {
        label: label.to_owned(),
        height: match shown.len() {
            0..=4 => Height::Low,
            5..=7 => Height::Middle,
            _ => Height::Tall,
        },
        x: Axis::Scale(Scale::new(Kind::Cost(Metric::Wall), 0.0, longest)),
        y: Axis::Names(shown.iter().map(name).collect()),
        series: drawn.map(|(series, bars)| Series { marks: Marks::Bars(bars), ..series }).collect(),
        note: (left > 0).then(|| format!("Not shown: {}.", numbered(left as u64, others[0], others[1]))),
    })
}
