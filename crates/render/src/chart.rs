//! Charts as data: axes, and series of marks in the units of the axes. [`html`](crate::html) draws them on pages and
//! [`svg`](crate::svg) as files of their own. [`terminal`](crate::terminal) draws charts of bars, columns and dots as
//! letters.

use crate::scale::Scale;

/// A chart: two axes, and series of marks between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What the chart shows, for screen readers. The names and values of its bars are appended.
    pub label: String,
    /// The height on a page or a terminal.
    pub height: Height,
    /// The horizontal axis, from left to right.
    pub x: Axis,
    /// The vertical axis, from the bottom to the top.
    pub y: Axis,
    /// The series, drawn in this order: later ones cover earlier ones.
    pub series: Vec<Series>,
    /// An explanation below the chart.
    pub note: Option<String>,
}

/// The height of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Height {
    /// The height of about six lines of text.
    Low,
    /// The height of about nine lines of text.
    Middle,
    /// The height of about a third of a screen.
    Tall,
}

/// What an axis shows: a range of values, or names.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// A range of numbers.
    Scale(Scale),
    /// Items of equal width, from left to right or from top to bottom. Item n is centred on the value n. An item with
    /// an empty name has no label.
    Names(Vec<String>),
}

/// The maximum width of a name next to an axis, in columns. A longer one is shortened; on pages and in drawings, the
/// whole name appears when the pointer is on it.
pub(crate) const LONGEST_NAME: usize = 18;

/// Marks of one kind and look.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name in the chart's key, or none to leave the series out of the key.
    pub name: Option<String>,
    /// The class in the style sheet.
    pub look: Look,
    /// The positions and shape of the marks.
    pub marks: Marks,
}

/// The look of a series: each variant is a class of the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The first of several lines or kinds of bars.
    First,
    /// The second of several lines or kinds of bars.
    Second,
    /// The third of several lines or kinds of bars.
    Third,
    /// The fourth of several lines or kinds of bars.
    Fourth,
    /// The rest, or a reference that other series are compared with.
    Rest,
}

impl Look {
    /// The class in the style sheets of pages and drawings.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Look::First => "first",
            Look::Second => "second",
            Look::Third => "third",
            Look::Fourth => "fourth",
            Look::Rest => "rest",
        }
    }
}

/// The shape of the marks of a series and their positions, in the units of the axes.
#[derive(Clone, Debug, PartialEq)]
pub enum Marks {
    /// One line through the points (x, y).
    Line(Vec<(f64, f64)>),
    /// A dot at each point (x, y).
    Dots(Vec<(f64, f64)>),
    /// A vertical line at each x, from a low to a high value of y.
    Intervals(Vec<Whisker>),
    /// A horizontal line across the whole chart at a value of y.
    Across(f64),
    /// A vertical line across the whole chart at a value of x.
    Down(f64),
    /// Horizontal bars in the rows of an axis of names.
    Bars(Vec<Bar>),
    /// Columns of a histogram, from the bottom to a value of y.
    Columns(Vec<Bin>),
    /// Squares between two axes of names; the greater the share, the darker the square.
    Squares(Vec<Square>),
}

/// A square of a heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct Square {
    /// The index on the horizontal axis, from left to right.
    pub column: usize,
    /// The index on the vertical axis, from top to bottom.
    pub row: usize,
    /// The opacity, from 0 to 1.
    pub share: f64,
    /// The text shown on hover; empty if there are too many squares to describe each.
    pub text: String,
}

/// A vertical interval at one x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Whisker {
    /// The position on the horizontal axis.
    pub x: f64,
    /// The lower end, on the vertical axis.
    pub low: f64,
    /// The upper end, on the vertical axis.
    pub high: f64,
}

/// A horizontal bar, or one part of a stacked bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The index of its row on the vertical axis.
    pub row: usize,
    /// The start on the horizontal axis.
    pub from: f64,
    /// The end on the horizontal axis.
    pub to: f64,
    /// The length as text, with its unit: `12 ms`.
    pub text: String,
}

/// A column of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The left edge on the horizontal axis.
    pub from: f64,
    /// The right edge on the horizontal axis.
    pub to: f64,
    /// The height on the vertical axis.
    pub height: f64,
}

impl Axis {
    /// Returns the horizontal position of a value, from 0 (left) to 1 (right).
    pub(crate) fn across(&self, value: f64) -> f64 {
        match self {
            Axis::Scale(scale) => scale.clamped(value),
            Axis::Names(names) => ((value + 0.5) / names.len().max(1) as f64).clamp(0.0, 1.0),
        }
    }

    /// Returns the vertical position of a value, from 0 (bottom) to 1 (top).
    pub(crate) fn up(&self, value: f64) -> f64 {
        match self {
            Axis::Scale(scale) => scale.clamped(value),
            Axis::Names(_) => 1.0 - self.across(value),
        }
    }

    /// Returns the labels with their positions from 0 to 1. `position` is [`Axis::across`] or [`Axis::up`].
    pub(crate) fn labels(&self, position: fn(&Axis, f64) -> f64) -> Vec<(f64, String)> {
        match self {
            Axis::Scale(scale) => scale.ticks(),
            Axis::Names(names) => {
                let named = names.iter().enumerate().filter(|(_, name)| !name.is_empty());
                named.map(|(at, name)| (position(self, at as f64), name.clone())).collect()
            }
        }
    }
}

