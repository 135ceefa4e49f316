//! Charts as data: axes, and series of marks in the units of the axes. [`html`](crate::html) draws them on pages,
//! [`svg`](crate::svg) by themselves, and [`terminal`](crate::terminal) those of bars, columns and dots as letters.

use crate::scale::Scale;

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows, for those who do not see it. The names and values of its bars follow there.
    pub label: String,
    /// How high it is.
    pub height: Height,
    /// The axis from left to right.
    pub x: Axis,
    /// The axis from the bottom to the top.
    pub y: Axis,
    /// What is drawn, the first below the others.
    pub series: Vec<Series>,
    /// What stands below it.
    pub note: Option<String>,
}

/// How high a chart is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Height {
    /// As a few lines of text.
    Low,
    /// In between.
    Middle,
    /// As a third of a screen.
    Tall,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// Values.
    Scale(Scale),
    /// Things of equal width, from the left to the right or from the top to the bottom. The n-th lies around the value n. One
    /// without a name has no label.
    Names(Vec<String>),
}

/// Marks that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What they are, in the key of the chart; none for what needs no word.
    pub name: Option<String>,
    /// Their look.
    pub look: Look,
    /// Where they are.
    pub marks: Marks,
}

/// The look of a series: a class of the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The first of several lines or kinds of bars.
    First,
    /// The second.
    Second,
    /// The third.
    Third,
    /// The rest, or what everything is compared with.
    Rest,
}

/// Where the marks of a series are, in the units of the axes.
#[derive(Clone, Debug, PartialEq)]
pub enum Marks {
    /// A line through points.
    Line(Vec<(f64, f64)>),
    /// A dot at each point.
    Dots(Vec<(f64, f64)>),
    /// Lines from a low to a high value at a place.
    Intervals(Vec<Whisker>),
    /// A line across the whole chart at a value.
    Across(f64),
    /// A line from the bottom to the top at a value.
    Down(f64),
    /// Bars from left to right in the rows of an axis of names.
    Bars(Vec<Bar>),
    /// Columns from the bottom to a value: a histogram.
    Columns(Vec<Bin>),
    /// Squares between two axes of names, the fuller the darker.
    Squares(Vec<Square>),
}

/// A square of a heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct Square {
    /// Its place from left to right.
    pub column: usize,
    /// Its place from the top to the bottom.
    pub row: usize,
    /// How full it is, from 0 to 1.
    pub share: f64,
    /// What it is, in words; empty where there are too many to tell each.
    pub text: String,
}

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Whisker {
    /// Its place from left to right.
    pub x: f64,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its row.
    pub row: usize,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Its length in words: `12 ms`.
    pub text: String,
}

/// A column of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Where it begins, from left to right.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// How high it is.
    pub height: f64,
}

impl Axis {
    /// Where a value lies, from 0 to 1 from left to right.
    pub(crate) fn across(&self, value: f64) -> f64 {
        match self {
            Axis::Scale(scale) => scale.clamped(value),
            Axis::Names(names) => ((value + 0.5) / names.len().max(1) as f64).clamp(0.0, 1.0),
        }
    }

    /// Where a value lies, from 0 to 1 from the bottom to the top.
    pub(crate) fn up(&self, value: f64) -> f64 {
        match self {
            Axis::Scale(scale) => scale.clamped(value),
            Axis::Names(_) => 1.0 - self.across(value),
        }
    }

    /// The labels, each at its place from 0 to 1, by [`Axis::across`] or [`Axis::up`].
    pub(crate) fn labels(&self, place: fn(&Axis, f64) -> f64) -> Vec<(f64, String)> {
        match self {
            Axis::Scale(scale) => scale.ticks(),
            Axis::Names(names) => {
                let named = names.iter().enumerate().filter(|(_, name)| !name.is_empty());
                named.map(|(at, name)| (place(self, at as f64), name.clone())).collect()
            }
        }
    }
}

impl Chart {
    /// The bars of all series by row, those of a row from left to right: which series, and the bar.
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

    /// Whether letters can draw it: a chart of bars, of columns or of dots.
    pub(crate) fn is_of_letters(&self) -> bool {
        matches!((&self.x, &self.y), (Axis::Scale(_), Axis::Names(_)))
            || self.series.iter().any(|series| matches!(series.marks, Marks::Columns(_) | Marks::Dots(_)))
    }

    /// What it shows, with the bars in words.
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

/// A chart for the tests of the renderers: two rows, of which one has two bars.
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

/// A chart of dots and their line for the tests of the renderers, with a line down.
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
    fn bars_are_told_in_words() {
        assert_eq!(sample().described(), "Lives. one: 1 s waiting, 2 s the rest; another: 4 s waiting.");
        assert_eq!(Chart { y: sample().x, ..sample() }.described(), "Lives");
    }

    #[test]
    fn names_lie_in_the_middle_of_their_part() {
        let chart = sample();
        assert_eq!([chart.y.up(0.0), chart.y.up(1.0), chart.y.across(0.0)], [0.75, 0.25, 0.25]);
        assert_eq!([chart.x.across(2.0), chart.x.up(2.0), chart.x.across(9.0)], [0.5, 0.5, 1.0]);
    }
}
