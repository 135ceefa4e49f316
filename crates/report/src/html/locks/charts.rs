//! Bars in rows: how long was waited for each lock, and what threads did with their lives.

use maud::{Markup, html};
use steady_model::{LockThread, LockUse, LocksReport, Metric};

use crate::html::scale::{Kind, Scale};
use crate::html::svg::{Plot, rectangle, sample};
use crate::units::time;
use crate::words::count;
use crate::words::locks::{named, waited, worth_a_row};

/// More rows than this have no room for their names.
const ROWS: usize = 12;

/// What a piece of a bar is: the class of its colour, and its name.
type Part = (&'static str, &'static str);

const LOCKS: Part = ("waiting", "waiting for locks");
const EVENTS: Part = ("calls", "for conditions and semaphores");
const JOINS: Part = ("blocked", "for other threads to end");
const REST: Part = ("user", "the rest: on a CPU, waiting for one, or blocked otherwise");

/// A row: what stands beside it, what it is called in full, and its pieces in seconds.
struct Row {
    label: String,
    name: String,
    pieces: Vec<(Part, f64)>,
}

/// The locks that were waited for longest, a bar each.
pub(super) fn waits(report: &LocksReport) -> Markup {
    let mut all: Vec<&LockUse> = report.locks.iter().filter(|lock| waited(lock) > 0.0).collect();
    all.sort_by(|one, other| waited(other).total_cmp(&waited(one)));
    let row = |lock: &&LockUse| Row {
        label: format!("L{}", lock.id),
        name: named(lock),
        pieces: vec![(if lock.kind.is_held() { LOCKS } else { EVENTS }, waited(lock))],
    };
    let rows: Vec<Row> = all.iter().take(ROWS).map(row).collect();
    let left = all.len() - rows.len();
    html! {
        @if !rows.is_empty() {
            h3 { "How long all threads together waited for each" }
            figure { (bars("Waiting by lock", &rows)) }
            @if left > 0 { p.note { (count(left, "lock that was waited for is", "locks that were waited for are")) " not drawn." } }
        }
    }
}

/// The threads that waited for locks longest, and what they did besides.
pub(super) fn lives(report: &LocksReport) -> Markup {
    let shown = worth_a_row(report);
    let rows: Vec<Row> = shown.iter().take(ROWS).map(|thread| life(thread)).collect();
    let left = shown.len() - rows.len();
    html! {
        @if !rows.is_empty() {
            h3 { "What they did with their lives" }
            figure { (bars("Lives of threads", &rows)) }
            @if left > 0 { p.note { (count(left, "thread", "threads")) " that waited less for locks not drawn." } }
        }
    }
}

fn life(thread: &LockThread) -> Row {
    let waiting =
        [(LOCKS, thread.wait.seconds()), (EVENTS, thread.wait_events.seconds()), (JOINS, thread.wait_joins.seconds())];
    let rest = thread.life.seconds() - waiting.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let name = format!("thread {}", thread.tid);
    Row { label: thread.tid.to_string(), name, pieces: waiting.into_iter().chain([(REST, rest)]).collect() }
}

/// Rows below one another on one axis, the first at the top.
fn bars(what: &str, rows: &[Row]) -> Markup {
    let pieces = |row: &Row| {
        let there = row.pieces.iter().copied().filter(|(_, seconds)| *seconds > 0.0);
        there.collect::<Vec<_>>()
    };
    let longest = rows.iter().map(|row| pieces(row).iter().map(|(_, seconds)| seconds).sum()).fold(0.0, f64::max);
    if longest <= 0.0 {
        return html! { p.note { "There is no time to draw." } };
    }
    let axis = Scale::new(Kind::Cost(Metric::Wall), 0.0, longest);
    let band = |at: usize| (1.0 - (at + 1) as f64 / rows.len() as f64, 1.0 - at as f64 / rows.len() as f64);
    let names: Vec<(f64, String)> =
        rows.iter().enumerate().map(|(at, row)| (middle(band(at)), row.label.clone())).collect();
    let inside = html! {
        @for (at, row) in rows.iter().enumerate() { (drawn(&pieces(row), &row.name, band(at), &axis)) }
    };
    let told = rows.iter().map(|row| {
        let parts =
            pieces(row).iter().map(|((_, name), seconds)| format!("{} {name}", time(*seconds))).collect::<Vec<_>>();
        format!("{}: {}", row.name, parts.join(", "))
    });
    let label = format!("{what}. {}.", told.collect::<Vec<_>>().join("; "));
    let height = match rows.len() {
        0..=4 => "low",
        5..=7 => "middle",
        _ => "tall",
    };
    let used: Vec<Part> = [LOCKS, EVENTS, JOINS, REST]
        .into_iter()
        .filter(|part| rows.iter().any(|row| pieces(row).iter().any(|(one, _)| one == part)))
        .collect();
    html! {
        (Plot { label: &label, height, x: &axis.ticks(), x_labels: true, y: &names, inside }.draw())
        p.key { @for (class, name) in used { span { (sample(class)) (name) } } }
    }
}

fn middle((bottom, top): (f64, f64)) -> f64 {
    f64::midpoint(bottom, top)
}

/// The pieces of one row, one behind the other.
fn drawn(pieces: &[(Part, f64)], name: &str, (bottom, top): (f64, f64), axis: &Scale) -> Markup {
    let gap = 0.12 * (top - bottom);
    let mut from = 0.0;
    let mut placed = Vec::new();
    for ((class, what), seconds) in pieces {
        let ends = (axis.clamped(from), axis.clamped(from + seconds));
        placed.push((ends, *class, format!("{name}: {} {what}", time(*seconds))));
        from += seconds;
    }
    html! {
        @for (ends, class, title) in &placed { (rectangle(*ends, (bottom + gap, top - gap), class, title)) }
    }
}
