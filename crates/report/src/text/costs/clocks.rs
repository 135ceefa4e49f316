//! The table of clocks: what reading one costs, how fine it is, whether it can jump, and what it is good for.

use steady_model::{ClockFacts, CostsReport, Nanos};

use super::{Footnotes, mark};
use crate::text::grid::{Column, Grid};
use crate::text::{Page, Paint};
use crate::units::TIE;
use crate::words::clocks::clock_words;
use crate::words::costs::{Figures, amount, below};
use crate::words::one_line;

/// The heading of the table.
pub(crate) const HEADING: &str = "The clocks of clock_gettime(2)";

/// The table, and the reasons of what is absent.
pub(crate) fn clocks(report: &CostsReport) -> (Grid, Footnotes) {
    let mut notes = Footnotes::default();
    let clocks = &report.record.clocks;
    let column = |head: &str, cells: Vec<String>| Column { head: head.to_owned(), cells };
    let read = clocks.iter().map(|clock| reading(report, clock, &mut notes)).collect();
    let seen = |clock: &ClockFacts| match &clock.smallest_step {
        Ok(step) => step_of(*step),
        Err(absent) => mark(absent, &mut notes),
    };
    let seen = clocks.iter().map(seen).collect();
    let jumps = |clock: &ClockFacts| match clock_words(clock.probe) {
        Some(words) => if words.steppable { "yes" } else { "no" }.to_owned(),
        None => "–".to_owned(),
    };
    let grid = Grid(vec![
        column("clock", clocks.iter().map(|clock| one_line(&clock.name)).collect()),
        column("a reading costs", read),
        column("resolution stated", clocks.iter().map(|clock| step_of(clock.stated_resolution)).collect()),
        column("smallest step seen", seen),
        column("can be set", clocks.iter().map(jumps).collect()),
    ]);
    (grid, notes)
}

/// What reading a clock costs.
fn reading(report: &CostsReport, clock: &ClockFacts, notes: &mut Footnotes) -> String {
    match report.costs.iter().find(|(probe, _)| *probe == clock.probe) {
        Some((_, Ok(cost))) if cost.below_resolution => below(cost),
        Some((_, Ok(cost))) => Figures::of(cost).median(),
        Some((_, Err(absent))) => mark(absent, notes),
        None => mark(&steady_model::Absent::because("it was not measured"), notes),
    }
}

/// Clocks step by whole nanoseconds.
fn step_of(step: Nanos) -> String {
    if step.0 < 1_000 { format!("{}{TIE}ns", step.0) } else { amount(step.seconds()) }
}

/// What a clock is good for: its name, and sentences with a label each.
pub(crate) fn clock_lines(report: &CostsReport) -> Vec<(String, [(&'static str, &'static str); 3])> {
    let lines = |clock: &ClockFacts| {
        let words = clock_words(clock.probe)?;
        let said = [("measures", words.measures), ("use it", words.when), ("jumps", words.steps)];
        Some((one_line(&clock.name), said))
    };
    report.record.clocks.iter().filter_map(lines).collect()
}

/// Sets the table.
pub(super) fn write(report: &CostsReport, page: &mut Page) {
    if report.record.clocks.is_empty() {
        return;
    }
    page.heading(HEADING);
    let (grid, notes) = clocks(report);
    grid.write(page);
    notes.write(page);
}

/// Says what each clock is good for.
pub(super) fn write_known(report: &CostsReport, page: &mut Page) {
    for (name, said) in clock_lines(report) {
        page.heading(&name);
        let labels = said.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        said.iter().for_each(|(label, text)| page.item(label, labels, &[(Paint::Plain, (*text).to_owned())]));
    }
}
