//! Figures with their intervals in JSON, for `#[serde(flatten, serialize_with = "..")]`. JSON has no infinity: an end that is
//! infinite is absent.

use serde::{Serialize, Serializer};
use steady_costs::prices::Price;
use steady_model::{Absent, Interval, Reading};

/// A number; absent if it is infinite or none.
pub(super) fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    finite(*value, "not a number").serialize(serializer)
}

/// Where the system time lies.
pub(super) fn system<S: Serializer>(interval: &Reading<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(["system_low_seconds", "system_high_seconds"].into_iter().zip(ends(interval)))
}

/// The time that is left over.
pub(super) fn unexplained<S: Serializer>(left: &Reading<(f64, Interval)>, serializer: S) -> Result<S::Ok, S::Error> {
    let names = ["unexplained_seconds", "unexplained_low_seconds", "unexplained_high_seconds"];
    serializer.collect_map(names.into_iter().zip(estimate(left)))
}

/// The price of a part.
pub(super) fn price<S: Serializer>(price: &Price, serializer: S) -> Result<S::Ok, S::Error> {
    let names = ["price_seconds", "price_low_seconds", "price_high_seconds"];
    serializer.collect_map(names.into_iter().zip(estimate(&Ok((price.seconds, price.interval)))))
}

/// The interval of the time of a part.
pub(super) fn interval<S: Serializer>(interval: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(["low_seconds", "high_seconds"].into_iter().zip(ends(&Ok(*interval))))
}

/// What both commands took.
pub(super) fn both<S: Serializer>(seconds: &Reading<[f64; 2]>, serializer: S) -> Result<S::Ok, S::Error> {
    let of = |command: usize| seconds.clone().and_then(|both| finite(both[command], "not a number"));
    serializer.collect_map([("old_seconds", of(0)), ("new_seconds", of(1))])
}

/// A difference in seconds.
pub(super) fn difference<S: Serializer>(
    difference: &Reading<(f64, Interval)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let names = ["difference_seconds", "difference_low_seconds", "difference_high_seconds"];
    serializer.collect_map(names.into_iter().zip(estimate(difference)))
}

/// How often something happened in a run of each command; nothing for what is not counted.
pub(super) fn counts<S: Serializer>(counts: &Option<[f64; 2]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().flat_map(|[old, new]| [("old_count", old), ("new_count", new)]))
}

/// How much more often; nothing if that is not known.
pub(super) fn more<S: Serializer>(more: &Option<(f64, Interval)>, serializer: S) -> Result<S::Ok, S::Error> {
    let names = ["difference_count", "difference_low_count", "difference_high_count"];
    serializer.collect_map(more.iter().flat_map(|more| names.into_iter().zip(estimate(&Ok(*more)))))
}

/// A value and the ends of its interval.
fn estimate(reading: &Reading<(f64, Interval)>) -> [Reading<f64>; 3] {
    let value = reading.clone().and_then(|(value, _)| finite(value, "not a number"));
    let [low, high] = ends(&reading.clone().map(|(_, interval)| interval));
    [value, low, high]
}

fn ends(interval: &Reading<Interval>) -> [Reading<f64>; 2] {
    let low = interval.clone().and_then(|interval| finite(interval.low, "no lower end"));
    [low, interval.clone().and_then(|interval| finite(interval.high, "no upper end"))]
}

fn finite(value: f64, otherwise: &str) -> Reading<f64> {
    if value.is_finite() { Ok(value) } else { Err(Absent::because(otherwise)) }
}
