//! A small writer of charts: an SVG that stretches with the page, its labels beside it as text.
//!
//! A chart library draws at one size with colours of its own. Here colours are classes, so that one style sheet serves
//! light, dark and print; and the drawing stretches while dots, lines and letters keep their size, so that one chart
//! serves a phone and a wall.

use std::fmt::Write;

use maud::{Markup, html};

use crate::scale::{Place, Scale};

/// The drawing's own width and height; what is drawn is stretched from it.
pub const WIDTH: f64 = 2000.0;
/// See [`WIDTH`].
pub const HEIGHT: f64 = 1000.0;

/// The data of a path.
#[derive(Default)]
pub struct Path(String);

impl Path {
    /// A dot: a line without length, whose round ends show.
    pub fn dot(&mut self, x: f64, y: f64) {
        let _ = write!(self.0, "M{:.0} {:.0}h0", x * WIDTH, (1.0 - y) * HEIGHT);
    }

    /// A line between two places.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.start(from);
        self.on(to);
    }

    /// Begins a line.
    pub fn start(&mut self, place: (f64, f64)) {
        let (x, y) = place;
        let _ = write!(self.0, "M{:.0} {:.0}", x * WIDTH, (1.0 - y) * HEIGHT);
    }

    /// Goes on with it.
    pub fn on(&mut self, place: (f64, f64)) {
        let (x, y) = place;
        let _ = write!(self.0, "L{:.0} {:.0}", x * WIDTH, (1.0 - y) * HEIGHT);
    }

    /// An area from the bottom of the chart.
    pub fn column(&mut self, left: f64, right: f64, top: f64) {
        let (left, right) = (left * WIDTH, right * WIDTH);
        let _ = write!(self.0, "M{left:.0} {HEIGHT:.0}V{:.0}H{right:.0}V{HEIGHT:.0}z", (1.0 - top) * HEIGHT);
    }

    /// The path, in a class of the style sheet; nothing where it is empty.
    pub fn draw(&self, class: &str) -> Markup {
        html! { @if !self.0.is_empty() { path class=(class) d=(self.0) {} } }
    }
}

/// A plot: its axes and what is drawn between them.
pub struct Plot<'a> {
    /// What it shows, for those who do not see it.
    pub label: &'a str,
    /// The height's class: `tall`, `middle` or `low`.
    pub height: &'a str,
    /// The axis from left to right.
    pub x: &'a [(f64, String)],
    /// Whether its labels stand below; where charts share an axis, the lowest has them.
    pub x_labels: bool,
    /// The axis from the bottom to the top.
    pub y: &'a [(f64, String)],
    /// What is drawn.
    pub inside: Markup,
}

impl Plot<'_> {
    /// The chart.
    pub fn draw(&self) -> Markup {
        self.draw_with(None)
    }

    /// The chart with a style of its own, which goes before that of its class.
    pub(super) fn draw_with(&self, style: Option<&str>) -> Markup {
        let (mut down, mut across) = (Path::default(), Path::default());
        self.x.iter().for_each(|(place, _)| down.line((*place, 0.0), (*place, 1.0)));
        self.y.iter().for_each(|(place, _)| across.line((0.0, *place), (1.0, *place)));
        html! {
            div class={ "plot " (self.height) } style=[style] {
                div.y aria-hidden="true" {
                    @for (place, label) in self.y { span style={ "top:" (percent(1.0 - place)) } { (label) } }
                }
                svg role="img" aria-label=(self.label) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                    preserveAspectRatio="none" {
                    (down.draw("grid"))
                    (across.draw("grid"))
                    (self.inside)
                }
                @if self.x_labels {
                    div.x aria-hidden="true" {
                        @for (place, label) in self.x { span style={ "left:" (percent(*place)) } { (label) } }
                    }
                }
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// A line across at `value`, where the axis shows it.
pub fn across(scale: &Scale, value: f64, class: &str) -> Markup {
    let mut path = Path::default();
    if let Place::At(y) = scale.place(value) {
        path.line((0.0, y), (1.0, y));
    }
    path.draw(class)
}

/// A line from top to bottom at `value`, where the axis shows it.
pub fn down(scale: &Scale, value: f64, class: &str) -> Markup {
    let mut path = Path::default();
    if let Place::At(x) = scale.place(value) {
        path.line((x, 0.0), (x, 1.0));
    }
    path.draw(class)
}

/// A rectangle, with words that show where a pointer rests on it.
pub fn rectangle(across: (f64, f64), up: (f64, f64), class: &str, title: &str) -> Markup {
    shaded(across, up, class, None, title)
}

/// The same, as opaque as a share.
pub fn shaded(across: (f64, f64), up: (f64, f64), class: &str, share: Option<f64>, title: &str) -> Markup {
    let ((left, right), (bottom, top)) = (across, up);
    let (x, width) = (left * WIDTH, (right - left).max(0.0) * WIDTH);
    let (y, height) = ((1.0 - top) * HEIGHT, (top - bottom).max(0.0) * HEIGHT);
    html! {
        rect class=(class) x=(format!("{x:.0}")) y=(format!("{y:.0}"))
            width=(format!("{width:.0}")) height=(format!("{height:.0}")) fill-opacity=[share.map(|share| format!("{share:.2}"))] {
            @if !title.is_empty() { title { (title) } }
        }
    }
}

/// A sample of a class for the key below a chart.
pub fn sample(class: &str) -> Markup {
    let line = ["zero", "limit", "look", "busy", "pressure", "sight", "estimate", "percpu", "perwall", "mode"]
        .contains(&class);
    html! {
        svg.sample viewBox="0 0 20 12" aria-hidden="true" {
            @if line { path class=(class) d="M0 6H20" {} }
            @else if class.starts_with("dots ") || class == "point" { path class=(class) d="M10 6h0" {} }
            @else if class == "out" { path class=(class) d="M10 1v10" {} }
            @else { rect class=(class) x="0" y="0" width="20" height="12" {} }
        }
    }
}
