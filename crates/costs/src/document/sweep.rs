//! How the cost moves with the length of the loop, and why.

use steady_model::{Absent, Probe};
use steady_render::document::{Block, Fact, Section, Shown};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::percent;

use super::figures::{Figures, below};
use super::notes::count;
use super::{charts, each_once};
use crate::record::{Cost, CostsRecord, LengthReason};

/// Every reason, in the order in which they are explained.
const REASONS: [LengthReason; 6] = [
    LengthReason::Agrees,
    LengthReason::StartUp,
    LengthReason::TimerGrain,
    LengthReason::Frequency,
    LengthReason::Preemption,
    LengthReason::Unexplained,
];

/// What a reason means.
fn meaning(reason: LengthReason) -> &'static str {
    match reason {
        LengthReason::Agrees => "it does not differ from the cost at the longest loop that was not disturbed",
        LengthReason::StartUp => "the time that it takes to begin and end the timing is spread over few rounds",
        LengthReason::TimerGrain => "a step of the clock is no small part of so short a loop",
        LengthReason::Frequency => "the CPU's clock ran at another rate during it",
        LengthReason::Preemption => "the loop lasts so long that others had the CPU in most of its repetitions",
        LengthReason::Unexplained => "it differs, and none of the known reasons is behind it",
    }
}

/// A chart and a table for each probe, then what the reasons mean.
pub(super) fn sections(record: &CostsRecord) -> Vec<Section> {
    let mut sections = Vec::new();
    for probe in each_once(record) {
        let heading = format!("{}: the cost of {} by length of the loop", probe.name(), probe.unit());
        let costs: Vec<&Cost> = lengths(record, probe).into_iter().map(|(cost, _)| cost).collect();
        let chart = answer(record, probe).and_then(|answer| charts::by_length(&costs, answer));
        sections.push(Section::new(&heading, vec![Block::Table(table(record, probe))]).whole());
        let heading = format!("{}: the same as a chart", probe.name());
        sections.extend(chart.map(|chart| Section::new(&heading, vec![Block::Chart(chart)]).shown(Shown::OnPages)));
    }
    let occurs = |reason: &LengthReason| record.probes.iter().any(|probe| probe.against_longest == Some(*reason));
    let mut meanings: Vec<Fact> =
        REASONS.into_iter().filter(occurs).map(|reason| Fact::new(reason.name(), meaning(reason))).collect();
    if record.costs().any(|cost| cost.all_disturbed) {
        meanings.push(Fact::new("disturbed", "nearly every repetition was, so that none is set apart"));
    }
    if !meanings.is_empty() {
        sections.push(Section::new("What the words mean", vec![Block::Facts(meanings)]));
    }
    sections
}

/// A row of a probe's table: a length that was measured, or why others were not.
enum Row<'a> {
    Length(&'a Cost, LengthReason),
    Absent(&'a Absent),
}

/// One probe's lengths, a row each.
fn table(record: &CostsRecord, probe: Probe) -> Table {
    let lengths = lengths(record, probe);
    // What could not be measured has no length that is known here: it is that of all, or what lies beyond the others.
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
            column("set apart", &apart),
            Column::words("against the longest", &rows, reason),
        ],
    }
}

/// What each probe costs at its longest loop, and from which length on.
pub(super) fn sentences(record: &CostsRecord) -> Vec<String> {
    let said: Vec<String> = each_once(record).into_iter().filter_map(|probe| sentence(record, probe)).collect();
    if said.is_empty() { vec!["Nothing could be measured.".to_owned()] } else { said }
}

fn sentence(record: &CostsRecord, probe: Probe) -> Option<String> {
    let longest = answer(record, probe)?;
    let cost = if longest.below_resolution { below(longest) } else { Figures::of(longest).median() };
    let lengths = lengths(record, probe);
    let up_to = lengths.iter().rev().skip_while(|(cost, _)| cost.loops > longest.loops);
    let from = up_to.take_while(|(_, reason)| *reason == LengthReason::Agrees).last();
    let since = match from {
        Some((cost, _)) if cost.loops < longest.loops => {
            format!(", and as much from {} rounds on", count(cost.loops))
        }
        _ => String::new(),
    };
    Some(format!("{}: {cost} at {} rounds of the loop{since}.", probe.name(), count(longest.loops)))
}

/// The cost at the longest loop that was not always disturbed, which all others are compared with; if there is none, that at
/// the longest.
fn answer(record: &CostsRecord, probe: Probe) -> Option<&Cost> {
    let lengths = lengths(record, probe);
    let quiet = lengths.iter().rev().find(|(cost, reason)| *reason == LengthReason::Agrees && !cost.all_disturbed);
    quiet.or(lengths.last()).map(|(cost, _)| *cost)
}

/// The lengths of one probe that were measured, each with its reason, the shortest first.
fn lengths(record: &CostsRecord, probe: Probe) -> Vec<(&Cost, LengthReason)> {
    let of_it = record.probes.iter().filter(|one| one.probe == probe);
    let mut lengths: Vec<_> = of_it.filter_map(|one| Some((one.cost.as_ref().ok()?, one.against_longest?))).collect();
    lengths.sort_by_key(|(cost, _)| cost.loops);
    lengths
}
