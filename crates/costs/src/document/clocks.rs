//! The clocks of clock_gettime(2): what is known of them, next to what was measured.

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::{Nanos, Probe};
use steady_render::document::{Block, Fact, Section};
use steady_render::letters::one_line;
use steady_render::table::{Cell, Column, Table};
use steady_render::units::TIE;

use super::figures::{Figures, amount, below};
use crate::record::{ClockFacts, CostsRecord};

/// A clock, in words.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClockWords {
    /// Whether somebody can set it, so that it jumps.
    pub can_be_set: bool,
    /// What it measures.
    pub measures: &'static str,
    /// When to use it.
    #[serde(rename = "use")]
    pub when: &'static str,
    /// Whether it jumps, or moves otherwise than time does.
    #[serde(skip)]
    pub jumps: &'static str,
}

/// What is known of the clock that a probe reads; none of a probe that reads none.
pub fn clock_words(probe: Probe) -> Option<ClockWords> {
    let words = match probe {
        Probe::ClockRealtime => ClockWords {
            can_be_set: true,
            jumps: "yes: it jumps when it is set, by a person or by time synchronisation, backwards too",
            measures: "the time of day, in seconds since 1970-01-01 00:00:00 UTC without leap seconds",
            when: "to say when something happened; never to say how long it took",
        },
        Probe::ClockMonotonic => ClockWords {
            can_be_set: false,
            jumps: "no: it never jumps, but time synchronisation may slew its rate; it stands still in suspend",
            measures: "the time that has passed since boot, suspend left out",
            when: "to say how long something took for those who wait for it",
        },
        Probe::ClockProcessCpu => ClockWords {
            can_be_set: false,
            jumps: "no: it moves only while a thread of the process runs",
            measures: "the CPU time that all threads of the process have used together, in user and kernel mode",
            when: "to say what a process costs, whoever else uses the machine",
        },
        Probe::ClockThreadCpu => ClockWords {
            can_be_set: false,
            jumps: "no: it moves only while the thread runs",
            measures: "the CPU time that the calling thread has used, in user and kernel mode",
            when: "to say what a piece of work costs within one thread",
        },
        _ => return None,
    };
    Some(words)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_and_nothing_else_is_known() {
        for probe in Probe::all() {
            assert_eq!(clock_words(probe).is_some(), probe.name().starts_with("clock_"), "{}", probe.name());
        }
    }
}
