//! A load experiment as Markdown.

use steady_model::LoadReport;

use super::{close, open, row};
use crate::text::Footnotes;
use crate::text::grid::Grid;
use crate::text::load;
use crate::words::repeat_load;
use steady_render::markdown::{fenced, plain};

/// A load experiment as GitHub's Markdown: the answer, the table, and what they rest on folded away.
pub fn load_markdown(report: &LoadReport) -> String {
    let mut out = String::new();
    for (index, sentence) in load::sentences(report).iter().enumerate() {
        let said = plain(sentence);
        out.push_str(&if index == 0 { format!("**{said}**\n\n") } else { format!("{said}\n\n") });
    }
    for text in load::early(report) {
        out.push_str(&format!("> **Warning:** {}\n\n", plain(&text)));
    }
    if !report.points.is_empty() {
        out.push_str(&format!("{}:\n\n", plain(&load::each_process(report))));
        table(load::figures(report), &mut out);
        out.push('\n');
        folded(load::MEANWHILE, load::meanwhile(report), &mut out);
        if let Some(grid) = load::rulers(report) {
            folded(load::RULERS, (grid, Footnotes::default()), &mut out);
        }
    }
    open(&mut out, "The machine");
    load::facts(report).iter().for_each(|(label, text)| out.push_str(&format!("- {label}: {}\n", plain(text))));
    close(&mut out);
    out.push_str(&format!("Seed {}. ", report.record.plan.seed));
    match repeat_load(&report.record.plan) {
        Ok(line) => out.push_str(&format!("To measure the same again:\n\n{}", fenced(&line))),
        Err(why) => out.push_str(&format!("No one command line repeats it: {why}.\n")),
    }
    out
}

/// A table that is folded away.
fn folded(heading: &str, table: (Grid, Footnotes), out: &mut String) {
    open(out, heading);
    self::table(table, out);
    close(out);
}

/// A column of numbers each, and the reasons of what is absent below.
pub(super) fn table((grid, notes): (Grid, Footnotes), out: &mut String) {
    row(out, grid.0.iter().map(|column| plain(&column.head)));
    row(out, grid.0.iter().map(|_| "---:".to_owned()));
    for index in 0..grid.rows() {
        row(out, grid.0.iter().map(|column| column.cells.get(index).map_or_else(String::new, |cell| plain(cell))));
    }
    let notes: Vec<String> = notes.lines().map(|line| plain(&line)).collect();
    if !notes.is_empty() {
        out.push_str(&format!("\n{}\n", notes.join("<br>\n")));
    }
}
