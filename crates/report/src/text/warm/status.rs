//! What is kept of programs, as text.

use steady_model::{WarmQuestion, WarmReport, WarmState};

use crate::text::Style;
use crate::text::{Page, Paint};
use crate::words::warm::status::{HEADS, facts, launches, of_program, reasons, row, sentence};
use crate::words::{cut, width};

/// Between two columns, and before every line.
const GAP: usize = 2;
/// The column of the paths, and those that are set to the left.
const PATH: usize = HEADS.len() - 1;
const LEFT: [usize; 2] = [0, PATH];

/// The report as text: what was asked about each program, or what is kept of all of them.
pub fn warm_status_text(report: &WarmReport, style: Style) -> String {
    let mut page = Page::new(style);
    if report.question != WarmQuestion::Status {
        for program in &report.programs {
            let (claim, rest) = of_program(report, program);
            let warm = program.against.as_ref().map_or(program.state == WarmState::Warm, Vec::is_empty);
            page.paragraph(0, 2, &[(if warm { Paint::Same } else { Paint::Open }, claim), (Paint::Plain, rest)]);
        }
        return page.finish();
    }
    page.paragraph(0, 2, &[(Paint::Plain, sentence(report))]);
    if !report.programs.is_empty() {
        page.blank();
        table(&mut page, report);
    }
    let reasons = reasons(report);
    if !reasons.is_empty() {
        page.heading("Not warm");
        reasons
            .into_iter()
            .for_each(|(program, why)| page.paragraph(2, 4, &[(Paint::Plain, format!("{program}: {why}"))]));
    }
    if let Ok(store) = &report.store {
        page.heading("Launches");
        items(&mut page, launches(store));
        page.heading("Store");
        items(&mut page, facts(store));
    }
    page.finish()
}

fn items(page: &mut Page, lines: Vec<(&'static str, String)>) {
    let labels = lines.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
    lines.into_iter().for_each(|(label, text)| page.item(label, labels, &[(Paint::Plain, text)]));
}

/// The programs, a line each, their paths last, for those may be cut.
fn table(page: &mut Page, report: &WarmReport) {
    let rows: Vec<[String; HEADS.len()]> = report.programs.iter().map(|program| row(report, program)).collect();
    let wide = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0).max(width(HEADS[column]));
    let mut widths: [usize; HEADS.len()] = std::array::from_fn(wide);
    let (shown, room) = columns(page.width(), &widths);
    widths[PATH] = widths[PATH].min(room);
    let mut line = |paint: Paint, cells: [&str; HEADS.len()]| {
        let set = shown.iter().map(|column| {
            let cell = cut(cells[*column], widths[*column]);
            let pad = " ".repeat(widths[*column].saturating_sub(width(&cell)));
            if LEFT.contains(column) { cell + &pad } else { pad + &cell }
        });
        page.line(&[(paint, " ".repeat(GAP) + &set.collect::<Vec<_>>().join(&" ".repeat(GAP)))]);
    };
    line(Paint::Heading, HEADS);
    rows.iter().for_each(|row| line(Paint::Plain, row.each_ref().map(String::as_str)));
}

/// The columns that there is room for, and the room that is left for the path.
fn columns(page: usize, widths: &[usize; HEADS.len()]) -> (Vec<usize>, usize) {
    /// A path in less room cannot be told from others.
    const ENOUGH: usize = 20;
    /// What is left out first, by the places in [`HEADS`]: copies, size, when it was taken, launches as usual.
    const DISPENSABLE: [usize; 4] = [3, 4, 5, 2];
    let mut shown: Vec<usize> = (0..HEADS.len()).collect();
    let mut left_out = DISPENSABLE.into_iter();
    loop {
        let others: usize = shown.iter().filter(|column| **column != PATH).map(|column| widths[*column] + GAP).sum();
        let room = page.saturating_sub(GAP + others);
        match left_out.next() {
            Some(column) if room < ENOUGH.min(widths[PATH]) => shown.retain(|one| *one != column),
            _ => return (shown, room.max(width(HEADS[PATH]))),
        }
    }
}
