//! Changes with their intervals, one below the other.

use maud::{Markup, html};
use steady_model::{Interval, ReleaseChange};

use crate::html::scale::{Kind, Place, Scale};
use crate::html::svg::{Path, Plot, down, rectangle, sample};
use crate::units::setting;
use crate::words::{cut, one_line, signed};

/// The most columns of a label.
const LABEL: usize = 22;
/// Labels that are names need more room on the left than numbers do.
const STYLE: &str =
    ".plot.named { grid-template-columns: min(10rem, 40%) minmax(0, 1fr); } .named .y { overflow: hidden; }";

/// A change and its interval, as logarithms.
pub(super) struct Bar {
    /// The label on its row; may be empty.
    name: String,
    change: f64,
    interval: Interval,
    /// Whether it is drawn as one that lies apart.
    pub(super) apart: bool,
}

impl Bar {
    /// What there is to draw of a change.
    pub(super) fn new(name: String, change: &ReleaseChange) -> Option<Bar> {
        let interval = change.interval.as_ref().ok()?;
        let interval = Interval { low: interval.low.ln_1p(), high: interval.high.ln_1p() };
        let change = change.change.as_ref().ok()?.ln_1p();
        let known = interval.low.is_finite() && interval.high.is_finite() && change.is_finite();
        known.then_some(Bar { name: cut(&one_line(&name), LABEL), change, interval, apart: false })
    }

    /// The same, drawn as one that lies apart where it does.
    pub(super) fn lying_apart(self, apart: bool) -> Bar {
        Bar { apart, ..self }
    }

    /// What it shows, in words.
    pub(super) fn told(&self) -> String {
        let Interval { low, high } = self.interval;
        let (_, range) = signed(self.change.exp_m1(), Interval { low: low.exp_m1(), high: high.exp_m1() });
        format!("{}: {range}", self.name)
    }

    /// For their order.
    pub(super) fn change(&self) -> f64 {
        self.change
    }
}

/// The bars, the first one at the top; `label` is for those who do not see them.
pub(super) fn draw(bars: &[Bar], resolution: f64, label: &str) -> Markup {
    let resolution = resolution.min(0.999);
    let low = bars.iter().map(|bar| bar.interval.low).fold(-resolution, f64::min);
    let high = bars.iter().map(|bar| bar.interval.high).fold(resolution, f64::max);
    let values = Scale::new(Kind::Change, low, high).padded();
    let place = |at: usize| 1.0 - (at as f64 + 0.5) / bars.len() as f64;
    let (mut lines, mut points, mut apart) = (Path::default(), Path::default(), Path::default());
    for (at, bar) in bars.iter().enumerate() {
        let ends = [bar.interval.low, bar.interval.high].map(|end| (values.clamped(end), place(at)));
        lines.line(ends[0], ends[1]);
        if let Place::At(x) = values.place(bar.change) {
            if bar.apart { &mut apart } else { &mut points }.dot(x, place(at));
        }
    }
    let (left, right) = (values.clamped((-resolution).ln_1p()), values.clamped(resolution.ln_1p()));
    let inside = html! {
        (rectangle((left, right), (0.0, 1.0), "none", ""))
        (down(&values, 0.0, "zero"))
        (lines.draw("sight"))
        (points.draw("point"))
        (apart.draw("dots apart"))
    };
    let names: Vec<(f64, String)> = bars
        .iter()
        .enumerate()
        .filter(|(_, bar)| !bar.name.is_empty())
        .map(|(at, bar)| (place(at), bar.name.clone()))
        .collect();
    let height = if bars.len() <= 4 {
        "low named"
    } else if bars.len() <= 7 {
        "middle named"
    } else {
        "tall named"
    };
    let chart = Plot { label, height, x: &values.ticks(), x_labels: true, y: &names, inside }.draw();
    html! { style { (maud::PreEscaped(STYLE)) } (chart) }
}

/// What the marks mean.
pub(super) fn key(resolution: f64) -> Markup {
    html! {
        span { (sample("sight")) "interval" }
        span { (sample("point")) "estimate" }
        span { (sample("none")) "±" (setting(resolution.min(0.999))) ", as good as none" }
    }
}
