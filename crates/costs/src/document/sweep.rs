//! The report of a sweep: how the cost depends on the length of the loop, and why.

use steady_model::{Absent, Probe};
use steady_render::Chart;
use steady_render::document::{Block, Fact, Section, Shown};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::percent;

use super::figures::{Figures, below};
use super::notes::count;
use super::{charts, each_once};
use crate::record::{Cost, CostsRecord, LengthReason};

/// All reasons, in the order in which the report explains them.
const REASONS: [LengthReason; 6] = [
    LengthReason::Agrees,
    LengthReason::StartUp,
    LengthReason::TimerGrain,
    LengthReason::Frequency,
    LengthReason::Preemption,
    LengthReason::Unexplained,
];

/// Explanation of a reason.
fn meaning(reason: LengthReason) -> &'static str {
    match reason {
        LengthReason::Agrees => "the cost agrees with the one at the longest undisturbed loop",
        LengthReason::StartUp => "the time to start and stop the timing is spread over few rounds",
        LengthReason::TimerGrain => "one step of the clock is a large part of such a short loop",
        LengthReason::Frequency => "the CPU ran at another clock rate",
        LengthReason::Preemption => "the loop is so long that other processes used the CPU in most repetitions",
        LengthReason::Unexplained => "the cost differs for none of the known reasons",
    }
}

/// A table and a chart for each probe, then the explanation of the reasons.
pub(super) fn sections(record: &CostsRecord) -> Vec<Section> {
    let mut sections = Vec::new();
    for probe in each_once(record) {
        let heading = format!("{}: cost of {} by length of the loop", probe.name(), probe.unit());
        sections.push(Section::new(&heading, vec![Block::Table(table(record, probe))]).whole());
        let heading = format!("{}: chart", probe.name());
        let chart = chart(record, probe).map(|chart| vec![Block::Chart(chart)]);
        sections.extend(chart.map(|chart| Section::new(&heading, chart).shown(Shown::OnPages)));
    }
    let occurs = |reason: &LengthReason| record.probes.iter().any(|probe| probe.against_longest == Some(*reason));
    let mut meanings: Vec<Fact> =
        REASONS.into_iter().filter(occurs).map(|reason| Fact::new(reason.name(), meaning(reason))).collect();
    if record.costs().any(|cost| cost.all_disturbed) {
        meanings.push(Fact::new(
            "disturbed",
            "other processes used the CPU in nearly all repetitions, so none are excluded",
        ));
    }
    if !meanings.is_empty() {
        sections.push(Section::new("Explanation of the table", vec![Block::Facts(meanings)]));
    }
    sections
}

/// The cost of each probe by length of the loop, with the name of the probe.
pub(super) fn plots(record: &CostsRecord) -> Vec<(&'static str, Chart)> {
    each_once(record).into_iter().filter_map(|probe| Some((probe.name(), chart(record, probe)?))).collect()
}

/// The cost of a probe by length of the loop. Returns `None` if too few lengths were measured.
fn chart(record: &CostsRecord, probe: Probe) -> Option<Chart> {
    let costs: Vec<&Cost> = lengths(record, probe).into_iter().map(|(cost, _)| cost).collect();
    charts::by_length(&costs, answer(record, probe)?)
}

