//! Histograms and bar charts as letters. A histogram has several lines, and marks of other values on its axis. A bar
//! chart has a line for each row.

use super::Page;
use crate::chart::{Axis, Bin, Chart, Height, LONGEST_NAME, Marks, Series};
use crate::document::Emphasis;
use crate::letters::{cut, width};
use crate::scale::{AxisPosition, Scale};

/// Blocks of one to eight eighths of a line's height.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The maximum width of a chart, and of one column in it, in terminal columns.
const WIDEST: usize = 72;
const BROADEST: usize = 4;
/// The marks of values on the axis, used in the order of the series.
const MARKS: [char; 3] = ['┼', '▲', '┊'];

/// Returns heights as one line of block letters. The greatest fills the line, and every positive height is visible.
pub fn small(heights: &[f64]) -> String {
    lines(heights, 1).concat()
}

/// Sums neighbouring heights in groups of equal size, so that at most `columns` remain.
pub fn gathered(heights: &[f64], columns: usize) -> Vec<f64> {
    let together = heights.len().div_ceil(columns.max(1)).max(1);
    heights.chunks(together).map(|heights| heights.iter().sum()).collect()
}

/// Returns the heights as `count` lines of block letters, the top line first.
fn lines(heights: &[f64], count: usize) -> Vec<String> {
    let most = heights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let levels = (count * EIGHTHS.len()) as f64;
    let tall = |height: f64| if height > 0.0 { ((height / most * levels).round() as usize).max(1) } else { 0 };
    let line = |from_top: usize| {
        let below = (count - 1 - from_top) * EIGHTHS.len();
        let cell = |height: &f64| match tall(*height).saturating_sub(below) {
            0 => ' ',
            eighths => EIGHTHS[eighths.min(EIGHTHS.len()) - 1],
        };
        heights.iter().map(cell).collect()
    };
    (0..count).map(line).collect()
}

/// Writes a histogram. Charts of other kinds are ignored.
pub(super) fn write(chart: &Chart, page: &mut Page) {
    let Axis::Scale(scale) = &chart.x else { return };
    let bins = chart.series.iter().find_map(|series| match &series.marks {
        Marks::Columns(bins) => Some(bins.as_slice()),
        _ => None,
    });
    let Some(bins) = bins else { return };
    let heights: Vec<f64> = bins.iter().map(|bin: &Bin| bin.height).collect();
    let most = heights.iter().copied().fold(0.0, f64::max);
    let label = match &chart.y {
        Axis::Scale(scale) => scale.label(most),
        Axis::Names(_) => String::new(),
    };
    let left = 2 + width(&label) + 2;
    let room = page.width().min(WIDEST).saturating_sub(left + 1).max(8);
    let heights = gathered(&heights, room);
    let broad = (room / heights.len().max(1)).clamp(1, BROADEST);
    let columns = heights.len() * broad;
    let count = match chart.height {
        Height::Low => 6,
        Height::Middle => 9,
        Height::Tall => 12,
    };
    for (at, line) in lines(&heights, count).iter().enumerate() {
        let cells: String = line.chars().flat_map(|letter| std::iter::repeat_n(letter, broad)).collect();
        let axis = if at == 0 { format!("  {label} ┤") } else { format!("{}│", " ".repeat(left - 1)) };
        page.line(&[(Emphasis::Plain, format!("{axis}{cells}"))]);
    }
    let (axis, key) = marked(chart, scale, columns);
    page.line(&[(Emphasis::Plain, format!("{}└{axis}", " ".repeat(left - 1)))]);
    let (low, high) = (scale.label(scale.low), scale.label(scale.high));
    let gap = columns.saturating_sub(width(&low) + width(&high)).max(2);
    page.line(&[(Emphasis::Plain, format!("{}{low}{}{high}", " ".repeat(left), " ".repeat(gap)))]);
    for text in std::iter::once(key.join("  ")).chain(chart.note.clone()).filter(|text| !text.is_empty()) {
        page.paragraph(left, left, &[(Emphasis::Plain, text)]);
    }
}

/// Returns the axis with the marks of the other series, and the key of those marks.
fn marked(chart: &Chart, scale: &Scale, columns: usize) -> (String, Vec<String>) {
    let mut axis = vec!['─'; columns];
    let mut put = |value: f64, letter: char| {
        if let AxisPosition::At(share) = scale.place(value)
            && columns > 0
        {
            axis[((share * columns as f64) as usize).min(columns - 1)] = letter;
        }
    };
    let (mut key, mut marks) = (Vec::new(), MARKS.iter().cycle());
    for series in &chart.series {
        let mark = match &series.marks {
            Marks::Line(points) => {
                if let [(low, _), .., (high, _)] = points.as_slice() {
                    put(*low, '├');
                    put(*high, '┤');
                }
                "├\u{a0}┤".to_owned()
            }
            Marks::Intervals(all) => {
                let mark = marks.next().copied().unwrap_or('┼');
                all.iter().for_each(|one| put(one.x, mark));
                mark.to_string()
            }
            Marks::Columns(_)
            | Marks::Bars(_)
            | Marks::Across(_)
            | Marks::Down(_)
            | Marks::Dots(_)
            | Marks::Squares(_) => continue,
        };
        key.extend(series.name.as_ref().map(|name| format!("{mark}\u{a0}{}", name.replace(' ', "\u{a0}"))));
    }
    (axis.into_iter().collect(), key)
}

