//! Charts as SVG elements that stretch with the page.
//!
//! A chart library draws at one size with fixed colours. Here colours are classes, so one style sheet serves light and
//! dark screens and print. The drawing stretches while dots, lines and letters keep their size, so one chart fits a
//! phone and a large screen. The labels are HTML text next to the drawing.

use std::fmt::Write;

use maud::{Markup, html};

use crate::chart::{Axis, Chart, Height, LONGEST_NAME, Marks, Series, Square};
use crate::letters::{cut, width};

/// The width of the SVG's own coordinate system. The page stretches the drawing to its width.
const WIDTH: f64 = 2000.0;
/// The height of the SVG's own coordinate system.
const HEIGHT: f64 = 1000.0;

/// Returns a chart with its note above and its key below.
pub(super) fn figure(chart: &Chart) -> Markup {
    let (height, least) = match chart.height {
        Height::Low => ("low", 4.5),
        Height::Middle => ("middle", 7.0),
        Height::Tall => ("tall", 13.0),
    };
    let (x, y) = (chart.x.labels(Axis::across), chart.y.labels(Axis::up));
    let (mut down, mut across) = (Path::default(), Path::default());
    x.iter().for_each(|(place, _)| down.line((*place, 0.0), (*place, 1.0)));
    y.iter().for_each(|(place, _)| across.line((0.0, *place), (1.0, *place)));
    let is_dense = longest(&x) * x.len() > NARROW;
    let named = || chart.series.iter().filter_map(|series| Some((series, series.name.as_ref()?)));
    html! {
        figure {
            @if let Some(note) = &chart.note { figcaption.note { (note) } }
            div class={ "plot " (height) } style=[room_for_labels(chart, &x, &y, least)] {
                div.y aria-hidden="true" {
                    @for (place, label) in &y {
                        @let shown = cut(label, LONGEST_NAME);
                        span style={ "top:" (percent(1.0 - place)) } title=[(shown != *label).then_some(label)] { (shown) }
                    }
                }
                svg role="img" aria-label=(chart.described()) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                    preserveAspectRatio="none" {
                    (down.draw("grid"))
                    (across.draw("grid"))
                    @for series in &chart.series { (drawn(chart, series)) }
                }
                div.x aria-hidden="true" {
                    @for (at, (place, label)) in x.iter().enumerate() {
                        @let class = (is_dense && at % 2 == 1).then_some("spare");
                        span class=[class] style={ "left:" (percent(*place)) } { (label) }
                    }
                }
            }
            @if named().next().is_some() {
                p.key { @for (series, name) in named() { span { (sample(chart, series)) (name) } } }
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// The columns of text below a chart on a phone. If the labels of an axis need more, every second one is not shown
/// there.
const NARROW: usize = 36;

/// Returns the width of the longest label, in columns.
fn longest(labels: &[(f64, String)]) -> usize {
    labels.iter().map(|(_, label)| width(label)).max().unwrap_or(0)
}

/// Returns the inline style of a chart whose labels need more room than the style sheet gives them. A chart with names
/// at its left is at least `least` rem high, and has one line of text for each name.
fn room_for_labels(chart: &Chart, x: &[(f64, String)], y: &[(f64, String)], least: f64) -> Option<String> {
    /// The height of a line, the width of a letter, the usual width of the left labels and the usual width right of the
    /// axis, in rem.
    const LINE: f64 = 1.1;
    const LETTER: f64 = 0.42;
    const USUAL: f64 = 3.75;
    const RIGHT: f64 = 1.25;
    let left = (longest(y).min(LONGEST_NAME) as f64 * LETTER + 0.9).max(USUAL);
    let columns = format!("{left:.2}rem minmax(0,1fr)");
    let mut styles = Vec::new();
    if let Axis::Names(names) = &chart.y {
        let height = (names.len() as f64 * LINE).max(least);
        styles.push(format!("grid-template:{height:.1}rem auto/{columns}"));
    } else if left > USUAL {
        styles.push(format!("grid-template-columns:{columns}"));
    }
    // The last label may be centred at the end of the axis.
    let right = longest(x) as f64 * LETTER / 2.0;
    if right > RIGHT {
        styles.push(format!("margin-right:{right:.2}rem"));
    }
    (!styles.is_empty()).then(|| styles.join(";"))
}

/// A chart with more dots than `SOME` has small dots, and with more than `MANY` transparent ones.
const SOME: usize = 40;
const MANY: usize = 1_000;

/// Returns the classes of a series in the style sheet: the shape of its marks and its look.
fn class(chart: &Chart, series: &Series) -> String {
    let count = |series: &Series| if let Marks::Dots(points) = &series.marks { points.len() } else { 0 };
    let shape = match &series.marks {
        Marks::Squares(_) => return "heat".to_owned(),
        Marks::Down(_) => "look",
        Marks::Dots(_) => match chart.series.iter().map(count).sum::<usize>() {
            dots if dots > MANY => "dots",
            dots if dots > SOME => "dots some",
            _ => "dots few",
        },
        Marks::Columns(_) => "column",
        Marks::Bars(_) => "bar",
        Marks::Line(_) | Marks::Intervals(_) | Marks::Across(_) => "line",
    };
    format!("{shape} {}", series.look.class())
}

/// The marks of a series.
fn drawn(chart: &Chart, series: &Series) -> Markup {
    let class = class(chart, series);
    let mut path = Path::default();
    match &series.marks {
        Marks::Line(points) => {
            for (at, (x, y)) in points.iter().enumerate() {
                let place = (chart.x.across(*x), chart.y.up(*y));
                if at == 0 { path.start(place) } else { path.on(place) }
            }
        }
        Marks::Dots(points) => points.iter().for_each(|(x, y)| path.dot(chart.x.across(*x), chart.y.up(*y))),
        Marks::Down(value) => path.line((chart.x.across(*value), 0.0), (chart.x.across(*value), 1.0)),
        Marks::Squares(all) => {
            let square = |one: &Square| {
                let (x, y) = (one.column as f64, one.row as f64);
                let (across, up) =
                    ((chart.x.across(x - 0.5), chart.x.across(x + 0.5)), (chart.y.up(y + 0.5), chart.y.up(y - 0.5)));
                rectangle(across, up, &class, Some(one.share), &one.text)
            };
            return html! { @for one in all { (square(one)) } };
        }
        Marks::Intervals(all) => {
            for one in all {
                let x = chart.x.across(one.x);
                path.line((x, chart.y.up(one.low)), (x, chart.y.up(one.high)));
            }
        }
        Marks::Across(value) => path.line((0.0, chart.y.up(*value)), (1.0, chart.y.up(*value))),
        Marks::Columns(bins) => {
            for bin in bins.iter().filter(|bin| bin.height > 0.0) {
                path.column(chart.x.across(bin.from), chart.x.across(bin.to), chart.y.up(bin.height));
            }
        }
        Marks::Bars(bars) => {
            let Axis::Names(names) = &chart.y else { return html! {} };
            return html! {
                @for bar in bars {
                    @let (row, title) = (bar.row as f64, title(names.get(bar.row), bar.text.as_str(), series));
                    (rectangle((chart.x.across(bar.from), chart.x.across(bar.to)),
                        (chart.y.up(row + HALF), chart.y.up(row - HALF)), &class, None, &title))
                }
            };
        }
    }
    path.draw(&class)
}

/// Half of the height of a bar, as a share of its row.
const HALF: f64 = 0.38;

/// Returns the text that appears when the pointer is on a bar.
fn title(row: Option<&String>, text: &str, series: &Series) -> String {
    let row = row.map_or("", String::as_str);
    let name = series.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    format!("{row}: {text}{name}")
}

/// Returns a rectangle with a text that appears on hover, and an optional opacity from 0 to 1.
fn rectangle(across: (f64, f64), up: (f64, f64), class: &str, opacity: Option<f64>, title: &str) -> Markup {
    let ((left, right), (bottom, top)) = (across, up);
    let (x, width) = (left * WIDTH, (right - left).max(0.0) * WIDTH);
    let (y, height) = ((1.0 - top) * HEIGHT, (top - bottom).max(0.0) * HEIGHT);
    html! {
        rect class=(class) x=(format!("{x:.0}")) y=(format!("{y:.0}")) width=(format!("{width:.0}"))
            height=(format!("{height:.0}")) fill-opacity=[opacity.map(|opacity| format!("{opacity:.2}"))] {
            @if !title.is_empty() { title { (title) } }
        }
    }
}

/// Returns a sample of a series for the key below the chart.
fn sample(chart: &Chart, series: &Series) -> Markup {
    let class = class(chart, series);
    html! {
        svg.sample viewBox="0 0 20 12" aria-hidden="true" {
            @match &series.marks {
                Marks::Dots(_) => path class=(class) d="M10 6h0" {},
                Marks::Bars(_) | Marks::Columns(_) | Marks::Squares(_) => {
                    rect class=(class) x="0" y="0" width="20" height="12" {}
                }
                Marks::Intervals(_) => path class=(class) d="M10 0V12" {},
                _ => path class=(class) d="M0 6H20" {},
            }
        }
    }
}

/// The data of an SVG path. Positions are shares of the width and of the height, from 0 to 1, with y upwards.
#[derive(Default)]
struct Path(String);

impl Path {
    /// Adds a dot: a line of length zero whose round ends are visible.
    fn dot(&mut self, x: f64, y: f64) {
        let _ = write!(self.0, "M{:.0} {:.0}h0", x * WIDTH, (1.0 - y) * HEIGHT);
    }

    /// Adds a line between two points.
    fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.start(from);
        self.on(to);
    }

    /// Starts a line at a point.
    fn start(&mut self, place: (f64, f64)) {
        let (x, y) = place;
        let _ = write!(self.0, "M{:.0} {:.0}", x * WIDTH, (1.0 - y) * HEIGHT);
    }

    /// Continues the line to a point.
    fn on(&mut self, place: (f64, f64)) {
        let (x, y) = place;
        let _ = write!(self.0, "L{:.0} {:.0}", x * WIDTH, (1.0 - y) * HEIGHT);
    }

    /// Adds a filled column from the bottom of the chart to `top`.
    fn column(&mut self, left: f64, right: f64, top: f64) {
        let (left, right) = (left * WIDTH, right * WIDTH);
        let _ = write!(self.0, "M{left:.0} {HEIGHT:.0}V{:.0}H{right:.0}V{HEIGHT:.0}z", (1.0 - top) * HEIGHT);
    }

    /// Returns the path in a class of the style sheet, or nothing if the path is empty.
    fn draw(&self, class: &str) -> Markup {
        html! { @if !self.0.is_empty() { path class=(class) d=(self.0) {} } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Look;

    #[test]
    fn many_dots_are_small() {
        let page = |count: u32| {
            let points = (0..count).map(|at| (f64::from(at), 1.0)).collect();
            let series = Series { name: None, look: Look::First, marks: Marks::Dots(points) };
            figure(&Chart { series: vec![series], ..crate::chart::dots() }).into_string()
        };
        assert!(page(40).contains("\"dots few first\"") && page(41).contains("\"dots some first\""));
        assert!(page(1_001).contains("\"dots first\""));
    }

    #[test]
    fn columns_start_at_the_bottom() {
        let page = figure(&crate::chart::histogram()).into_string();
        let columns =
            "<path class=\"column first\" d=\"M0 1000V875H500V1000zM500 1000V0H1000V1000zM1000 1000V500H1500V1000z\">";
        assert!(page.contains(columns), "{page}");
        assert!(page.contains("<path class=\"line rest\" d=\"M750 1000L750 0\">"), "{page}");
    }

    #[test]
    fn squares_with_a_greater_share_are_darker() {
        let names = |names: &[&str]| Axis::Names(names.iter().map(|name| (*name).to_owned()).collect());
        let square = |column, share| Square { column, row: 0, share, text: format!("{share}") };
        let squares = Marks::Squares(vec![square(0, 0.25), square(1, 1.0)]);
        let series = vec![Series { name: None, look: Look::First, marks: squares }];
        let (x, y) = (names(&["0", ""]), names(&["1"]));
        let page = figure(&Chart { x, y, series, ..crate::chart::sample() }).into_string();
        let dark = "<rect class=\"heat\" x=\"1000\" y=\"0\" width=\"1000\" height=\"1000\" fill-opacity=\"1.00\"><title>1</title>";
        assert!(page.contains(dark) && page.contains("fill-opacity=\"0.25\""), "{page}");
        assert_eq!(page.matches("<span style=\"left").count(), 1, "{page}");
    }

    #[test]
    fn bars_of_one_row_follow_each_other() {
        let page = figure(&crate::chart::sample()).into_string();
        let rest = "<rect class=\"bar rest\" x=\"500\" y=\"60\" width=\"1000\" height=\"380\">\
                    <title>one: 2 s the rest</title>";
        assert!(page.contains(rest), "{page}");
        assert!(page.contains("aria-label=\"Lives. one: 1 s waiting, 2 s the rest; another: 4 s waiting.\""), "{page}");
        assert!(page.contains("</svg>the rest</span>"), "{page}");
    }

    #[test]
    fn the_left_margin_fits_the_names() {
        let style = |names: Vec<String>| {
            let page = figure(&Chart { y: Axis::Names(names), ..crate::chart::sample() }).into_string();
            page.split("style=\"grid-template:").nth(1).and_then(|rest| Some(rest.split_once('"')?.0.to_owned()))
        };
        assert_eq!(style(vec!["one".to_owned()]).as_deref(), Some("4.5rem auto/3.75rem minmax(0,1fr)"));
        assert_eq!(style(vec!["n".repeat(16); 20]).as_deref(), Some("22.0rem auto/7.62rem minmax(0,1fr)"));
        let long = figure(&Chart { y: Axis::Names(vec!["n".repeat(40)]), ..crate::chart::sample() }).into_string();
        let shown = format!("title=\"{}\">{}…{}</span>", "n".repeat(40), "n".repeat(9), "n".repeat(8));
        assert!(long.contains(&shown) && long.contains("/8.46rem"), "{long}");
        let other = figure(&Chart { y: crate::chart::sample().x, ..crate::chart::sample() }).into_string();
        assert!(!other.contains("grid-template"), "{other}");
    }
}
