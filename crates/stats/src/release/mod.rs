//! Estimators on sums, for two versions of a service that answers requests: pure, blind to names, and antisymmetric. With OLD
//! and NEW exchanged, every estimate is negated to the last bit.

mod judged;
mod within;

pub use judged::{Estimated, critical, relative, time_to_settle, verdict, within_resolution};
pub use within::{Tally, Within, within};
