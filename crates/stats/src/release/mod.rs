//! Estimators on sums, for two versions of a service that answers requests: pure, blind to names, and antisymmetric. With OLD
//! and NEW exchanged, every estimate is negated to the last bit. [`Fold`] adds requests to those sums.

mod coins;
mod course;
mod fold;
mod hosts;
mod judged;
mod levels;
mod linear;
mod units;
mod within;

pub use coins::{CoinPairs, CostPair, PairedTotal, SlotPair, paired_total};
pub use course::{InCourse, TimedCost, differ, in_course};
pub use fold::{Fold, RequestCost, WARMING_REQUESTS};
pub use hosts::{HostShare, Standing, between_hosts, spread_of_hosts, standings};
pub use judged::{Estimated, critical, relative, time_to_settle, verdict, within_resolution};
pub use levels::{LevelCell, TotalChange, total_change};
pub use units::{UnitCell, between_units, mean_in_time, mean_of_units, unit_effects, unit_ratios};
pub use within::{Tally, Within, share, within};
