//! Charts as SVG that stretches with the page.

use maud::{Markup, html};

use super::plot::{Path, Plot, rectangle, sample, shaded};
use crate::chart::{Axis, Chart, Height, Look, Marks, Series, Square};
use crate::letters::width;

/// A chart, its key and its note.
pub(super) fn figure(chart: &Chart) -> Markup {
    let inside = html! { @for series in &chart.series { (drawn(chart, series)) } };
    let (height, least) = match chart.height {
        Height::Low => ("low", 4.5),
        Height::Middle => ("middle", 7.0),
        Height::Tall => ("tall", 13.0),
    };
    let room = room_for_names(&chart.y, least);
    let (x, y) = (chart.x.labels(Axis::across), chart.y.labels(Axis::up));
    let named = || chart.series.iter().filter_map(|series| Some((class(chart, series), series.name.as_ref()?)));
    html! {
        figure {
            (Plot { label: &chart.described(), height, x: &x, x_labels: true, y: &y, inside }.draw_with(room.as_deref()))
            @if named().next().is_some() { p.key { @for (class, name) in named() { span { (sample(class)) (name) } } } }
            @if let Some(note) = &chart.note { p.note { (note) } }
        }
    }
}

/// The size of a chart with names at its left: at least as high as its class has it, a line of text for each name, and as wide as
/// the longest needs.
fn room_for_names(axis: &Axis, least: f64) -> Option<String> {
    /// The height of a line, the width of a letter, and what names have at most.
    const LINE: f64 = 1.1;
    const LETTER: f64 = 0.42;
    const MOST: f64 = 14.0;
    let Axis::Names(names) = axis else { return None };
    let height = (names.len() as f64 * LINE).max(least);
    let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let left = (longest as f64 * LETTER + 0.9).clamp(3.75, MOST);
    Some(format!("grid-template:{height:.1}rem auto/{left:.2}rem minmax(0,1fr)"))
}

/// More dots than this in a chart are small; more than that let others show through.
const SOME: usize = 40;
const MANY: usize = 1_000;

fn class(chart: &Chart, series: &Series) -> &'static str {
    let count = |series: &Series| if let Marks::Dots(points) = &series.marks { points.len() } else { 0 };
    let dots: usize = chart.series.iter().map(count).sum();
    match (&series.marks, series.look) {
        (Marks::Squares(_), _) => "heat",
        // The more there are, the smaller and the more transparent.
        (Marks::Dots(_), Look::First) if dots > MANY => "dots turns",
        (Marks::Dots(_), Look::Second) if dots > MANY => "dots duet",
        (Marks::Dots(_), Look::First) if dots > SOME => "dots few turns",
        (Marks::Dots(_), Look::Second) if dots > SOME => "dots few duet",
        (Marks::Dots(_), Look::First) => "dots few percpu",
        (Marks::Dots(_), Look::Second) => "dots few perwall",
        (Marks::Dots(_), _) => "dots few",
        (Marks::Down(_), _) => "look",
        (Marks::Bars(_), Look::First) => "waiting",
        (Marks::Bars(_), Look::Second) => "calls",
        (Marks::Bars(_), Look::Third) => "blocked",
        (Marks::Bars(_), Look::Rest) => "user",
        (Marks::Columns(_), Look::First) => "bars turns",
        (Marks::Columns(_), _) => "bars duet",
        (_, Look::First) => "percpu",
        (_, Look::Second) => "perwall",
        (_, Look::Third) => "estimate",
        (_, Look::Rest) => "zero",
    }
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
                shaded(across, up, class, Some(one.share), &one.text)
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
                        (chart.y.up(row + HALF), chart.y.up(row - HALF)), class, &title))
                }
            };
        }
    }
    path.draw(class)
}

/// Half of what a bar takes of its row.
const HALF: f64 = 0.38;

/// What shows where a pointer rests on a bar.
fn title(row: Option<&String>, text: &str, series: &Series) -> String {
    let row = row.map_or("", String::as_str);
    let name = series.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    format!("{row}: {text}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_dots_are_small() {
        let page = |count: u32| {
            let points = (0..count).map(|at| (f64::from(at), 1.0)).collect();
            let series = Series { name: None, look: Look::First, marks: Marks::Dots(points) };
            figure(&Chart { series: vec![series], ..crate::chart::dots() }).into_string()
        };
        assert!(page(40).contains("\"dots few percpu\"") && page(41).contains("\"dots few turns\""));
        assert!(page(1_001).contains("\"dots turns\""));
    }

    #[test]
    fn columns_stand_on_the_bottom() {
        let page = figure(&crate::chart::histogram()).into_string();
        let columns =
            "<path class=\"bars turns\" d=\"M0 1000V875H500V1000zM500 1000V0H1000V1000zM1000 1000V500H1500V1000z\">";
        assert!(page.contains(columns), "{page}");
        assert!(page.contains("<path class=\"zero\" d=\"M750 1000L750 0\">"), "{page}");
    }

    #[test]
    fn squares_are_darker_the_fuller_they_are() {
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
    fn bars_stand_behind_one_another_in_their_rows() {
        let page = figure(&crate::chart::sample()).into_string();
        let rest =
            "<rect class=\"user\" x=\"500\" y=\"60\" width=\"1000\" height=\"380\"><title>one: 2 s the rest</title>";
        assert!(page.contains(rest), "{page}");
        assert!(page.contains("aria-label=\"Lives. one: 1 s waiting, 2 s the rest; another: 4 s waiting.\""), "{page}");
        assert!(page.contains("</svg>the rest</span>"), "{page}");
    }

    #[test]
    fn names_have_room() {
        let style = |names: Vec<String>| {
            let page = figure(&Chart { y: Axis::Names(names), ..crate::chart::sample() }).into_string();
            page.split("style=\"grid-template:").nth(1).and_then(|rest| Some(rest.split_once('"')?.0.to_owned()))
        };
        assert_eq!(style(vec!["one".to_owned()]).as_deref(), Some("4.5rem auto/3.75rem minmax(0,1fr)"));
        assert_eq!(style(vec!["n".repeat(20); 20]).as_deref(), Some("22.0rem auto/9.30rem minmax(0,1fr)"));
        let other = figure(&Chart { y: crate::chart::sample().x, ..crate::chart::sample() }).into_string();
        assert!(!other.contains("grid-template"), "{other}");
    }
}
