//! A chart as a self-contained SVG file, for documents and slides.

use maud::{Markup, PreEscaped, html};

use crate::chart::{Axis, Chart, LONGEST_NAME, Marks, Series};
use crate::letters::{cut, harmless, width};

/// The size of the drawing and its margins around the axes, in pixels.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 460.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 72.0;
/// The approximate width of a letter, in pixels.
const LETTER: f64 = 7.5;
/// The height of a line of the note, in pixels.
const LINE: f64 = 17.0;
/// Half of the height of a bar, as a share of its row.
const HALF: f64 = 0.38;

/// Colours and fonts, light or dark as the viewer prefers.
const STYLE: &str = "
svg { background: #ffffff; } text { font: 14px system-ui, sans-serif; fill: #1c2126; } .quiet { fill: #565f69; }
.grid { color: #e9ecef; stroke-width: 1; } path { stroke: currentColor; stroke-width: 2; fill: none; }
rect { fill: currentColor; } .first { color: #1f5fae; } .second { color: #b0480c; stroke-dasharray: 7 3; }
path.dots { stroke-width: 8; stroke-linecap: round; stroke-dasharray: none; } .third { color: #2b7a4b; stroke-dasharray: 2 3; } .fourth { color: #7a5cc0; stroke-dasharray: 10 3 2 3; } .rest { color: #565f69; }
@media (prefers-color-scheme: dark) {
svg { background: #14171a; } text { fill: #e7eaed; } .quiet { fill: #a3adb8; } .grid { color: #262c32; }
.first { color: #6aa9f4; } .second { color: #f3955a; } .third { color: #6cc492; } .fourth { color: #b49cf0; } .rest { color: #a3adb8; } }
";

/// Returns a chart with its label, axes, key and note. A chart without series has its label only.
pub fn text(chart: &Chart) -> String {
    let drawing = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) role="img" {
            title { (chart.described()) }
            style { (PreEscaped(STYLE)) }
            @if chart.series.is_empty() { text x="20" y="26" { (chart.label) } }
            @else { (Drawing::of(chart).draw()) }
        }
    };
    harmless(drawing.into_string()) + "\n"
}

/// A chart, and the left margin that its labels need.
struct Drawing<'a> {
    chart: &'a Chart,
    left: f64,
    y_labels: Vec<(f64, String)>,
}

impl<'a> Drawing<'a> {
    fn of(chart: &'a Chart) -> Self {
        let y_labels = chart.y.labels(Axis::up);
        let longest = y_labels.iter().map(|(_, label)| width(label)).max().unwrap_or(0).min(LONGEST_NAME);
        Drawing { chart, left: (longest as f64 * LETTER + 20.0).round(), y_labels }
    }

    fn draw(&self) -> Markup {
        let right = WIDTH - RIGHT;
        html! {
            text x=(self.left) y="26" { (self.chart.label) }
            (self.key())
            @for (place, label) in &self.y_labels {
                path.grid d={ "M" (self.left) " " (down(*place)) "H" (right) } {}
                text.quiet x=(self.left - 10.0) y=(round(down(*place) + 5.0)) text-anchor="end" {
                    @let shown = cut(label, LONGEST_NAME);
                    @if shown != *label { title { (label) } }
                    (shown)
                }
            }
            @for (place, label) in self.chart.x.labels(Axis::across) {
                path.grid d={ "M" (self.across(place)) " " (TOP) "V" (HEIGHT - BOTTOM) } {}
                text.quiet x=(self.across(place)) y=(HEIGHT - BOTTOM + 22.0) text-anchor="middle" { (label) }
            }
            @for series in &self.chart.series { (self.series(series)) }
            @for (place, line) in self.note().iter().rev().enumerate() {
                text.quiet x=(self.left) y=(HEIGHT - 14.0 - LINE * place as f64) { (line) }
            }
        }
    }

    /// Returns the note in lines that fit.
    fn note(&self) -> Vec<String> {
        let room = ((WIDTH - RIGHT - self.left) / LETTER) as usize;
        let mut lines: Vec<String> = Vec::new();
        for word in self.chart.note.iter().flat_map(|note| note.split(' ')) {
            match lines.last_mut() {
                Some(line) if width(line) + 1 + width(word) <= room => line.extend([" ", word]),
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }

    /// Returns the names of the series next to samples of their marks.
    fn key(&self) -> Markup {
        let mut at = self.left;
        html! {
            @for series in &self.chart.series {
                @if let Some(name) = &series.name {
                    @if matches!(series.marks, Marks::Bars(_) | Marks::Columns(_) | Marks::Squares(_)) {
                        rect class=(series.look.class()) x=(at) y="40" width="28" height="12" {}
                    } @else {
                        @let sample = match &series.marks {
                            Marks::Dots(_) => "m14 0h0",
                            Marks::Intervals(_) => "m14 -8v16",
                            _ => "h28",
                        };
                        path class=(path_class(series)) d={ "M" (at) " 46" (sample) } {}
                    }
                    text x=(at + 36.0) y="51" { (name) }
                    ({ at = round(at + 60.0 + width(name) as f64 * LETTER); "" })
                }
            }
        }
    }

    fn series(&self, series: &Series) -> Markup {
        let point = |x: f64, y: f64| format!("{} {}", self.across(self.chart.x.across(x)), down(self.chart.y.up(y)));
        let lines: Vec<String> = match &series.marks {
            Marks::Line(points) => vec![points.iter().map(|(x, y)| point(*x, *y)).collect::<Vec<_>>().join("L")],
            Marks::Dots(points) => points.iter().map(|(x, y)| format!("{}h0", point(*x, *y))).collect(),
            Marks::Down(value) => {
                let x = self.across(self.chart.x.across(*value));
                vec![format!("{x} {TOP}V{}", HEIGHT - BOTTOM)]
            }
            Marks::Squares(all) => {
                return html! {
                    @for one in all {
                        @let (x, y) = (one.column as f64, one.row as f64);
                        @let left = self.across(self.chart.x.across(x - 0.5));
                        @let (top, bottom) = (down(self.chart.y.up(y - 0.5)), down(self.chart.y.up(y + 0.5)));
                        rect class=(series.look.class()) x=(left) y=(top)
                            width=(round(self.across(self.chart.x.across(x + 0.5)) - left)) height=(round(bottom - top))
                            fill-opacity=(format!("{:.2}", one.share)) {
                            @if !one.text.is_empty() { title { (one.text) } }
                        }
                    }
                };
            }
            Marks::Intervals(all) => {
                all.iter().map(|one| format!("{}L{}", point(one.x, one.low), point(one.x, one.high))).collect()
            }
            Marks::Across(value) => vec![format!("{} {}H{}", self.left, down(self.chart.y.up(*value)), WIDTH - RIGHT)],
            Marks::Columns(bins) => {
                return html! {
                    @for bin in bins.iter().filter(|bin| bin.height > 0.0) {
                        @let (from, to) = (self.across(self.chart.x.across(bin.from)), self.across(self.chart.x.across(bin.to)));
                        @let top = down(self.chart.y.up(bin.height));
                        rect class=(series.look.class()) x=(from) y=(top) width=(round(to - from))
                            height=(round(down(0.0) - top)) {}
                    }
                };
            }
            Marks::Bars(bars) => {
                return html! {
                    @for bar in bars {
                        @let (from, to) = (self.across(self.chart.x.across(bar.from)), self.across(self.chart.x.across(bar.to)));
                        @let (top, bottom) = (self.chart.y.up(bar.row as f64 - HALF), self.chart.y.up(bar.row as f64 + HALF));
                        rect class=(series.look.class()) x=(from) y=(down(top)) width=(round(to - from))
                            height=(round(down(bottom) - down(top))) { title { (bar.text) } }
                    }
                };
            }
        };
        let path: String = lines.iter().filter(|line| !line.is_empty()).map(|line| format!("M{line}")).collect();
        html! { @if !path.is_empty() { path class=(path_class(series)) d=(path) {} } }
    }

    /// Returns the horizontal pixel of a position from 0 (left) to 1 (right).
    fn across(&self, share: f64) -> f64 {
        round(self.left + share * (WIDTH - RIGHT - self.left))
    }
}

/// Returns the vertical pixel of a position from 0 (bottom) to 1 (top).
fn down(share: f64) -> f64 {
    round(TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM))
}

/// Rounds to a tenth of a pixel.
fn round(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

fn path_class(series: &Series) -> String {
    let dots = if matches!(series.marks, Marks::Dots(_)) { "dots " } else { "" };
    format!("{dots}{}", series.look.class())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Look;
    use crate::chart::{Whisker, sample};

    #[test]
    fn bars_are_in_their_rows_and_have_a_key() {
        let drawing = text(&sample());
        // The label "another" has 7 letters, and the axis therefore begins at 7 × 7.5 + 20 = 72.5, rounded to 73.
        let bar =
            "<rect class=\"rest\" x=\"248.8\" y=\"83.4\" width=\"351.5\" height=\"123.2\"><title>2 s</title></rect>";
        assert!(drawing.contains(bar), "{drawing}");
        assert!(drawing.contains(">waiting</text>") && drawing.contains(">the rest</text>"), "{drawing}");
        assert!(drawing.contains("<title>Lives. one: 1 s waiting,") && drawing.ends_with("</svg>\n"), "{drawing}");
    }

    #[test]
    fn dots_are_on_their_line() {
        let drawing = text(&crate::chart::dots());
        // A third of the way from 28 to 776: on a logarithmic axis, 2 is at a third of the way from 1 to 8.
        for path in [
            "class=\"rest\" d=\"M277.3 64V388\"",
            "d=\"M28 64L277.3 226L776 388\"",
            "class=\"dots first\" d=\"M28 64h0",
        ] {
            assert!(drawing.contains(path), "{path}: {drawing}");
        }
    }

    #[test]
    fn lines_are_between_the_axes() {
        let (x, y) = (sample().y, sample().x);
        let series = |marks| Series { name: None, look: Look::First, marks };
        let whiskers = Marks::Intervals(vec![Whisker { x: 1.0, low: 1.0, high: 3.0 }]);
        let all = vec![series(Marks::Line(vec![(0.0, 0.0), (1.0, 4.0)])), series(whiskers), series(Marks::Across(2.0))];
        let drawing = text(&Chart { x, y, series: all, note: Some("below".to_owned()), ..sample() });
        for path in ["M226.3 388L592.8 64", "M592.8 307L592.8 145", "M43 226H776"] {
            assert!(drawing.contains(&format!("d=\"{path}\"")), "{path}: {drawing}");
        }
        assert!(drawing.contains(">below</text>"), "{drawing}");
        let long = "word ".repeat(40);
        let drawing = text(&Chart { note: Some(long.trim_end().to_owned()), ..sample() });
        assert!(drawing.contains("y=\"429\">word word") && drawing.contains("y=\"446\">word"), "{drawing}");
        let without = text(&Chart { series: vec![], ..sample() });
        assert!(without.contains(">Lives</text>") && !without.contains("<path"), "{without}");
    }
}