impl Chart {
    /// Returns the bars of all series by row, sorted from left to right, each with the index of its series.
    pub(crate) fn rows(&self) -> Vec<Vec<(usize, &Bar)>> {
        let Axis::Names(names) = &self.y else { return Vec::new() };
        let mut rows = vec![Vec::new(); names.len()];
        for (series, one) in self.series.iter().enumerate() {
            let Marks::Bars(bars) = &one.marks else { continue };
            for bar in bars {
                if let Some(row) = rows.get_mut(bar.row) {
                    row.push((series, bar));
                }
            }
        }
        rows.iter_mut().for_each(|row| row.sort_by(|one, other| one.1.from.total_cmp(&other.1.from)));
        rows
    }

    /// Returns whether a terminal can show the chart as letters: a chart of bars, columns or dots.
    pub(crate) fn has_text_form(&self) -> bool {
        matches!((&self.x, &self.y), (Axis::Scale(_), Axis::Names(_)))
            || self.series.iter().any(|series| matches!(series.marks, Marks::Columns(_) | Marks::Dots(_)))
    }

    /// Returns the label, followed by the bars as text, for screen readers.
    pub(crate) fn described(&self) -> String {
        let Axis::Names(names) = &self.y else { return self.label.clone() };
        if !self.series.iter().any(|series| matches!(series.marks, Marks::Bars(_))) {
            return self.label.clone();
        }
        let part = |(series, bar): &(usize, &Bar)| match self.series.get(*series).and_then(|one| one.name.as_ref()) {
            Some(name) => format!("{} {name}", bar.text),
            None => bar.text.clone(),
        };
        let rows = names
            .iter()
            .zip(self.rows())
            .map(|(name, bars)| format!("{name}: {}", bars.iter().map(part).collect::<Vec<_>>().join(", ")));
        let rows = rows.collect::<Vec<_>>();
        if rows.is_empty() { self.label.clone() } else { format!("{}. {}.", self.label, rows.join("; ")) }
    }
}

/// A chart for the tests of the renderers: two rows, the first of which has two bars.
#[cfg(test)]
pub(crate) fn sample() -> Chart {
    let bar = |row, from, to, text: &str| Bar { row, from, to, text: text.to_owned() };
    let series = |name: &str, look, bars| Series { name: Some(name.to_owned()), look, marks: Marks::Bars(bars) };
    Chart {
        label: "Lives".to_owned(),
        height: Height::Low,
        x: Axis::Scale(Scale::new(crate::scale::Kind::Clock, 0.0, 4.0)),
        y: Axis::Names(vec!["one".to_owned(), "another".to_owned()]),
        series: vec![
            series("waiting", Look::First, vec![bar(0, 0.0, 1.0, "1 s"), bar(1, 0.0, 4.0, "4 s")]),
            series("the rest", Look::Rest, vec![bar(0, 1.0, 3.0, "2 s")]),
        ],
        note: None,
    }
}

/// A histogram for the tests of the renderers: four columns, a median and its interval.
#[cfg(test)]
pub(crate) fn histogram() -> Chart {
    let bin = |at: f64, height| Bin { from: at, to: at + 1.0, height };
    let bins = vec![bin(0.0, 1.0), bin(1.0, 8.0), bin(2.0, 4.0), bin(3.0, 0.0)];
    let series = |name: Option<&str>, look, marks| Series { name: name.map(str::to_owned), look, marks };
    Chart {
        label: "Distribution".to_owned(),
        height: Height::Low,
        x: Axis::Scale(Scale::new(crate::scale::Kind::Clock, 0.0, 4.0)),
        y: Axis::Scale(Scale::new(crate::scale::Kind::Count, 0.0, 8.0)),
        series: vec![
            series(None, Look::First, Marks::Columns(bins)),
            series(Some("interval"), Look::Second, Marks::Line(vec![(1.0, 8.0), (2.5, 8.0)])),
            series(Some("median"), Look::Rest, Marks::Intervals(vec![Whisker { x: 1.5, low: 0.0, high: 8.0 }])),
        ],
        note: Some("2 are not shown.".to_owned()),
    }
}

/// A chart of dots with a line through them and a vertical line, for the tests of the renderers.
#[cfg(test)]
pub(crate) fn dots() -> Chart {
    use crate::scale::Kind;
    let points = vec![(1.0, 4.0), (2.0, 2.0), (8.0, 0.0)];
    let series = |name: &str, look, marks| Series { name: Some(name.to_owned()), look, marks };
    Chart {
        label: "Rates".to_owned(),
        x: Axis::Scale(Scale::new(Kind::Factors, 1.0, 8.0)),
        y: Axis::Scale(Scale::new(Kind::Number, 0.0, 4.0)),
        series: vec![
            series("2 cores", Look::Rest, Marks::Down(2.0)),
            series("line", Look::First, Marks::Line(points.clone())),
            series("one", Look::First, Marks::Dots(points.clone())),
            series("other", Look::Second, Marks::Dots(vec![points[0], (4.0, 4.0)])),
        ],
        ..sample()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_lists_the_bars() {
        assert_eq!(sample().described(), "Lives. one: 1 s waiting, 2 s the rest; another: 4 s waiting.");
        assert_eq!(Chart { y: sample().x, ..sample() }.described(), "Lives");
    }

    #[test]
    fn names_are_centred_in_their_part_of_the_axis() {
        let chart = sample();
        assert_eq!([chart.y.up(0.0), chart.y.up(1.0), chart.y.across(0.0)], [0.75, 0.25, 0.25]);
        assert_eq!([chart.x.across(2.0), chart.x.up(2.0), chart.x.across(9.0)], [0.5, 0.5, 1.0]);
    }
}
