//! Estimators for two versions of a service that answers requests, from sums over requests. They are pure functions, do
//! not depend on names, and are antisymmetric: exchanging OLD and NEW negates every estimate to the last bit.
//! [`Accumulator`] adds requests to the sums.

mod accumulate;
mod coins;
mod course;
mod hosts;
mod judged;
mod levels;
mod linear;
mod units;
mod within;

pub use accumulate::{Accumulator, FIRST_REQUESTS, RequestCost};
pub use coins::{CoinPairs, CostPair, PairedTotal, SlotPair, paired_total};
pub use course::{InCourse, TimedCost, differ, in_course};
pub use hosts::{HostShare, Standing, between_hosts, spread_of_hosts, standings};
pub use judged::{Estimated, critical, relative, time_if_as_estimated, verdict};
pub use levels::{LevelCell, TotalChange, total_change};
pub use units::{
    HostUnits, UnitCell, between_units, between_units_within, mean_in_time, mean_of_units, unit_effects, unit_ratios,
};
pub use within::{Tally, Within, share, within};
