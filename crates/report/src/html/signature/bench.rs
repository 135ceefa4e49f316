//! The page of what an allocator's lock costs.

use maud::{Markup, html};
use steady_model::{SignatureAllocator, SignatureBenchReport, SignatureQuestion};

use crate::html::facts::{cpus, fact, host};
use crate::html::scale::{Kind, Scale};
use crate::html::svg::{Path, Plot, across, sample};
use crate::html::{page, spans};
use crate::text::Footnotes;
use crate::text::grid::Grid;
use crate::units::memory;
use crate::words::signature::bench as words;

/// The line of each allocator.
const CLASSES: [&str; words::COLUMNS.len()] = ["zero", "percpu", "perwall", "estimate"];

/// The report as a page: the answers, a chart and a table for each size, and pools by their sizes.
pub fn signature_bench_html(report: &SignatureBenchReport) -> String {
    let title = "What an allocator's lock costs";
    let header = html! {
        h1 { "Steadyhand: what an allocator's lock costs" }
        @if let Some(text) = words::early(report) { p.warning role="note" { (text) } }
        @for (at, sentence) in words::sentences(report).iter().enumerate() {
            @if at == 0 { p.verdict { (spans(sentence)) } } @else { p { (spans(sentence)) } }
        }
    };
    let main = html! {
        @for bytes in words::sizes(report) { (size(report, bytes)) }
        (pools(report))
        section {
            h2 { "What it rests on" }
            dl {
                @for (label, text) in words::facts(report) { (fact(label, &text)) }
                (fact("begun", &crate::json::started(report.record.started)))
                (host(&report.record.host, &cpus(&report.record.host)))
            }
        }
    };
    page(title, &header, &main)
}

fn size(report: &SignatureBenchReport, bytes: u64) -> Markup {
    let (grid, notes) = words::full(report, bytes, false);
    html! {
        section {
            h2 { (memory(bytes as f64)) }
            figure { (workers(report, bytes)) }
            (table(&format!("All of {}", memory(bytes as f64)), &grid, &notes))
        }
    }
}

/// The time of each allocator by the number of workers, beside a pool's with one worker.
fn workers(report: &SignatureBenchReport, bytes: u64) -> Markup {
    let of = |allocator: SignatureAllocator| -> Vec<(u32, f64)> {
        let point = |(one, figures): words::Row<'_>| Some((one.workers, figures.as_ref().ok()?.wall.ln()));
        let chosen =
            words::rows(report).filter(|(one, _)| !one.kept && one.bytes == bytes && one.allocator == allocator);
        chosen.filter_map(point).collect()
    };
    let lines = words::COLUMNS.map(of);
    let base = lines[1].iter().find(|(workers, _)| *workers == 1).map(|(_, log)| *log);
    let counts: Vec<u32> = lines
        .iter()
        .map(|line| line.iter().map(|(count, _)| *count).collect())
        .max_by_key(Vec::len)
        .unwrap_or_default();
    let (Some(base), true) = (base, counts.len() > 1) else { return html! { p.note { "There is nothing to draw." } } };
    let logs = || lines.iter().flatten().map(|(_, log)| log - base);
    let y = Scale::new(Kind::Change, logs().fold(0.0, f64::min) - 0.15, logs().fold(0.0, f64::max) + 0.15);
    let place = |workers: u32| {
        counts.iter().position(|count| *count == workers).map(|at| (at as f64 + 0.5) / counts.len() as f64)
    };
    let ticks: Vec<(f64, String)> =
        counts.iter().filter_map(|count| Some((place(*count)?, count.to_string()))).collect();
    let inside = html! {
        (across(&y, 0.0, "zero"))
        @for (line, class) in lines.iter().zip(CLASSES) {
            (joined(line.iter().filter_map(|(workers, log)| Some((place(*workers)?, y.clamped(log - base))))).draw(class))
        }
    };
    let label = format!("Real time on {} by workers, for each allocator.", memory(bytes as f64));
    html! {
        (Plot { label: &label, height: "middle", x: &ticks, x_labels: true, y: &y.ticks(), inside }.draw())
        p.key { @for (allocator, class) in words::COLUMNS.into_iter().zip(CLASSES) { span { (sample(class)) (allocator.name()) } } }
        p.note { "Real time beside that of a pool with one worker; below: workers, in equal factors." }
    }
}

fn joined(points: impl Iterator<Item = (f64, f64)>) -> Path {
    let mut path = Path::default();
    for (at, point) in points.enumerate() {
        if at == 0 { path.start(point) } else { path.on(point) }
    }
    path
}

/// Pools that are walked through whole.
fn pools(report: &SignatureBenchReport) -> Markup {
    let (grid, notes) = words::pools(report);
    if grid.rows() == 0 {
        return html! {};
    }
    html! {
        section {
            h2 { "Pools that are walked through whole before they start over" }
            figure { (pool_sizes(report)) }
            (table("Pools by size", &grid, &notes))
        }
    }
}

fn pool_sizes(report: &SignatureBenchReport) -> Markup {
    let points: Vec<_> = report
        .answers_to(SignatureQuestion::PoolSize)
        .filter_map(|answer| {
            let size = report.record.plan.conditions[answer.new].pool?;
            Some((memory(size.0 as f64), words::logs(answer)?))
        })
        .collect();
    if points.len() < 2 {
        return html! { p.note { "There is nothing to draw." } };
    }
    let ends = || points.iter().flat_map(|(_, (_, interval))| [interval.low, interval.high]);
    let y = Scale::new(Kind::Change, ends().fold(0.0, f64::min) - 0.01, ends().fold(0.0, f64::max) + 0.01);
    let place = |at: usize| (at as f64 + 0.5) / points.len() as f64;
    let ticks: Vec<(f64, String)> =
        points.iter().enumerate().map(|(at, (label, _))| (place(at), label.clone())).collect();
    let mut intervals = Path::default();
    for (at, (_, (_, interval))) in points.iter().enumerate() {
        intervals.line((place(at), y.clamped(interval.low)), (place(at), y.clamped(interval.high)));
    }
    let inside = html! {
        (across(&y, 0.0, "zero"))
        (intervals.draw("estimate"))
        (joined(points.iter().enumerate().map(|(at, (_, (log, _)))| (place(at), y.clamped(*log)))).draw("percpu"))
    };
    html! {
        (Plot { label: "Time by the size of the pool.", height: "middle", x: &ticks, x_labels: true, y: &y.ticks(), inside }.draw())
        p.note { "Time beside that of a pool that starts over with each block, one worker, with intervals at 95 %." }
    }
}

fn table(label: &str, grid: &Grid, notes: &Footnotes) -> Markup {
    html! {
        div.scroll role="region" aria-label=(label) tabindex="0" { table {
            thead { tr { @for column in &grid.0 { th scope="col" { (column.head) } } } }
            tbody { @for at in 0..grid.rows() { tr {
                @for (number, column) in grid.0.iter().enumerate() {
                    @if number == 0 { th scope="row" { (column.cells[at]) } } @else { td.number { (column.cells[at]) } }
                }
            } } }
        } }
        @for line in notes.lines() { p.note { (line) } }
    }
}
