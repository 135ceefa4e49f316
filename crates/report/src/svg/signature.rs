//! The drawing of what an allocator's lock costs: throughput by the number of workers.

use maud::{Markup, PreEscaped, html};
use steady_model::{SignatureAllocator, SignatureBenchReport};

use super::{BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, round, y};
use crate::units::{memory, short};
use crate::words::signature::bench as words;

/// Light, and dark where that is preferred.
const STYLE: &str = "
svg { background: #ffffff; } text { font: 14px system-ui, sans-serif; fill: #1c2126; } .quiet { fill: #565f69; }
.grid { stroke: #e9ecef; } path { fill: none; stroke-width: 2; }
.none { stroke: #565f69; } .pool { stroke: #1f5fae; } .global { stroke: #b0480c; stroke-dasharray: 7 3; }
.system { stroke: #2b7a4b; stroke-dasharray: 2 3; }
@media (prefers-color-scheme: dark) {
svg { background: #14171a; } text { fill: #e7eaed; } .quiet { fill: #a3adb8; } .grid { stroke: #262c32; }
.none { stroke: #a3adb8; } .pool { stroke: #6aa9f4; } .global { stroke: #f3955a; } .system { stroke: #6cc492; } }
";

/// A line: workers, and the logarithm of the throughput in MB/s.
type Line = Vec<(u32, f64)>;

/// Throughput of each allocator by workers, on the size that the questions are about, as an SVG; without a line where there is
/// nothing to draw.
pub fn signature_bench_svg(report: &SignatureBenchReport) -> String {
    let bytes = words::asked(report);
    let lines = bytes.map_or_else(Vec::new, |bytes| words::COLUMNS.map(|one| line(report, bytes, one)).into());
    let drawn = lines.iter().flatten().count() > 1;
    let title = bytes.filter(|_| drawn).map_or_else(
        || "There is no chart: too little was measured".to_owned(),
        |bytes| format!("Signatures of {}, MB/s", memory(bytes as f64)),
    );
    let drawing = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) role="img" {
            title { (title) }
            style { (PreEscaped(STYLE)) }
            text x=(LEFT) y="26" { (title) }
            @if drawn { (chart(&lines)) }
        }
    };
    crate::words::harmless(drawing.into_string()) + "\n"
}

fn line(report: &SignatureBenchReport, bytes: u64, allocator: SignatureAllocator) -> Line {
    let ways = words::ways(report, bytes).into_iter().filter(|(one, _)| one.allocator == allocator);
    let point = |(one, figures): words::Row<'_>| {
        Some((one.workers, (bytes as f64 / 1e6 / figures.as_ref().ok()?.wall).log10()))
            .filter(|(_, log)| log.is_finite())
    };
    ways.filter_map(point).collect()
}

/// The axes, equal factors both, and the lines.
fn chart(lines: &[Line]) -> Markup {
    let logs = || lines.iter().flatten().map(|(_, log)| *log);
    let (low, high) = (logs().fold(f64::INFINITY, f64::min).floor(), logs().fold(f64::NEG_INFINITY, f64::max) + 0.1);
    let mut counts: Vec<u32> = lines.iter().flatten().map(|(count, _)| *count).collect();
    counts.sort_unstable();
    counts.dedup();
    let x = |count: u32| {
        let place = counts.iter().position(|one| *one == count).unwrap_or(0) as f64 + 0.5;
        round(LEFT + place / counts.len() as f64 * (WIDTH - LEFT - RIGHT))
    };
    let at = |log: f64| y((log - low) / (high - low));
    let steps = (low as i32..=high as i32).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)));
    html! {
        @for step in steps.filter(|step| step.log10() <= high) {
            line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(step.log10())) y2=(at(step.log10())) {}
            text.quiet x=(LEFT - 10.0) y=(at(step.log10()) + 5.0) text-anchor="end" { (short(step)) }
        }
        @for count in &counts {
            text.quiet x=(x(*count)) y=(HEIGHT - BOTTOM + 22.0) text-anchor="middle" { (count) }
        }
        @for (number, (line, allocator)) in lines.iter().zip(words::COLUMNS).enumerate() {
            @let points: Vec<String> = line.iter().map(|(count, log)| format!("{} {}", x(*count), at(*log))).collect();
            @if !points.is_empty() {
                path class=(allocator.name()) d={ "M" (points.join("L")) } {}
                path class=(allocator.name()) d={ "M" (LEFT + 120.0 * number as f64) " 46h28" } {}
                text x=(LEFT + 120.0 * number as f64 + 36.0) y="51" { (allocator.name()) }
            }
        }
        text.quiet x=(WIDTH - RIGHT) y=(HEIGHT - 14.0) text-anchor="end" { "workers" }
    }
}
