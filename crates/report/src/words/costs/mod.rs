//! What primitives cost, in words: made once, and set by the text, the Markdown and the page alike.

mod figures;
mod group;
mod notes;
mod sweep;

pub(crate) use figures::{Figures, amount, below, beyond, modes, spread};
pub(crate) use group::Group;
pub(crate) use notes::{count, early, facts, notes};
pub(crate) use sweep::{lengths, meaning, reason, sweep_sentences};

use steady_model::{Cost, CostsReport, Probe, Reading};

use crate::units::TIE;
use crate::words::{capital, one_line};

/// What a reader most wants to know, in the order of the first sentence.
const FIRST: [(Probe, &str); 5] = [
    (Probe::FunctionCall, "a function call"),
    (Probe::SystemCall, "a system call"),
    (Probe::ProcessSwitch, "a process switch"),
    (Probe::PageFault, "a page fault"),
    (Probe::ForkExit, "a process by fork"),
];
/// How many probes may have a histogram of many lines each.
pub(crate) const FEW: usize = 3;

/// The heading of the table.
pub(crate) const HEADING: &str = "Median of each, less the empty loop, with its 95\u{a0}% interval";

/// The answer: a sentence or two.
pub(crate) fn sentences(report: &CostsReport) -> Vec<String> {
    if report.record.plan.sweep {
        return sweep_sentences(report);
    }
    let told: Vec<(&str, String)> =
        FIRST.iter().filter_map(|(probe, what)| Some((*what, told(report, *probe)?))).collect();
    if let [(what, cost), others @ ..] = told.as_slice()
        && !others.is_empty()
    {
        let others: String = others.iter().map(|(what, cost)| format!(", {what} {cost}")).collect();
        return vec![format!("{} costs {cost}{others}.", capital(what))];
    }
    if only_clocks(report) && measured(report).count() > 1 {
        return vec![reading_clocks(report)];
    }
    let all: Vec<String> = measured(report).take(FEW).map(one).collect();
    if all.is_empty() { vec!["Nothing could be measured.".to_owned()] } else { all }
}

/// What reading each clock costs, in one sentence.
fn reading_clocks(report: &CostsReport) -> String {
    let one = |cost: &Cost| {
        let facts = report.record.clocks.iter().find(|clock| clock.probe == cost.probe);
        let name = facts.map_or_else(|| cost.probe.name().to_owned(), |clock| one_line(&clock.name));
        let size = if cost.below_resolution { below(cost) } else { Figures::of(cost).median() };
        format!("{name} {size}")
    };
    format!("To read a clock costs: {}.", measured(report).map(one).collect::<Vec<_>>().join(", "))
}

/// A probe's cost within a sentence; nothing where it was not measured.
fn told(report: &CostsReport, probe: Probe) -> Option<String> {
    let cost = measured(report).find(|cost| cost.probe == probe)?;
    Some(if cost.below_resolution {
        format!("less than the {} that can be told from nothing", amount(cost.resolution))
    } else {
        Figures::of(cost).median()
    })
}

/// A probe's cost as a sentence of its own.
fn one(cost: &Cost) -> String {
    let (name, unit) = (cost.probe.name(), cost.probe.unit());
    if cost.below_resolution {
        return format!("{name}: {} for {unit}.", below(cost));
    }
    let figures = Figures::of(cost);
    format!("{name}: {} for {unit}, {} at 95{TIE}%.", figures.median(), figures.interval_with_unit())
}

/// What was measured, in the order of the record.
pub(crate) fn measured(report: &CostsReport) -> impl Iterator<Item = &Cost> {
    report.costs.iter().filter_map(|(_, cost)| cost.as_ref().ok())
}

/// A probe, and what it costs.
pub(crate) type Entry = (Probe, Reading<Cost>);

/// The costs by group, groups without any left out.
pub(crate) fn grouped(report: &CostsReport) -> Vec<(Group, Vec<&Entry>)> {
    let of = |group: Group| report.costs.iter().filter(|(probe, _)| Group::of(*probe) == group).collect::<Vec<_>>();
    Group::ALL.into_iter().map(|group| (group, of(group))).filter(|(_, costs)| !costs.is_empty()).collect()
}

/// Whether clocks alone were measured: then what they are good for is shown beside it.
pub(crate) fn only_clocks(report: &CostsReport) -> bool {
    let probes = &report.record.plan.probes;
    !probes.is_empty() && !report.record.plan.sweep && probes.iter().all(|probe| Group::of(*probe) == Group::Clocks)
}

/// What primitives cost in a few words, for a list: `system call 102 ns; process switch 1.52 µs`.
pub fn costs_summary(report: &CostsReport) -> String {
    let longest = |probe: Probe| measured(report).filter(move |cost| cost.probe == probe).max_by_key(|cost| cost.loops);
    let mut chosen: Vec<&Cost> = FIRST[1..3].iter().filter_map(|(probe, _)| longest(*probe)).collect();
    if chosen.is_empty() {
        chosen = measured(report).next().and_then(|cost| longest(cost.probe)).into_iter().collect();
    }
    let one = |cost: &&Cost| {
        let size = if cost.below_resolution { "below resolution".to_owned() } else { amount(cost.median) };
        format!("{} {size}", cost.probe.name().replace('_', " "))
    };
    let all = chosen.iter().map(one).collect::<Vec<_>>().join("; ").replace(TIE, " ");
    if all.is_empty() { "nothing measured".to_owned() } else { all }
}
