//! The parts of the time of each command's runs, as stacked bars on one axis.

use steady_model::{Breakdown, Metric, Report};
use steady_render::document::Block;
use steady_render::scale::{Kind, Scale};
use steady_render::units::time;
use steady_render::{Axis, Bar, Chart, Height, Look, Marks, Series};

use super::{plain, series};
use crate::words::name;

/// The parts of a run's time from left to right.
const PARTS: [(&str, Look); 5] = [
    ("user", Look::First),
    ("system", Look::Second),
    ("waiting for a CPU", Look::Third),
    ("blocked", Look::Rest),
    ("waiting for a CPU or blocked", Look::Fourth),
];

/// The chart with a bar for each command.
pub(in crate::document) fn split(report: &Report) -> Block {
    let plan = &report.record.plan;
    let of = |command: usize| report.breakdowns.iter().find(|one| one.command == command && one.runs > 0);
    // Without the split of one command, no bar is split, so that equal colours are the same kind of time.
    let is_split = report.breakdowns.iter().all(|one| one.runs == 0 || one.user.is_ok() && one.system.is_ok());
    let found: Vec<Option<[f64; 5]>> =
        (0..plan.commands.len()).map(|command| of(command).map(|one| parts(one, is_split))).collect();
    let sums = found.iter().flatten().map(|parts| parts.iter().sum::<f64>());
    let longest = sums.filter(|sum| sum.is_finite()).fold(0.0, f64::max);
    if longest <= 0.0 {
        return Block::Paragraph(plain("No run has a time to show.".to_owned()));
    }
    let bar = |row: usize, part: usize| {
        let parts = found[row].filter(|parts| parts[part] > 0.0)?;
        let from = parts[..part].iter().sum::<f64>();
        Some(Bar { row, from, to: from + parts[part], text: time(parts[part]) })
    };
    let all = PARTS.iter().enumerate().filter_map(|(part, (name, look))| {
        let bars: Vec<Bar> = (0..found.len()).filter_map(|row| bar(row, part)).collect();
        let name = if part == 0 && !is_split { "CPU time" } else { *name };
        (!bars.is_empty()).then(|| series(Some(name), *look, Marks::Bars(bars)))
    });
    let notes: Vec<String> =
        (0..found.len()).filter_map(|command| Some(notes(command, of(command)?))).flatten().collect();
    let label = |command: usize| format!("{} {}", command + 1, name(plan, command));
    Block::Chart(Chart {
        label: "Where the time of a run went".to_owned(),
        height: Height::Low,
        x: Axis::Scale(Scale::new(Kind::Cost(Metric::Wall), 0.0, longest)),
        y: Axis::Names((0..found.len()).map(label).collect()),
        series: all.collect::<Vec<Series>>(),
        note: (!notes.is_empty()).then(|| notes.join(" ")),
    })
}

/// The mean time of each of [`PARTS`] in seconds. Without the split into user and system time, the first is CPU time.
/// It is 0 for a part that was not measured separately.
fn parts(one: &Breakdown, is_split: bool) -> [f64; 5] {
    let (waiting, blocked, both) = match (&one.run_delay, &one.blocked) {
        (Ok(delay), Ok(blocked)) => (delay.mean, blocked.mean, 0.0),
        (Ok(delay), Err(_)) => (delay.mean, 0.0, 0.0),
        (Err(_), _) => (0.0, 0.0, one.wall.mean - one.cpu.mean),
    };
    let [user, system] = match (&one.user, &one.system) {
        (Ok(user), Ok(system)) if is_split => [user.mean, system.mean],
        _ => [one.cpu.mean, 0.0],
    };
    [user, system, waiting, blocked, both].map(|mean| if mean.is_finite() { mean.max(0.0) } else { 0.0 })
}

/// Sentences about what the bar cannot show, and why.
fn notes(command: usize, one: &Breakdown) -> Vec<String> {
    let mut notes = Vec::new();
    let which = command + 1;
    if let Err(absent) = &one.user {
        notes.push(format!("Command {which}: user and system time were not measured separately: {absent}."));
    }
    if let Err(absent) = &one.run_delay {
        let what = "waiting for a CPU and being blocked were not measured separately";
        notes.push(format!("Command {which}: {what}: {absent}."));
    } else if let Err(absent) = &one.blocked {
        notes.push(format!("Command {which}: the time spent blocked was not measured: {absent}."));
    }
    if one.cpu.mean > one.wall.mean {
        let wall = time(one.wall.mean);
        let why = "several CPUs worked concurrently";
        notes.push(format!("Command {which}: CPU time exceeds the wall time of {wall}, because {why}."));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_look_different() {
        let twice = PARTS.iter().enumerate().find(|(at, part)| PARTS[..*at].iter().any(|one| one.1 == part.1));
        assert_eq!(twice, None);
    }
}
