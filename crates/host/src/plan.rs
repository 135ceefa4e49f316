//! Which knobs to set.

use serde::{Deserialize, Serialize};
use steady_model::Knob;

/// The knobs that the published script sets.
const PUBLISHED: [Knob; 6] = [Knob::Turbo, Knob::Governor, Knob::Smt, Knob::Aslr, Knob::NmiWatchdog, Knob::Caches];

/// The knobs to set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QuietPlan {
    pub(crate) knobs: Vec<Knob>,
    /// The knobs that the user named. The report says if one of them cannot be set.
    pub(crate) named: Vec<Knob>,
}

impl QuietPlan {
    /// Returns the knobs of `only`, or, if it is empty, all knobs except those that must be named; both without
    /// `except`.
    pub(crate) fn of(only: &[Knob], except: &[Knob]) -> QuietPlan {
        let wanted = |knob: &Knob| if only.is_empty() { !knob.only_if_named() } else { only.contains(knob) };
        let knobs = Knob::ALL.into_iter().filter(|knob| wanted(knob) && !except.contains(knob)).collect();
        QuietPlan { knobs, named: only.to_vec() }
    }

    /// Returns the plan with the knobs of the published script.
    pub(crate) fn published() -> QuietPlan {
        QuietPlan::of(&PUBLISHED, &[])
    }

    /// Returns the plan without a knob that is set by other means.
    pub(crate) fn without(mut self, knob: Knob) -> QuietPlan {
        self.knobs.retain(|one| *one != knob);
        self.named.retain(|one| *one != knob);
        self
    }
}
