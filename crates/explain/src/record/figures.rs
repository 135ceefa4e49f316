//! Estimates with intervals in JSON. Each struct has the fields that one reading becomes, for `#[serde(flatten,
//! serialize_with = "..")]`. JSON has no infinity, so an infinite end is absent with a reason.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use steady_costs::prices::Price;
use steady_model::{Interval, Reading};
use steady_render::json::{ends, finite};

/// Interval of the system time.
#[derive(Serialize, JsonSchema)]
pub(super) struct System {
    /// Lower end of the interval of the system time, as far as the kernel's ticks show it.
    system_low_seconds: Reading<f64>,
    /// Upper end of that interval.
    system_high_seconds: Reading<f64>,
}

/// Unexplained CPU time with its interval.
#[derive(Serialize, JsonSchema)]
pub(super) struct Unexplained {
    /// CPU time that neither the parts nor the cost of counting explain.
    unexplained_seconds: Reading<f64>,
    /// Lower end of its interval.
    unexplained_low_seconds: Reading<f64>,
    /// Upper end of its interval.
    unexplained_high_seconds: Reading<f64>,
}

/// Price of the events of a part.
#[derive(Serialize, JsonSchema)]
pub(super) struct PartPrice {
    /// CPU time of one event.
    price_seconds: Reading<f64>,
    /// Lower end of its interval.
    price_low_seconds: Reading<f64>,
    /// Upper end of its interval.
    price_high_seconds: Reading<f64>,
}

/// Interval of the time of a part.
#[derive(Serialize, JsonSchema)]
pub(super) struct PartInterval {
    /// Lower end of the interval of `seconds`.
    low_seconds: Reading<f64>,
    /// Upper end of the interval of `seconds`.
    high_seconds: Reading<f64>,
}

/// Mean times of both commands.
#[derive(Serialize, JsonSchema)]
pub(super) struct Both {
    /// Weighted mean of the runs of OLD. All lines have the same weights.
    old_seconds: Reading<f64>,
    /// Weighted mean of the runs of NEW.
    new_seconds: Reading<f64>,
}

/// Difference in seconds, with its interval.
#[derive(Serialize, JsonSchema)]
pub(super) struct Seconds {
    /// Time of NEW minus time of OLD.
    difference_seconds: Reading<f64>,
    /// Lower end of its 95 % interval.
    difference_low_seconds: Reading<f64>,
    /// Upper end of its 95 % interval.
    difference_high_seconds: Reading<f64>,
}

/// Mean numbers of events of both commands. Lines that are not counted do not have these fields.
#[derive(Serialize, JsonSchema)]
pub(super) struct CountsOfBoth {
    /// Mean number of events in a run of OLD.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_count: Option<f64>,
    /// Mean number of events in a run of NEW.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_count: Option<f64>,
}

/// Difference of the numbers of events. Lines where it is not known do not have these fields.
#[derive(Serialize, JsonSchema)]
pub(super) struct More {
    /// Events in NEW minus events in OLD.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_count: Option<f64>,
    /// Lower end of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_low_count: Option<f64>,
    /// Upper end of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_high_count: Option<f64>,
}

/// Serializes a number, which is absent if it is infinite or not a number.
pub(super) fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    finite(*value, "not a number").serialize(serializer)
}

pub(super) fn system<S: Serializer>(interval: &Reading<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    let [system_low_seconds, system_high_seconds] = ends(interval);
    System { system_low_seconds, system_high_seconds }.serialize(serializer)
}

pub(super) fn unexplained<S: Serializer>(left: &Reading<(f64, Interval)>, serializer: S) -> Result<S::Ok, S::Error> {
    let [unexplained_seconds, unexplained_low_seconds, unexplained_high_seconds] = estimate(left);
    Unexplained { unexplained_seconds, unexplained_low_seconds, unexplained_high_seconds }.serialize(serializer)
}

pub(super) fn price<S: Serializer>(price: &Price, serializer: S) -> Result<S::Ok, S::Error> {
    let [price_seconds, price_low_seconds, price_high_seconds] = estimate(&Ok((price.seconds, price.interval)));
    PartPrice { price_seconds, price_low_seconds, price_high_seconds }.serialize(serializer)
}

pub(super) fn interval<S: Serializer>(interval: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    let [low_seconds, high_seconds] = ends(&Ok(*interval));
    PartInterval { low_seconds, high_seconds }.serialize(serializer)
}

pub(super) fn both<S: Serializer>(seconds: &[Reading<f64>; 2], serializer: S) -> Result<S::Ok, S::Error> {
    let of = |command: usize| seconds[command].clone().and_then(|seconds| finite(seconds, "not a number"));
    Both { old_seconds: of(0), new_seconds: of(1) }.serialize(serializer)
}

pub(super) fn difference<S: Serializer>(
    difference: &Reading<(f64, Interval)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let [difference_seconds, difference_low_seconds, difference_high_seconds] = estimate(difference);
    Seconds { difference_seconds, difference_low_seconds, difference_high_seconds }.serialize(serializer)
}

pub(super) fn counts<S: Serializer>(counts: &Option<[f64; 2]>, serializer: S) -> Result<S::Ok, S::Error> {
    let of = |command: usize| counts.map(|counts| counts[command]);
    CountsOfBoth { old_count: of(0), new_count: of(1) }.serialize(serializer)
}

pub(super) fn more<S: Serializer>(more: &Option<(f64, Interval)>, serializer: S) -> Result<S::Ok, S::Error> {
    let more = More {
        difference_count: more.map(|(more, _)| more),
        difference_low_count: more.map(|(_, interval)| interval.low),
        difference_high_count: more.map(|(_, interval)| interval.high),
    };
    more.serialize(serializer)
}

/// Splits an estimate into its value and the ends of its interval.
fn estimate(reading: &Reading<(f64, Interval)>) -> [Reading<f64>; 3] {
    let value = reading.clone().and_then(|(value, _)| finite(value, "not a number"));
    let [low, high] = ends(&reading.clone().map(|(_, interval)| interval));
    [value, low, high]
}
