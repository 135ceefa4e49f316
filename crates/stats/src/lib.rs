//! Samples in, estimates out: pure functions, so that the same samples always give the same verdict.
//!
//! The subject is a **pair**: one run of each of two commands, in an order and on CPUs drawn by coin. If both commands
//! cost the same, the sign of every log ratio is a fair coin, whatever the load does; [`Paired`] tests that, inverts the
//! test into an interval, and [`Sequence`] spends its error over several looks; [`join`] joins
//! several such experiments. [`mean_ratio`] estimates what all runs together cost, where that may differ from the usual
//! run. [`shift()`] tells differences in seconds instead of ratios, so that those of parts add up.
//! [`scaling`] reads another kind of experiment: what so many processes at once got done. The rest
//! serves the experiment around it: when to look ([`Schedule`]), which layout to run next ([`allocate`]), and intervals for quantities that are
//! pooled rather than paired ([`pooled`]).
#![forbid(unsafe_code)]

pub mod allocate;
pub mod descriptive;
mod estimate;
mod gather;
mod invert;
mod joined;
pub mod location;
mod mean_ratio;
pub mod modes;
mod normal;
mod pair;
pub mod pooled;
pub mod release;
mod scale;
mod scaling;
mod score;
mod sequential;
mod shift;
mod slot;
mod tail;

pub use estimate::{Effect, Estimate, LayoutEffect, Reason};
pub use gather::gather;
pub use joined::{Agreement, Joint, Source, Stage, join};
pub use mean_ratio::{MEAN_ALPHA_SHARE, Weighed, mean_ratio};
pub use pair::{MIN_PAIRS, Pair, Paired, Slot};
pub use scaling::{CountRange, Fitted, ScalabilityLaw, Scaling, ScalingPoint, scaling};
pub use score::Tested;
pub use sequential::{Look, Rules, Schedule, Sequence, single_look};
pub use shift::{Shift, apart, mean, shift, weights};
