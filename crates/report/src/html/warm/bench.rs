//! The page of what keeping programs warm gains.

use maud::{Markup, html};
use steady_model::{Metric, WarmBenchReport, WarmFigures, WarmMode, WarmProgram};

use crate::html::facts::{cpus, fact, host, reading};
use crate::html::scale::{Kind, Scale};
use crate::html::svg::{Path, Plot, across, sample};
use crate::html::{page, spans};
use crate::text::Footnotes;
use crate::text::table::Table;
use crate::units::{duration, short};
use crate::words::one_line;
use crate::words::warm::bench as words;

/// The line of each mode, in the order of all modes.
const CLASSES: [&str; WarmMode::ALL.len()] = ["zero", "perwall", "percpu"];

/// The report as a page: for each program what is claimed of it, the launches of a session one by one, what they have cost
/// so far beside normal ones, and the tables.
pub fn warm_bench_html(report: &WarmBenchReport) -> String {
    let title = "What keeping programs warm gains";
    let header = html! {
        h1 { "Steadyhand: what keeping programs warm gains" }
        @if let Some(text) = words::early(report) { p.warning role="note" { (text) } }
    };
    let record = &report.record;
    let main = html! {
        @for (at, measured) in report.programs.iter().enumerate() {
            section {
                h2 { code { (words::program(report, at)) } }
                @match measured {
                    Ok(measured) => (program(measured)),
                    Err(absent) => p.note { "Absent: " (one_line(&absent.0)) "." },
                }
            }
        }
        section {
            h2 { "What it rests on" }
            dl {
                @for (label, text) in words::facts(report) { (fact(label, &text)) }
                (fact("took", &duration(record.elapsed)))
                (fact("begun", &crate::json::started(record.started)))
                (host(&record.host, &cpus(&record.host)))
                (reading("git revision", &record.revision, |revision| one_line(revision)))
            }
            p.note { (words::ALL) "." }
        }
    };
    page(title, &header, &main)
}

fn program(program: &WarmProgram) -> Markup {
    html! {
        @for (index, sentence) in words::sentences(program).iter().enumerate() {
            @if index == 0 { p.verdict { (spans(sentence)) } } @else { p { (spans(sentence)) } }
        }
        @for note in &program.notes { p.warning role="note" { strong { "Note:" } " " (note) } }
        h3 { (words::COURSE) }
        figure { (course(&program.modes)) (key(&program.modes, "")) }
        h3 { "What the launches have cost so far beside normal ones, the taking with them" }
        figure { (behind(&program.modes)) (key(&program.modes, ": CPU time, what runs beside included")) }
        (table(words::MEANS, words::means(program)))
        (table(words::AGAINST, words::against(program)))
    }
}

fn key(modes: &[WarmFigures], more: &str) -> Markup {
    html! {
        p.key { @for (figures, class) in modes.iter().zip(CLASSES) {
            @if more.is_empty() || figures.mode != WarmMode::Normal {
                span { (sample(class)) (figures.mode.name()) (more) }
            }
        } }
    }
}

/// The wall time of each launch.
fn course(modes: &[WarmFigures]) -> Markup {
    let top = modes.iter().flat_map(|figures| &figures.course).map(|launch| launch[0]).fold(0.0, f64::max);
    let lines = modes.iter().map(|figures| figures.course.iter().map(|launch| launch[0]).collect()).collect();
    lines_of(lines, (0.0, top), &modes.iter().map(words::course).collect::<Vec<_>>().join("; "))
}

/// What a mode has cost so far more than normal launches: by CPU time, for that has the taking in it.
fn behind(modes: &[WarmFigures]) -> Markup {
    let normal =
        modes.iter().find(|figures| figures.mode == WarmMode::Normal).map_or(&[][..], |figures| &figures.course);
    let line = |figures: &WarmFigures| -> Vec<f64> {
        let Ok(both) = &figures.break_even else { return vec![] };
        let mut behind = both[1].taking;
        let launches = figures.course.iter().zip(normal).map(|(launch, usual)| {
            behind += launch[1] - usual[1];
            behind
        });
        launches.collect()
    };
    let lines: Vec<Vec<f64>> = modes.iter().map(line).collect();
    let low = lines.iter().flatten().copied().fold(0.0, f64::min);
    let high = lines.iter().flatten().copied().fold(0.0, f64::max);
    lines_of(
        lines,
        (low, high),
        "CPU time of the launches so far and of the taking, less that of as many normal launches.",
    )
}

/// A line per mode over the launches of a session.
fn lines_of(lines: Vec<Vec<f64>>, (low, high): (f64, f64), label: &str) -> Markup {
    let launches = lines.iter().map(Vec::len).max().unwrap_or(0);
    let has_room = high > low;
    if launches == 0 || !has_room {
        return html! { p.note { "There is nothing to draw." } };
    }
    let room = 0.06 * (high - low);
    let y = Scale::new(Kind::Cost(Metric::Wall), if low < 0.0 { low - room } else { low }, high + room);
    let place = |launch: usize| (launch as f64 + 0.5) / launches as f64;
    let step = launches.div_ceil(10).max(1);
    let ticks: Vec<(f64, String)> =
        (0..launches).step_by(step).map(|launch| (place(launch), short(launch as f64 + 1.0))).collect();
    let inside = html! {
        @if low < 0.0 { (across(&y, 0.0, "zero")) }
        @for (line, class) in lines.iter().zip(CLASSES) { (path(line, &place, &y).draw(class)) }
    };
    Plot { label, height: "middle", x: &ticks, x_labels: true, y: &y.ticks(), inside }.draw()
}

fn path(line: &[f64], place: &dyn Fn(usize) -> f64, y: &Scale) -> Path {
    let mut path = Path::default();
    for (launch, value) in line.iter().enumerate() {
        let at = (place(launch), y.clamped(*value));
        if launch == 0 { path.start(at) } else { path.on(at) }
    }
    path
}

fn table(heading: &str, (table, notes): (Table, Footnotes)) -> Markup {
    html! {
        h3 { (heading) }
        div.scroll role="region" aria-label=(heading) tabindex="0" { table {
            thead { tr {
                td {}
                @for name in &table.names { th scope="col" { (name) } }
            } }
            tbody { @for quantity in &table.quantities { tr {
                th scope="row" { (quantity.label) }
                @for cell in &quantity.cells { td.number { (cell) } }
            } } }
        } }
        @for line in notes.lines() { p.note { (line) } }
    }
}
