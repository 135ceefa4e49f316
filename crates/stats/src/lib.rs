//! Pure functions from samples to estimates: the same samples always give the same verdict.
//!
//! The unit is a **pair**: one run of each of two commands, with randomised order and CPUs. If both commands cost the
//! same, the sign of each log ratio is random and fair, whatever the load does.
//!
//! - [`Paired`] tests this, and inverts the test into an interval.
//! - [`Sequence`] distributes the error rate over several looks. [`Schedule`] decides when to look.
//! - [`join`] evaluates several such experiments together.
//! - [`mean_ratio`] estimates the ratio of the total costs, which may differ from that of the usual run.
//! - [`shift()`] estimates differences in seconds instead of ratios, so that differences of parts add up.
//! - [`scaling`] evaluates experiments with rows of concurrent processes.
//! - [`allocate`] chooses the layout of the next pair.
//! - [`pooled`] has intervals for quantities that are pooled rather than paired.
//! - [`release`] compares two versions of a service in production.
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
mod spending;
mod tail;

pub use estimate::{Effect, Estimate, LayoutEffect, Reason, time_to_exclude, within_resolution};
pub use gather::gather;
pub use joined::{Agreement, Joint, Source, Stage, join};
pub use mean_ratio::{MeanRatio, OPEN_WIDTH_RATIO, Weighed, has_modes, mean_alpha, mean_ratio, usual_alpha};
pub use normal::two_sided_quantile;
pub use pair::{MIN_PAIRS, Pair, Paired, Slot, least_pairs};
pub use scaling::{CountRange, Fitted, ScalabilityLaw, Scaling, ScalingPoint, scaling};
pub use score::Tested;
pub use sequential::{Look, Rules, Schedule, Sequence, single_look};
pub use shift::{Shift, apart, mean, shift, weights};
pub use spending::share_of_test;
