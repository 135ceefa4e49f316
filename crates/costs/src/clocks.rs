//! Descriptions of the clocks of clock_gettime(2).

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::Probe;

/// Description of a clock.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClockWords {
    /// Whether the clock can be set, which makes it jump.
    pub can_be_set: bool,
    /// The quantity that the clock measures.
    pub measures: &'static str,
    /// The purpose that the clock suits.
    #[serde(rename = "use")]
    pub when: &'static str,
    /// Whether the clock jumps, or runs at another rate than real time.
    #[serde(skip)]
    pub jumps: &'static str,
}

/// Describes the clock that a probe reads. Returns `None` for other probes.
pub fn clock_words(probe: Probe) -> Option<ClockWords> {
    let words = match probe {
        Probe::ClockRealtime => ClockWords {
            can_be_set: true,
            jumps: "yes: it jumps, also backwards, when an administrator or time synchronisation sets it",
            measures: "the time of day, in seconds since 1970-01-01 00:00:00 UTC without leap seconds",
            when: "for when something happened; never for how long it took",
        },
        Probe::ClockMonotonic => ClockWords {
            can_be_set: false,
            jumps: "no: but time synchronisation may change its rate slightly, and it stops during suspend",
            measures: "the time since boot, without time in suspend",
            when: "for how long something took, as seen by someone who waits for it",
        },
        Probe::ClockProcessCpu => ClockWords {
            can_be_set: false,
            jumps: "no: it moves only while a thread of the process runs",
            measures: "the CPU time of all threads of the process, in user and kernel mode",
            when: "for the cost of a process, independent of other processes",
        },
        Probe::ClockThreadCpu => ClockWords {
            can_be_set: false,
            jumps: "no: it moves only while the thread runs",
            measures: "the CPU time of the calling thread, in user and kernel mode",
            when: "for the cost of a piece of work within one thread",
        },
        _ => return None,
    };
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clock_probes_have_a_description_and_no_others() {
        for probe in Probe::all() {
            assert_eq!(clock_words(probe).is_some(), probe.name().starts_with("clock_"), "{}", probe.name());
        }
    }
}
