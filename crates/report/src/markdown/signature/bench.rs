//! What an allocator's lock costs, as Markdown.

use steady_model::SignatureBenchReport;

use crate::markdown::{row, spoken};
use crate::text::Footnotes;
use crate::text::grid::Grid;
use crate::units::memory;
use crate::words::signature::bench as words;
use steady_render::markdown::plain;

/// The report as GitHub's Markdown: the answers, then the tables.
pub fn signature_bench_markdown(report: &SignatureBenchReport) -> String {
    let mut out = String::new();
    if let Some(text) = words::early(report) {
        out.push_str(&format!("> **{text}**\n\n"));
    }
    words::sentences(report).iter().for_each(|sentence| out.push_str(&format!("{}\n\n", spoken(sentence))));
    for bytes in words::sizes(report) {
        out.push_str(&format!("### {}\n\n", plain(&memory(bytes as f64))));
        let (grid, notes) = words::full(report, bytes, false);
        table(&grid, &notes, &mut out);
    }
    let (pools, notes) = words::pools(report);
    if pools.rows() > 0 {
        out.push_str("### Pools that are walked through whole before they start over, one worker\n\n");
        table(&pools, &notes, &mut out);
    }
    words::facts(report).iter().for_each(|(label, text)| out.push_str(&format!("- {label}: {}\n", plain(text))));
    out
}

fn table(grid: &Grid, notes: &Footnotes, out: &mut String) {
    row(out, grid.0.iter().map(|column| plain(&column.head)));
    row(out, grid.0.iter().enumerate().map(|(at, _)| if at == 0 { "---" } else { "---:" }.to_owned()));
    for at in 0..grid.rows() {
        row(out, grid.0.iter().map(|column| plain(&column.cells[at])));
    }
    out.push('\n');
    notes.lines().for_each(|line| out.push_str(&format!("{}\n\n", plain(&line))));
}