/// The letters that bars consist of, by the index of their series.
const LETTERS: [&str; 4] = ["█", "▒", "░", "·"];
/// The letter of a vertical line of a bar chart.
const LINE: &str = "│";

/// Writes the rows of a bar chart, and the key if several series have names. Charts of other kinds are ignored.
pub(super) fn bars(chart: &Chart, page: &mut Page) {
    let (Axis::Names(names), Axis::Scale(scale)) = (&chart.y, &chart.x) else { return };
    let rows = chart.rows();
    let names: Vec<String> = names.iter().map(|name| cut(name, LONGEST_NAME)).collect();
    let labels = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let total = |row: &[(usize, &crate::chart::Bar)]| match row {
        [(_, bar)] => bar.text.clone(),
        _ => String::new(),
    };
    let longest = rows.iter().map(|row| width(&total(row))).max().unwrap_or(0);
    let room = page.width().saturating_sub(2 + labels + 2 + 1 + longest).max(4) as f64;
    let cell = |value: f64| (scale.clamped(value) * room).round() as usize;
    let down =
        |one: &Series| if let Marks::Down(at) = one.marks { Some(cell(at).min(room as usize - 1)) } else { None };
    let lines: Vec<usize> = chart.series.iter().filter_map(down).collect();
    for (name, row) in names.iter().zip(&rows) {
        let mut cells = vec![" "; lines.iter().map(|at| at + 1).max().unwrap_or(0)];
        lines.iter().for_each(|&at| cells[at] = LINE);
        for (series, bar) in row {
            // A short bar has one cell, also at the end of the line.
            let to = cell(bar.to);
            let from = if bar.to > bar.from { cell(bar.from).min(room as usize - 1) } else { to };
            let end = to.max(from + usize::from(bar.to > bar.from));
            cells.resize(cells.len().max(end), " ");
            cells[from..end].fill(LETTERS[series % LETTERS.len()]);
        }
        let label = format!("  {name}{}  ", " ".repeat(labels - width(name)));
        page.line(&[(Emphasis::Plain, format!("{label}{}\u{a0}{}", cells.concat(), total(row)))]);
    }
    let named: Vec<String> = chart
        .series
        .iter()
        .zip(LETTERS)
        .map(|(series, letter)| (series, if down(series).is_some() { LINE } else { letter }))
        .filter_map(|(series, letter)| Some(format!("{letter}\u{a0}{}", series.name.as_ref()?.replace(' ', "\u{a0}"))))
        .collect();
    if named.len() > 1 {
        page.paragraph(2, 2, &[(Emphasis::Plain, named.join("  "))]);
    }
    if let Some(note) = &chart.note {
        page.paragraph(2, 2, &[(Emphasis::Plain, note.clone())]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;

    #[test]
    fn histograms_have_an_axis_with_marks_and_a_key() {
        let mut page = Page::new(Style { width: 40, color: false });
        write(&crate::chart::histogram(), &mut page);
        let expected = "  8 ┤    ████\n    │    ████\n    │    ████\n    │    ████████\n    │    ████████\n    \
                        │▆▆▆▆████████\n    └────├─┼───┤─────\n     0 ms      4.00 s\n     ├ ┤ interval ┼ median\n     \
                        2 are not shown.\n";
        assert_eq!(page.finish(), expected);
    }

    #[test]
    fn small_positive_heights_are_visible() {
        assert_eq!(small(&[0.0, 1.0, 50.0, 100.0]), " ▁▄█");
        assert_eq!(lines(&[0.0, 1.0, 50.0, 100.0], 2), ["   █", " ▁██"]);
        assert_eq!([small(&[0.0, 0.0]), small(&[])], ["  ", ""]);
        assert_eq!(gathered(&[1.0, 2.0, 3.0, 4.0, 5.0], 3), [3.0, 7.0, 5.0]);
        assert_eq!(
            [gathered(&[1.0, 2.0], 8), gathered(&[], 8), gathered(&[1.0, 2.0], 0)],
            [vec![1.0, 2.0], vec![], vec![3.0]]
        );
    }

    #[test]
    fn bars_fill_the_line_and_have_a_key() {
        let mut page = Page::new(Style { width: 40, color: false });
        bars(&crate::chart::sample(), &mut page);
        let rows = "  one      ██████▒▒▒▒▒▒▒▒▒▒▒▒▒\n  another  █████████████████████████ 4 s\n";
        assert_eq!(page.finish(), format!("{rows}  █ waiting ▒ the rest\n"));
    }

    #[test]
    fn bars_are_at_their_positions_next_to_vertical_lines() {
        let mut chart = crate::chart::sample();
        for one in &mut chart.series {
            if let Marks::Bars(bars) = &mut one.marks {
                bars.iter_mut().for_each(|bar| (bar.from, bar.to) = (bar.to / 2.0, bar.to));
            }
        }
        let line = Series { name: Some("no change".to_owned()), look: chart.series[0].look, marks: Marks::Down(1.0) };
        chart.series.push(line);
        let mut page = Page::new(Style { width: 40, color: false });
        bars(&chart, &mut page);
        let rows = "  one         ███│  ▒▒▒▒▒▒▒▒▒▒\n  another        │      ████████████ 4 s\n";
        assert_eq!(page.finish().replace('\u{a0}', " "), format!("{rows}  █ waiting ▒ the rest │ no change\n"));
    }
}
