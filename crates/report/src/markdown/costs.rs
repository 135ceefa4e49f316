//! What primitives cost as Markdown.

use steady_model::CostsReport;

use super::load::table;
use super::{close, open, row};
use crate::text::costs::{CLOCKS, Line, Said, clock_lines, clocks, lines, small, sweep_reasons, sweeps};
use crate::units::TIE;
use crate::words::costs::{HEADING, early, facts, notes, only_clocks, sentences};
use crate::words::repeat_costs;
use steady_render::markdown::{code, fenced, plain};

/// The columns of a distribution in small.
const SMALL: usize = 24;

/// What primitives cost as GitHub's Markdown: in words, then as a table, and what it rests on folded away.
pub fn costs_markdown(report: &CostsReport) -> String {
    let mut out = String::new();
    for (index, sentence) in sentences(report).iter().enumerate() {
        let said = plain(sentence);
        out.push_str(&if index == 0 { format!("**{said}**\n\n") } else { format!("{said}\n\n") });
    }
    if let Some(text) = early(report) {
        out.push_str(&format!("> **{}**\n\n", plain(&text)));
    }
    if only_clocks(report) {
        known(report, &mut out);
    }
    if report.record.plan.sweep {
        by_length(report, &mut out)
    } else {
        all(report, &mut out)
    }
    for note in notes(report) {
        out.push_str(&format!("- {}\n", plain(&note)));
    }
    out.push('\n');
    open(&mut out, "How it was measured");
    facts(report).iter().for_each(|(label, text)| out.push_str(&format!("- {label}: {}\n", plain(text))));
    close(&mut out);
    let line = repeat_costs(&report.record.plan);
    out.push_str(&format!("Seed {}. To measure the same again:\n\n{}", report.record.plan.seed, fenced(&line)));
    out
}

/// One table of all probes, by group.
fn all(report: &CostsReport, out: &mut String) {
    let (groups, notes) = lines(report);
    if groups.is_empty() {
        return;
    }
    out.push_str(&format!("{}:\n\n", plain(HEADING)));
    row(out, ["Probe", "Median", "95 % interval", "Spread", "Distribution"].map(str::to_owned).into_iter());
    row(out, ["---", "---:", "---:", "---:", "---"].map(str::to_owned).into_iter());
    for (group, lines) in groups {
        let head = std::iter::once(format!("**{}**", plain(group.heading())));
        row(out, head.chain((1..5).map(|_| String::new())));
        lines.iter().for_each(|line| row(out, cells(line).into_iter()));
    }
    let notes: Vec<String> = notes.lines().map(|line| plain(&line)).collect();
    if !notes.is_empty() {
        out.push_str(&format!("\n{}\n", notes.join("<br>\n")));
    }
    out.push('\n');
}

fn cells(line: &Line<'_>) -> [String; 5] {
    let [median, interval, spread] = match &line.said {
        Said::Figures(cells) => cells.clone(),
        Said::Below(text, spread) => [text.clone(), String::new(), spread.clone()],
        Said::Absent(text) => [text.clone(), String::new(), String::new()],
    };
    let bars = line.cost.map(|cost| small(cost, SMALL).replace(' ', TIE)).unwrap_or_default();
    let modes = line.modes.as_ref().map(|text| format!(" {}", plain(text))).unwrap_or_default();
    [code(line.name), plain(&median), plain(&interval), plain(&spread), format!("{bars}{modes}")]
}

/// A table per probe by length of the loop.
fn by_length(report: &CostsReport, out: &mut String) {
    for (heading, content) in sweeps(report) {
        out.push_str(&format!("**{}**\n\n", plain(&heading)));
        table(content, out);
        out.push('\n');
    }
    sweep_reasons(report).iter().for_each(|text| out.push_str(&format!("{}\n\n", plain(text))));
}

/// What is known of the clocks.
fn known(report: &CostsReport, out: &mut String) {
    if report.record.clocks.is_empty() {
        return;
    }
    out.push_str(&format!("{}:\n\n", plain(CLOCKS)));
    table(clocks(report), out);
    out.push('\n');
    for (name, said) in clock_lines(report) {
        let said: Vec<String> = said.iter().map(|(label, text)| format!("{label}: {}", plain(text))).collect();
        out.push_str(&format!("- {}<br>{}\n", code(&name), said.join("<br>")));
    }
    out.push('\n');
}
