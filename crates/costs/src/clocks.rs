//! The clocks of clock_gettime(2), in words.

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::Probe;

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
