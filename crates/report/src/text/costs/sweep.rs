//! The cost by length of the loop, with the reason where it differs.

use steady_model::{Cost, CostsReport, LengthReason, Probe};

use super::{Footnotes, mark};
use crate::text::grid::{Column, Grid};
use crate::text::{Page, Paint};
use crate::units::percent;
use crate::words::costs::{Figures, below, count, lengths, meaning, measured, reason};

/// The tables and their headings, a probe each; the same in every form.
pub(crate) fn sweeps(report: &CostsReport) -> Vec<(String, (Grid, Footnotes))> {
    let mut probes: Vec<Probe> = Vec::new();
    for (probe, _) in &report.costs {
        if !probes.contains(probe) {
            probes.push(*probe);
        }
    }
    let heading = |probe: Probe| format!("{}: the cost of {} by length of the loop", probe.name(), probe.unit());
    probes.into_iter().map(|probe| (heading(probe), table(report, probe))).collect()
}

const ROUNDS: &str = "rounds of the loop";
const MEDIAN: &str = "median";

/// One probe's lengths, a line each.
fn table(report: &CostsReport, probe: Probe) -> (Grid, Footnotes) {
    let mut notes = Footnotes::default();
    let missing = report.costs.iter().filter(|(of, _)| *of == probe).filter_map(|(_, cost)| cost.as_ref().err());
    let mut marks: Vec<String> = missing.map(|absent| mark(absent, &mut notes)).collect();
    marks.dedup();
    let mut lengths = lengths(report, probe);
    lengths.sort_by_key(|(cost, _)| cost.loops);
    // What could not be measured has no length that is known here: it is that of all, or what lies beyond the others.
    let label = if lengths.is_empty() { "any" } else { "longer" };
    let column = |head: &str, cell: &dyn Fn(&Cost, LengthReason) -> String| {
        let absent = |mark: &String| match head {
            ROUNDS => label.to_owned(),
            MEDIAN => format!("absent\u{a0}{mark}"),
            _ => "–".to_owned(),
        };
        let measured = lengths.iter().map(|(cost, why)| cell(cost, *why));
        Column { head: head.to_owned(), cells: measured.chain(marks.iter().map(absent)).collect() }
    };
    let apart = |cost: &Cost| match cost.all_disturbed {
        true => "disturbed".to_owned(),
        false => percent(cost.set_apart as f64 / (cost.set_apart + cost.repetitions).max(1) as f64),
    };
    let interval = |cost: &Cost| if cost.below_resolution { "–".to_owned() } else { Figures::of(cost).interval() };
    let grid = Grid(vec![
        column(ROUNDS, &|cost, _| count(cost.loops)),
        column(MEDIAN, &|cost, _| if cost.below_resolution { below(cost) } else { Figures::of(cost).median() }),
        column("95\u{a0}% interval", &|cost, _| interval(cost)),
        column("set apart", &|cost, _| apart(cost)),
        column("against the longest", &|_, why| reason(why).to_owned()),
    ]);
    (grid, notes)
}

/// What the reasons that occur mean, and what was disturbed, a sentence each.
pub(crate) fn sweep_reasons(report: &CostsReport) -> Vec<&'static str> {
    const ALL: [LengthReason; 6] = [
        LengthReason::Agrees,
        LengthReason::StartUp,
        LengthReason::TimerGrain,
        LengthReason::Frequency,
        LengthReason::Preemption,
        LengthReason::Unexplained,
    ];
    let disturbed = measured(report).any(|cost| cost.all_disturbed);
    let disturbed = disturbed.then_some("Disturbed: nearly every repetition was, so that none is set apart.");
    ALL.into_iter().filter(|one| report.reasons.contains(one)).map(meaning).chain(disturbed).collect()
}

/// Sets the tables.
pub(super) fn write(report: &CostsReport, page: &mut Page) {
    for (heading, (grid, notes)) in sweeps(report) {
        page.heading(&heading);
        if grid.rows() > 0 {
            grid.write(page);
        }
        notes.write(page);
    }
    page.blank();
    sweep_reasons(report).into_iter().for_each(|text| page.paragraph(0, 2, &[(Paint::Plain, text.to_owned())]));
}
