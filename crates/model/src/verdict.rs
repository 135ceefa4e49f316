//! Layouts of pairs, verdicts and intervals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the runs of a pair are arranged in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// One after the other, on any CPU that the scheduler chooses.
    Turns,
    /// Concurrently on two CPUs, each started by a launcher pinned to its CPU.
    Duet,
}

impl Layout {
    /// Every layout, in the order of reports.
    pub const ALL: [Layout; 2] = [Layout::Turns, Layout::Duet];

    /// Returns the name in options and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Turns => "turns",
            Layout::Duet => "duet",
        }
    }

    /// Returns the position in [`Layout::ALL`], to index arrays with one element per layout.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// The conclusion from the interval of an effect, for a command compared with the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval is below zero: the command costs less than the first.
    Faster,
    /// The whole interval is above zero: the command costs more than the first.
    Slower,
    /// The interval contains zero and is within the resolution.
    Same,
    /// The budget is used up and the interval is still too wide.
    Undecided,
}

impl Verdict {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
        }
    }

    /// Returns whether the verdict says that the costs differ.
    pub fn is_difference(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Slower)
    }
}

/// A closed interval of effects, on the scale (log ratio or relative change) that its owner documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The lower end; may be infinite.
    pub low: f64,
    /// The upper end; may be infinite.
    pub high: f64,
}

impl Interval {
    /// The interval of all values, before anything is known.
    pub const EVERYTHING: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Returns whether the interval contains `value`; the ends belong to it.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Returns half the distance between the ends.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Returns the intersection of both intervals, or `None` if they are disjoint.
    pub fn intersection(&self, other: &Interval) -> Option<Interval> {
        let both = Interval { low: self.low.max(other.low), high: self.high.min(other.high) };
        (both.low <= both.high).then_some(both)
    }
}
