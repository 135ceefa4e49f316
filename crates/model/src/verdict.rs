//! What an experiment concludes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the runs of a pair are laid out in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// One after the other, on whichever CPU the scheduler picks.
    Turns,
    /// At the same time, on two CPUs, each started by a launcher pinned to its CPU.
    Duet,
}

impl Layout {
    /// Every layout, in the order in which reports list them.
    pub const ALL: [Layout; 2] = [Layout::Turns, Layout::Duet];

    /// The name used in options and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Turns => "turns",
            Layout::Duet => "duet",
        }
    }

    /// The position in [`Layout::ALL`], to index arrays that hold one element per layout.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// What the interval of an effect says about a command beside the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval lies below zero: the command costs less than the first.
    Faster,
    /// The whole interval lies above zero: the command costs more than the first.
    Slower,
    /// The interval holds zero and lies within the resolution asked for.
    Same,
    /// The budget is spent and the interval is still too wide to say.
    Undecided,
}

impl Verdict {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
        }
    }
}

/// A closed interval of effects. The scale (log ratio or relative change) is the holder's to say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Everything: what is known before the first look.
    pub const EVERYTHING: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Whether `value` lies inside, ends included.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half the distance between the ends.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// What both intervals hold, or `None` where they are apart.
    pub fn intersection(&self, other: &Interval) -> Option<Interval> {
        let both = Interval { low: self.low.max(other.low), high: self.high.min(other.high) };
        (both.low <= both.high).then_some(both)
    }
}
