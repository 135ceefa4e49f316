//! What is wanted of a host.

use serde::{Deserialize, Serialize};
use steady_model::Knob;

/// The knobs to set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QuietPlan {
    /// The knobs.
    pub(crate) knobs: Vec<Knob>,
    /// Those that were named: that one of them cannot be set is told.
    pub(crate) named: Vec<Knob>,
}

impl QuietPlan {
    /// All knobs but those that have to be named; only those that are named in `only`, where there are some; without those
    /// of `except`.
    pub(crate) fn of(only: &[Knob], except: &[Knob]) -> QuietPlan {
        let wanted = |knob: &Knob| if only.is_empty() { !knob.only_if_named() } else { only.contains(knob) };
        let knobs = Knob::ALL.into_iter().filter(|knob| wanted(knob) && !except.contains(knob)).collect();
        QuietPlan { knobs, named: only.to_vec() }
    }

    /// The same without one that is set in another way.
    pub(crate) fn without(mut self, knob: Knob) -> QuietPlan {
        self.knobs.retain(|one| *one != knob);
        self.named.retain(|one| *one != knob);
        self
    }
}
