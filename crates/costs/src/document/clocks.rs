//! The clocks of clock_gettime(2): what is known of them, next to what was measured.

use steady_model::Nanos;
use steady_render::document::{Block, Fact, Section};
use steady_render::letters::one_line;
use steady_render::table::{Cell, Column, Table};
use steady_render::units::TIE;

use super::figures::{Figures, amount, below};
use crate::record::{ClockFacts, CostsRecord};

/// The table of the clocks: what a reading costs, how fine it is and whether it can be set.
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
        None => Cell::Absent("it was not measured".to_owned()),
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

/// Clocks step by whole nanoseconds.
fn step(step: &Nanos) -> String {
    if step.0 < 1_000 { format!("{}{TIE}ns", step.0) } else { amount(step.seconds()) }
}

/// What each clock is good for, a section each.
pub(super) fn uses(record: &CostsRecord) -> Vec<Section> {
    let section = |clock: &ClockFacts| {
        let words = clock.words.as_ref()?;
        let facts = [("measures", words.measures), ("use it", words.when), ("jumps", words.jumps)];
        let facts = facts.map(|(label, text)| Fact::new(label, text));
        Some(Section::new(&one_line(&clock.name), vec![Block::Facts(facts.to_vec())]))
    };
    record.clocks.iter().filter_map(section).collect()
}
