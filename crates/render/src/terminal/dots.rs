//! Charts of dots as letters. Lines are left out, because the dots show their course.

use super::Page;
use crate::chart::{Axis, Chart, Marks};
use crate::document::Emphasis;
use crate::letters::width;

/// The number of lines of the plot.
const HEIGHT: usize = 12;
/// The maximum width in terminal columns; a wider chart is not more readable.
const WIDEST: usize = 100;
/// The dots of the series, used in their order. `SEVERAL` marks a cell with dots of several series.
const DOTS: [char; 3] = ['●', '○', '◇'];
const SEVERAL: char = '◉';
/// The letter for a vertical line.
const DOWN: char = '┊';

/// Writes a chart of dots with its axes and its key. Charts without dots are ignored.
pub(super) fn write(chart: &Chart, page: &mut Page) {
    let all = dots(chart);
    if all.is_empty() {
        return;
    }
    let labels = chart.y.labels(Axis::up);
    let left = labels.iter().map(|(_, label)| width(label)).max().unwrap_or(0) + 4;
    let columns = page.width().min(WIDEST).saturating_sub(left + 2).max(8);
    for (line, cells) in drawn(chart, &all, columns).iter().enumerate() {
        let at = labels.iter().find(|(place, _)| row(*place) == line);
        let label = at.map_or("", |(_, label)| label.as_str());
        let tick = if at.is_some() { '┤' } else { '│' };
        let gap = " ".repeat(left - 2 - width(label));
        page.line(&[(Emphasis::Plain, format!("{gap}{label} {tick}{}", cells.iter().collect::<String>()))]);
    }
    page.line(&[(Emphasis::Plain, format!("{}└{}", " ".repeat(left - 1), "─".repeat(columns)))]);
    page.line(&[(Emphasis::Plain, " ".repeat(left) + &below(chart, columns))]);
    let key = key(chart, &all);
    if !key.is_empty() {
        page.paragraph(left, left, &[(Emphasis::Plain, key.join("  "))]);
    }
    if let Some(note) = &chart.note {
        page.paragraph(left, left, &[(Emphasis::Plain, note.clone())]);
    }
}

/// The name and the points of a series of dots.
type Named<'a> = (Option<&'a String>, &'a [(f64, f64)]);

/// Returns the series that consist of dots.
fn dots(chart: &Chart) -> Vec<Named<'_>> {
    let points = chart.series.iter().filter_map(|series| match &series.marks {
        Marks::Dots(points) => Some((series.name.as_ref(), points.as_slice())),
        _ => None,
    });
    points.collect()
}

/// Returns the plot with its dots and vertical lines, the top line first.
fn drawn(chart: &Chart, all: &[Named<'_>], columns: usize) -> Vec<Vec<char>> {
    let mut canvas = vec![vec![' '; columns]; HEIGHT];
    for series in &chart.series {
        if let Marks::Down(value) = series.marks {
            canvas.iter_mut().for_each(|line| line[column(chart.x.across(value), columns)] = DOWN);
        }
    }
    for ((_, points), dot) in all.iter().zip(DOTS.into_iter().cycle()) {
        for (x, y) in *points {
            let cell = &mut canvas[row(chart.y.up(*y))][column(chart.x.across(*x), columns)];
            *cell = if [' ', DOWN, dot].contains(cell) { dot } else { SEVERAL };
        }
    }
    canvas
}

/// Returns the key of the dots and vertical lines.
fn key(chart: &Chart, all: &[Named<'_>]) -> Vec<String> {
    let named = |letter: char, name: &str| format!("{letter}\u{a0}{}", name.replace(' ', "\u{a0}"));
    let dots = all.iter().zip(DOTS.into_iter().cycle()).filter_map(|((name, _), dot)| Some(named(dot, name.as_ref()?)));
    let downs = chart.series.iter().filter_map(|series| match (&series.marks, &series.name) {
        (Marks::Down(_), Some(name)) => Some(named(DOWN, name)),
        _ => None,
    });
    let several = (all.len() > 1).then(|| named(SEVERAL, "several"));
    dots.chain(several).chain(downs).collect()
}

/// Returns the line of labels below the axis. Labels that would overlap are left out; the last label has priority.
fn below(chart: &Chart, columns: usize) -> String {
    let mut line = vec![' '; columns + 1];
    let mut free = columns + 2;
    for (place, label) in chart.x.labels(Axis::across).into_iter().rev() {
        let size = width(&label);
        let start = column(place, columns).saturating_sub(size / 2).min((columns + 1).saturating_sub(size));
        if start + size < free && start + size <= columns + 1 {
            line.splice(start..start + size, label.chars());
            free = start;
        }
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

/// Returns the line of a position from 0 (bottom) to 1 (top), counted from the top.
fn row(place: f64) -> usize {
    HEIGHT - 1 - (place.clamp(0.0, 1.0) * (HEIGHT - 1) as f64).round() as usize
}

/// Returns the column of a position from 0 to 1.
fn column(place: f64, columns: usize) -> usize {
    (place.clamp(0.0, 1.0) * (columns - 1) as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;

    #[test]
    fn dots_are_between_axes_and_have_a_key() {
        let mut page = Page::new(Style { width: 40, color: false });
        write(&crate::chart::dots(), &mut page);
        let text = page.finish();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  4 ┤◉          ┊         ○");
        assert_eq!(lines[11], "  0 ┤           ┊                    ●");
        assert_eq!(lines[13], "     1          2         4          8");
        assert_eq!(lines[14..].join(" "), "     ● one ○ other ◉ several ┊ 2 cores");
    }
}
