//! Charts of dots as letters. Lines are left out, because the dots show their course.

use super::Page;
use crate::chart::{Axis, Chart, Marks};
use crate::document::Emphasis;
use crate::letters::width;

/// The distance of the lowest line of the plot from the highest one, in lines. It changes a little so that ticks are on
/// lines.
const HEIGHT: f64 = 11.0;
/// The largest distance of two ticks, relative to the smallest one, with which all ticks have the same number of lines
/// between them. Round percentages on an axis of logarithms have such distances.
const EVEN_RATIO: f64 = 1.25;
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
    let lines = Lines::of(&labels);
    for (line, cells) in drawn(chart, &all, &lines, columns).iter().enumerate() {
        let at = labels.iter().find(|(place, _)| lines.line(*place) == line);
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
fn drawn(chart: &Chart, all: &[Named<'_>], lines: &Lines, columns: usize) -> Vec<Vec<char>> {
    let mut canvas = vec![vec![' '; columns]; lines.count()];
    for series in &chart.series {
        if let Marks::Down(value) = series.marks {
            canvas.iter_mut().for_each(|line| line[column(chart.x.across(value), columns)] = DOWN);
        }
    }
    for ((_, points), dot) in all.iter().zip(DOTS.into_iter().cycle()) {
        for (x, y) in *points {
            let cell = &mut canvas[lines.line(chart.y.up(*y))][column(chart.x.across(*x), columns)];
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

/// The lines of a plot. Each tick is exactly on a line, so that the label of a line is its value.
struct Lines {
    /// Positions from 0 (bottom) to 1 (top), in ascending order, with their heights in lines: those of both ends and of
    /// the ticks. Between them, heights are proportional to positions.
    heights: Vec<(f64, f64)>,
}

impl Lines {
    /// Returns the lines of an axis with these ticks.
    fn of(ticks: &[(f64, String)]) -> Self {
        let mut places: Vec<f64> = ticks.iter().map(|(place, _)| *place).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let Some(first) = places.first().copied() else { return Lines { heights: vec![(0.0, 0.0), (1.0, HEIGHT)] } };
        let gaps: Vec<f64> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (least, most) =
            gaps.iter().fold((f64::INFINITY, 0.0), |(least, most), gap| (gap.min(least), gap.max(most)));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let lines = |gap: f64| (HEIGHT * if most <= EVEN_RATIO * least { mean } else { gap }).round().max(1.0);
        let mut heights = vec![(first, 0.0)];
        let mut height = 0.0;
        for (gap, place) in gaps.iter().zip(&places[1..]) {
            height += lines(*gap);
            heights.push((*place, height));
        }
        // Beyond the outer ticks, a line is as high as next to them.
        let slope = |gap: Option<&f64>| gap.map_or(HEIGHT, |gap| lines(*gap) / gap);
        let last = places[places.len() - 1];
        heights.insert(0, (0.0, -first * slope(gaps.first())));
        heights.push((1.0, height + (1.0 - last) * slope(gaps.last())));
        Lines { heights }
    }

    /// Returns the height of a position, in lines.
    fn height(&self, place: f64) -> f64 {
        let place = place.clamp(0.0, 1.0);
        let above = self.heights.iter().position(|(end, _)| place <= *end).unwrap_or(self.heights.len() - 1).max(1);
        let [(from, low), (to, high)] = [self.heights[above - 1], self.heights[above]];
        if to > from { low + (place - from) / (to - from) * (high - low) } else { high }
    }

    /// Returns the line of a position, counted from the top.
    fn line(&self, place: f64) -> usize {
        (self.height(1.0).round() - self.height(place).round()).max(0.0) as usize
    }

    fn count(&self) -> usize {
        self.line(0.0) + 1
    }
}

/// Returns the column of a position from 0 to 1.
fn column(place: f64, columns: usize) -> usize {
    (place.clamp(0.0, 1.0) * (columns - 1) as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::{Kind, Scale};
    use crate::terminal::Style;

    #[test]
    fn dots_are_on_the_line_with_the_nearest_value() {
        let log = |percent: f64| (percent / 100.0).ln_1p();
        for (low, high) in [(-2.0, 9.0), (-0.3, 12.7), (1.0, 7.0), (-11.0, 4.0), (-40.0, 60.0), (-0.04, 0.1)] {
            let scale = Scale::new(Kind::Change, log(low), log(high)).padded();
            let ticks = scale.ticks();
            let lines = Lines::of(&ticks);
            assert!((8..=18).contains(&lines.count()), "{low} to {high}: {} lines", lines.count());
            let labelled: Vec<(f64, usize)> = ticks
                .iter()
                .map(|(place, label)| (label.trim_end_matches("\u{a0}%").parse().unwrap(), lines.line(*place)))
                .collect();
            let gap = |pair: &[(f64, usize)]| (pair[0].1 - pair[1].1, pair[1].0 - pair[0].0);
            let gaps: Vec<(usize, f64)> = labelled.windows(2).map(gap).collect();
            if high - low < 20.0 {
                assert!(gaps.iter().all(|(lines, _)| *lines == gaps[0].0), "{low} to {high}: {gaps:?}");
            }
            // A value is on the line of a label if it is nearer to it than half a line.
            for (pair, (between, step)) in labelled.windows(2).zip(&gaps) {
                let line = step / *between as f64;
                for part in 0..=40 {
                    let value = pair[0].0 + step * f64::from(part) / 40.0;
                    let found = lines.line(scale.clamped(log(value)));
                    let wanted = pair[0].1 as f64 - (value - pair[0].0) / line;
                    assert!((found as f64 - wanted).abs() < 0.7, "{value} in {low} to {high}: {found}, {wanted}");
                }
            }
        }
    }

    #[test]
    fn a_value_between_two_labels_is_not_on_the_line_of_one() {
        let log = |percent: f64| (percent / 100.0).ln_1p();
        let scale = Scale::new(Kind::Change, log(-2.5), log(12.0)).padded();
        let lines = Lines::of(&scale.ticks());
        let line = |percent: f64| lines.line(scale.clamped(log(percent)));
        // Each line is 1.67 %.
        assert_eq!([0.0, 5.0, 10.0].map(line), [8, 5, 2]);
        assert_eq!([4.2, 5.57, 6.0, 7.4, 7.6].map(line), [5, 5, 4, 4, 3]);
    }

    #[test]
    fn dots_are_between_axes_and_have_a_key() {
        let mut page = Page::new(Style { width: 40, color: false });
        write(&crate::chart::dots(), &mut page);
        let text = page.finish();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  4 ┤◉          ┊         ○");
        assert_eq!(lines[12], "  0 ┤           ┊                    ●");
        assert_eq!(lines[14], "     1          2         4          8");
        assert_eq!(lines[15..].join(" "), "     ● one ○ other ◉ several ┊ 2 cores");
    }
}
