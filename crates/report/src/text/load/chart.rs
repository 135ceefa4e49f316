//! The chart for a terminal: work per CPU time and per wall time against the number of processes.

use steady_model::LoadReport;

use super::rates::{self, Rates};
use crate::text::{Page, Paint};
use crate::units::{fixed, short};
use crate::words::width;

/// The lines between the axes.
const HEIGHT: usize = 12;
/// The columns beyond which a chart is not more readable.
const WIDEST: usize = 100;
/// What marks work per CPU time, work per wall time, and both in one place.
const MARKS: [char; 3] = ['●', '○', '◉'];
/// A number of cores or CPUs.
const RULE: char = '┊';

/// The chart below its heading; nothing with fewer than two points.
pub(super) fn write(report: &LoadReport, page: &mut Page) {
    let Some(rates) = Rates::of(report) else { return };
    page.heading(&format!(
        "{} per CPU {} {} and per wall {} {}",
        rates.what(),
        rates.per,
        MARKS[0],
        rates.per,
        MARKS[1]
    ));
    let steps = rates::steps(rates.top());
    let top = steps.last().copied().unwrap_or(1.0);
    let labels: Vec<String> = steps.iter().map(|step| label(*step, &steps)).collect();
    let left = labels.iter().map(|label| width(label)).max().unwrap_or(0) + 4;
    let columns = page.width().min(WIDEST).saturating_sub(left + 2).max(8);
    let canvas = draw(&rates, top, columns);
    for (line, cells) in canvas.iter().enumerate() {
        let at = steps.iter().position(|step| row(*step / top) == line);
        let label = at.map_or("", |at| labels[at].as_str());
        let tick = if at.is_some() { '┤' } else { '│' };
        let gap = " ".repeat(left - 2 - width(label));
        page.line(&[(Paint::Plain, format!("{gap}{label} {tick}{}", cells.iter().collect::<String>()))]);
    }
    page.line(&[(Paint::Plain, format!("{}└{}", " ".repeat(left - 1), "─".repeat(columns)))]);
    page.line(&[(Paint::Plain, " ".repeat(left) + &numbers(&rates, columns))]);
    let marks: Vec<String> = rates.marks.iter().map(|(_, text)| text.replace(' ', "\u{a0}")).collect();
    if !marks.is_empty() {
        let rest = format!("{RULE}\u{a0}{}; {}\u{a0}both", marks.join(", "), MARKS[2]);
        page.paragraph(left, left, &[(Paint::Plain, rest)]);
    }
}

/// The points and the rules, line by line from the top.
fn draw(rates: &Rates, top: f64, columns: usize) -> Vec<Vec<char>> {
    let mut canvas = vec![vec![' '; columns]; HEIGHT];
    for (at, _) in &rates.marks {
        if let Some(place) = rates.place(*at) {
            canvas.iter_mut().for_each(|line| line[column(place, columns)] = RULE);
        }
    }
    for point in &rates.points {
        let Some(place) = rates.place(point.procs) else { continue };
        for (value, mark) in [(point.per_cpu, MARKS[0]), (point.per_wall, MARKS[1])] {
            let cell = &mut canvas[row(value / top)][column(place, columns)];
            let taken = MARKS.contains(cell) && *cell != mark;
            *cell = if taken { MARKS[2] } else { mark };
        }
    }
    canvas
}

/// The line of a value from 0 to 1, counted from the top.
fn row(share: f64) -> usize {
    HEIGHT - 1 - (share.clamp(0.0, 1.0) * (HEIGHT - 1) as f64).round() as usize
}

/// The column of a place from 0 to 1.
fn column(place: f64, columns: usize) -> usize {
    (place.clamp(0.0, 1.0) * (columns - 1) as f64).round() as usize
}

/// The numbers of processes below the axis, as many as have room; the last among them.
fn numbers(rates: &Rates, columns: usize) -> String {
    let mut line = vec![' '; columns + 1];
    let mut free = columns + 1;
    for point in rates.points.iter().rev() {
        let text = short(point.procs);
        let Some(place) = rates.place(point.procs) else { continue };
        let start =
            column(place, columns).saturating_sub(text.len() / 2).min(columns + 1 - text.len().min(columns + 1));
        if start + text.len() < free {
            line.splice(start..start + text.len(), text.chars());
            free = start;
        }
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

/// A step of the axis with the decimals that tell the steps apart.
fn label(step: f64, steps: &[f64]) -> String {
    let apart = steps.get(1).map_or(1.0, |second| second - steps[0]);
    let decimals = (-(apart.log10() + 1e-9).floor()).clamp(0.0, 6.0);
    let finer = apart * 10f64.powf(decimals);
    // 2.5 is no whole number of its unit.
    fixed(step, decimals as usize + usize::from((finer - finer.round()).abs() > 1e-6))
}
