//! Tables: all probes by group, with median, interval, spread and a small histogram; and the clocks of
//! clock_gettime(2).

use steady_model::{Nanos, Reading};
use steady_render::document::{Block, Emphasis, Fact, Section};
use steady_render::letters::one_line;
use steady_render::table::{Cell, Column, Table};
use steady_render::terminal::columns::{gathered, small};
use steady_render::units::TIE;

use super::figures::{Figures, Group, amount, below, modes, spread};
use super::plain;
use crate::record::{ClockFacts, Cost, CostsRecord, ProbeCost};

/// Number of columns of a small histogram.
const SMALL: usize = 16;

/// A row of the table: the heading of a group, or a probe.
enum Row<'a> {
    Group(Group),
    Probe(&'a ProbeCost),
}

/// The table of costs by group, with notes. Returns `None` if there are no probes.
pub(super) fn costs(record: &CostsRecord) -> Option<Section> {
    let rows: Vec<Row<'_>> = Group::ALL.into_iter().flat_map(|group| of_group(record, group)).collect();
    if rows.is_empty() {
        return None;
    }
    let figure = |head: &str, of: fn(&Cost) -> Cell| {
        Column::numbers(head, &rows, |row| match row {
            Row::Group(_) => "".into(),
            Row::Probe(probe) => cell(&probe.cost, of),
        })
    };
    let name = |row: &Row<'_>| match row {
        Row::Group(group) => Cell::Text(Emphasis::Heading, group.heading().to_owned()),
        Row::Probe(probe) => Cell::Text(Emphasis::Code, probe.probe.name().to_owned()),
    };
    let interval =
        |cost: &Cost| if cost.below_resolution { Cell::Nothing } else { Figures::of(cost).interval().into() };
    let shape = |row: &Row<'_>| match row {
        Row::Probe(ProbeCost { cost: Ok(cost), .. }) => distribution(cost),
        _ => String::new(),
    };
    let table = Table {
        label: "Costs".to_owned(),
        rows: ("probe", "probes"),
        columns: vec![
            Column::words("probe", &rows, name),
            figure("median", |cost| {
                if cost.below_resolution { below(cost) } else { Figures::of(cost).median() }.into()
            }),
            figure("95\u{a0}% interval", interval),
            figure("spread", |cost| spread(cost).into()),
            Column::words("distribution", &rows, shape),
        ],
    };
    let mut blocks = vec![Block::Table(table)];
    if record.costs().any(|cost| cost.below_resolution) {
        let text = "<: the cost is below the resolution and cannot be distinguished from zero.";
        blocks.push(Block::Paragraph(plain(text.to_owned())));
    }
    let modes = record.costs().filter_map(|cost| Some(format!("{}: {}.", cost.probe.name(), modes(cost)?)));
    blocks.extend(modes.map(|text| Block::Paragraph(vec![(Emphasis::Open, text)])));
    Some(Section::new("Median cost, minus the empty loop, with its 95\u{a0}% interval", blocks).whole())
}

/// The rows of a group; empty if it has no probes.
fn of_group(record: &CostsRecord, group: Group) -> Vec<Row<'_>> {
    let probes: Vec<Row<'_>> =
        record.probes.iter().filter(|probe| Group::of(probe.probe) == group).map(Row::Probe).collect();
    if probes.is_empty() { probes } else { std::iter::once(Row::Group(group)).chain(probes).collect() }
}

fn cell(cost: &Reading<Cost>, of: fn(&Cost) -> Cell) -> Cell {
    cost.as_ref().map_or_else(|absent| Cell::Absent(absent.0.clone()), of)
}

/// A small histogram as one word.
pub(super) fn distribution(cost: &Cost) -> String {
    let counts: Vec<f64> = cost.histogram.counts.iter().copied().map(f64::from).collect();
    small(&gathered(&counts, SMALL)).replace(' ', TIE)
}

/// The table of the clocks: cost of a reading, resolution, and whether the clock can be set.
pub(super) fn clocks(record: &CostsRecord) -> Section {
    let clocks = &record.clocks;
    let costs = |clock: &ClockFacts| match record.probes.iter().find(|probe| probe.probe == clock.probe) {
        Some(found) => {
            Cell::reading(
                &found.cost,
                |cost| {
                    if cost.below_resolution { below(cost) } else { Figures::of(cost).median() }
                },
            )
        }
        None => Cell::Absent("the probe did not run".to_owned()),
    };
    let can_be_set = |clock: &ClockFacts| match &clock.words {
        Some(words) => if words.can_be_set { "yes" } else { "no" }.into(),
        None => Cell::Nothing,
    };
    let table = Table {
        label: "Clocks".to_owned(),
        rows: ("clock", "clocks"),
        columns: vec![
            Column::words("clock", clocks, |clock| one_line(&clock.name)),
            Column::numbers("a reading costs", clocks, costs),
            Column::numbers("resolution stated", clocks, |clock| step(&clock.stated_resolution_seconds)),
            Column::numbers("smallest step seen", clocks, |clock| Cell::reading(&clock.smallest_step_seconds, step)),
            Column::words("can be set", clocks, can_be_set),
        ],
    };
    Section::new("The clocks of clock_gettime(2)", vec![Block::Table(table)]).whole()
}

/// Text of a clock step, which is a whole number of nanoseconds.
fn step(step: &Nanos) -> String {
    if step.0 < 1_000 { format!("{}{TIE}ns", step.0) } else { amount(step.seconds()) }
}

/// The description of each clock, one section each.
pub(super) fn descriptions(record: &CostsRecord) -> Vec<Section> {
    let section = |clock: &ClockFacts| {
        let words = clock.words.as_ref()?;
        let facts = [("measures", words.measures), ("use it", words.when), ("jumps", words.jumps)];
        let facts = facts.map(|(label, text)| Fact::new(label, text));
        Some(Section::new(&one_line(&clock.name), vec![Block::Facts(facts.to_vec())]))
    };
    record.clocks.iter().filter_map(section).collect()
}
