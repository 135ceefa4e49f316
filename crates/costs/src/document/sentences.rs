//! The first sentences of the report.

use steady_model::Probe;
use steady_render::letters::{capital, one_line};
use steady_render::units::TIE;

use super::figures::{Figures, amount, below};
use super::{FEW, only_clocks, published, sweep};
use crate::record::{Cost, CostsRecord};

/// The probes of the first sentence, in order.
const FIRST: [(Probe, &str); 5] = [
    (Probe::FunctionCall, "a function call"),
    (Probe::SystemCall, "a system call"),
    (Probe::ProcessSwitch, "a process switch"),
    (Probe::PageFault, "a page fault"),
    (Probe::ForkExit, "a process by fork"),
];
/// The answer in one or more sentences.
pub(super) fn sentences(record: &CostsRecord) -> Vec<String> {
    if record.plan.sweep {
        return sweep::sentences(record);
    }
    if record.plan.as_published {
        return published::sentences(record);
    }
    let known: Vec<(&str, String)> =
        FIRST.iter().filter_map(|(probe, what)| Some((*what, cost_of(record, *probe)?))).collect();
    if let [(what, cost), others @ ..] = known.as_slice()
        && !others.is_empty()
    {
        let others: String = others.iter().map(|(what, cost)| format!(", {what} {cost}")).collect();
        return vec![format!("{} costs {cost}{others}.", capital(what))];
    }
    if only_clocks(record) && record.costs().count() > 1 {
        return vec![reading_clocks(record)];
    }
    let all: Vec<String> = record.costs().take(FEW).map(one).collect();
    if all.is_empty() { vec!["Nothing could be measured.".to_owned()] } else { all }
}

/// One sentence with the cost of reading each clock.
fn reading_clocks(record: &CostsRecord) -> String {
    let one = |cost: &Cost| {
        let facts = record.clocks.iter().find(|clock| clock.probe == cost.probe);
        let name = facts.map_or_else(|| cost.probe.name().to_owned(), |clock| one_line(&clock.name));
        let size = if cost.below_resolution { below(cost) } else { Figures::of(cost).median() };
        format!("{name} {size}")
    };
    format!("Reading a clock costs: {}.", record.costs().map(one).collect::<Vec<_>>().join(", "))
}

/// A probe's cost within a sentence. Returns `None` if it was not measured.
fn cost_of(record: &CostsRecord, probe: Probe) -> Option<String> {
    let cost = record.costs().find(|cost| cost.probe == probe)?;
    Some(if cost.below_resolution {
        format!("less than the resolution of {}", amount(cost.resolution_seconds))
    } else {
        Figures::of(cost).median()
    })
}

/// A sentence about one probe's cost.
fn one(cost: &Cost) -> String {
    let (name, unit) = (cost.probe.name(), cost.probe.unit());
    if cost.below_resolution {
        return format!("{name}: {} for {unit}.", below(cost));
    }
    let figures = Figures::of(cost);
    format!("{name}: {} for {unit}, {} at 95{TIE}%.", figures.median(), figures.interval_with_unit())
}

/// A summary for lists: `system call 102 ns; process switch 1.52 µs`.
pub(crate) fn summary(record: &CostsRecord) -> String {
    let longest = |probe: Probe| record.costs().filter(move |cost| cost.probe == probe).max_by_key(|cost| cost.loops);
    let mut chosen: Vec<&Cost> = FIRST[1..3].iter().filter_map(|(probe, _)| longest(*probe)).collect();
    if chosen.is_empty() {
        chosen = record.costs().next().and_then(|cost| longest(cost.probe)).into_iter().collect();
    }
    let one = |cost: &&Cost| {
        let size = if cost.below_resolution { "below resolution".to_owned() } else { amount(cost.median_seconds) };
        format!("{} {size}", cost.probe.name().replace('_', " "))
    };
    let all = chosen.iter().map(one).collect::<Vec<_>>().join("; ").replace(TIE, " ");
    if all.is_empty() { "nothing measured".to_owned() } else { all }
}