/// A row of a probe's table: a measured length, or the reason why others were not measured.
enum Row<'a> {
    Length(&'a Cost, LengthReason),
    Absent(&'a Absent),
}

/// The table of one probe, with one row for each length.
fn table(record: &CostsRecord, probe: Probe) -> Table {
    let lengths = lengths(record, probe);
    // Lengths that were not measured are not recorded: they are either all lengths, or those longer than the others.
    let label = if lengths.is_empty() { "any" } else { "longer" };
    let mut missing: Vec<&Absent> =
        record.probes.iter().filter(|one| one.probe == probe).filter_map(|one| one.cost.as_ref().err()).collect();
    missing.dedup();
    let lengths = lengths.into_iter().map(|(cost, reason)| Row::Length(cost, reason));
    let rows: Vec<Row<'_>> = lengths.chain(missing.into_iter().map(Row::Absent)).collect();
    let column = |head: &str, of: &dyn Fn(&Cost) -> Cell| {
        Column::numbers(head, &rows, |row| match row {
            Row::Length(cost, _) => of(cost),
            Row::Absent(_) => Cell::Nothing,
        })
    };
    let apart = |cost: &Cost| match cost.all_disturbed {
        true => "disturbed".into(),
        false => percent(cost.set_apart as f64 / (cost.set_apart + cost.repetitions).max(1) as f64).into(),
    };
    let median = |row: &Row<'_>| match row {
        Row::Length(cost, _) if cost.below_resolution => below(cost).into(),
        Row::Length(cost, _) => Figures::of(cost).median().into(),
        Row::Absent(absent) => Cell::Absent(absent.0.clone()),
    };
    let interval =
        |cost: &Cost| if cost.below_resolution { Cell::Nothing } else { Figures::of(cost).interval().into() };
    let reason = |row: &Row<'_>| match row {
        Row::Length(_, reason) => reason.name().into(),
        Row::Absent(_) => Cell::Nothing,
    };
    let rounds = |row: &Row<'_>| match row {
        Row::Length(cost, _) => count(cost.loops),
        Row::Absent(_) => label.to_owned(),
    };
    Table {
        label: format!("Costs of {} by length of the loop", probe.name()),
        rows: ("length", "lengths"),
        columns: vec![
            Column::numbers("rounds of the loop", &rows, rounds),
            Column::numbers("median", &rows, median),
            column("95\u{a0}% interval", &interval),
            column("excluded", &apart),
            Column::words("compared with the longest", &rows, reason),
        ],
    }
}

/// For each probe, the cost at its longest loop, and from which length on it is the same.
pub(super) fn sentences(record: &CostsRecord) -> Vec<String> {
    let sentences: Vec<String> = each_once(record).into_iter().filter_map(|probe| sentence(record, probe)).collect();
    if sentences.is_empty() { vec!["Nothing could be measured.".to_owned()] } else { sentences }
}

fn sentence(record: &CostsRecord, probe: Probe) -> Option<String> {
    let longest = answer(record, probe)?;
    let cost = if longest.below_resolution { below(longest) } else { Figures::of(longest).median() };
    let lengths = lengths(record, probe);
    let up_to = lengths.iter().rev().skip_while(|(cost, _)| cost.loops > longest.loops);
    let from = up_to.take_while(|(_, reason)| *reason == LengthReason::Agrees).last();
    let since = match from {
        Some((cost, _)) if cost.loops < longest.loops => {
            format!(", and the same from {} rounds on", count(cost.loops))
        }
        _ => String::new(),
    };
    Some(format!("{}: {cost} at {} rounds of the loop{since}.", probe.name(), count(longest.loops)))
}

/// The cost at the longest loop that was not always disturbed, which all others are compared with. If all were
/// disturbed, the cost at the longest loop.
fn answer(record: &CostsRecord, probe: Probe) -> Option<&Cost> {
    let lengths = lengths(record, probe);
    let quiet = lengths.iter().rev().find(|(cost, reason)| *reason == LengthReason::Agrees && !cost.all_disturbed);
    quiet.or(lengths.last()).map(|(cost, _)| *cost)
}

/// The measured lengths of one probe with their reasons, the shortest first.
fn lengths(record: &CostsRecord, probe: Probe) -> Vec<(&Cost, LengthReason)> {
    let of_it = record.probes.iter().filter(|one| one.probe == probe);
    let mut lengths: Vec<_> = of_it.filter_map(|one| Some((one.cost.as_ref().ok()?, one.against_longest?))).collect();
    lengths.sort_by_key(|(cost, _)| cost.loops);
    lengths
}
