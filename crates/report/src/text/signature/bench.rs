//! What an allocator's lock costs, as text.

use steady_model::SignatureBenchReport;

use crate::text::{Footnotes, Style};
use crate::text::{Page, Paint};
use crate::units::{TIE, memory, short};
use crate::words::signature::bench as words;
use crate::words::width;

/// The report as text: the answers, throughput as bars, then the tables.
pub fn signature_bench_text(report: &SignatureBenchReport, style: Style) -> String {
    let mut page = Page::new(style);
    if let Some(text) = words::early(report) {
        page.paragraph(0, 2, &[(Paint::Open, text.to_owned())]);
    }
    for sentence in words::sentences(report) {
        page.blank();
        page.paragraph(0, 2, &sentence);
    }
    let rates = words::rates(report);
    if let (Some(bytes), false) = (words::asked(report), rates.is_empty()) {
        page.heading(&format!("Throughput on {} (MB/s)", memory(bytes as f64)));
        bars(&rates, &mut page);
    }
    for bytes in words::sizes(report) {
        page.heading(&format!("Real time on {}", memory(bytes as f64)));
        let (grid, notes) = words::real(report, bytes);
        grid.write(&mut page);
        Footnotes::write(&notes, &mut page);
    }
    if let Some(bytes) = words::asked(report) {
        page.heading(&format!("All of {}", memory(bytes as f64)));
        let (grid, notes) = words::full(report, bytes, true);
        grid.write(&mut page);
        Footnotes::write(&notes, &mut page);
    }
    let (pools, notes) = words::pools(report);
    if pools.rows() > 0 {
        page.heading("Pools that are walked through whole before they start over, one worker");
        pools.write(&mut page);
        Footnotes::write(&notes, &mut page);
    }
    page.blank();
    let facts = words::facts(report);
    let labels = facts.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    facts.into_iter().for_each(|(label, text)| page.item(label, labels, &[(Paint::Plain, text)]));
    page.finish()
}

/// A bar each, all of one scale.
fn bars(rates: &[(String, f64)], page: &mut Page) {
    let labels = rates.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
    let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let room = page.width().saturating_sub(labels + 12).max(8) as f64;
    for (label, rate) in rates {
        let length = ((rate / most * room).round() as usize).max(1);
        let pad = " ".repeat(labels - width(label));
        page.line(&[(Paint::Plain, format!("  {label}{pad}  {}{TIE}{}", "█".repeat(length), short(*rate)))]);
    }
}
