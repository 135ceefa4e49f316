//! Figures with their intervals in JSON, for `#[serde(flatten, serialize_with = "..")]`, each with the fields that it becomes. JSON
//! has no infinity: an end that is infinite is absent.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use steady_costs::prices::Price;
use steady_model::{Interval, Reading};
use steady_render::json::{ends, finite};

/// Where the system time lies.
#[derive(Serialize, JsonSchema)]
pub(super) struct System {
    /// The lower end of where the system time lies, as far as the kernel's ticks show.
    system_low_seconds: Reading<f64>,
    /// The upper end.
    system_high_seconds: Reading<f64>,
}

/// CPU time that nothing explains.
#[derive(Serialize, JsonSchema)]
pub(super) struct Unexplained {
    /// CPU time that neither a part nor the counting explains.
    unexplained_seconds: Reading<f64>,
    /// The lower end of its interval.
    unexplained_low_seconds: Reading<f64>,
    /// The upper end.
    unexplained_high_seconds: Reading<f64>,
}

/// The price of a part.
#[derive(Serialize, JsonSchema)]
pub(super) struct PartPrice {
    /// What one costs.
    price_seconds: Reading<f64>,
    /// The lower end of its interval.
    price_low_seconds: Reading<f64>,
    /// The upper end.
    price_high_seconds: Reading<f64>,
}

/// The interval of the time of a part.
#[derive(Serialize, JsonSchema)]
pub(super) struct PartInterval {
    /// The lower end of the interval of `seconds`.
    low_seconds: Reading<f64>,
    /// The upper end.
    high_seconds: Reading<f64>,
}

/// What both commands took.
#[derive(Serialize, JsonSchema)]
pub(super) struct Both {
    /// What a run of OLD took: a weighted mean, with the same weights in all lines.
    old_seconds: Reading<f64>,
    /// The same of NEW.
    new_seconds: Reading<f64>,
}

/// A difference in seconds.
#[derive(Serialize, JsonSchema)]
pub(super) struct Seconds {
    /// NEW less OLD.
    difference_seconds: Reading<f64>,
    /// The lower end of its 95 % interval.
    difference_low_seconds: Reading<f64>,
    /// The upper end.
    difference_high_seconds: Reading<f64>,
}

/// How often something happened in a run of each command; nothing for what is not counted.
#[derive(Serialize, JsonSchema)]
pub(super) struct CountsOfBoth {
    /// How many events there were in a run of OLD.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_count: Option<f64>,
    /// The same of NEW.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_count: Option<f64>,
}

/// How much more often; nothing if that is not known.
#[derive(Serialize, JsonSchema)]
pub(super) struct More {
    /// How many more there were in NEW.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_count: Option<f64>,
    /// The lower end of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_low_count: Option<f64>,
    /// The upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_high_count: Option<f64>,
}

/// A number; absent if it is infinite or none.
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

pub(super) fn both<S: Serializer>(seconds: &Reading<[f64; 2]>, serializer: S) -> Result<S::Ok, S::Error> {
    let of = |command: usize| seconds.clone().and_then(|both| finite(both[command], "not a number"));
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

/// A value and the ends of its interval.
fn estimate(reading: &Reading<(f64, Interval)>) -> [Reading<f64>; 3] {
    let value = reading.clone().and_then(|(value, _)| finite(value, "not a number"));
    let [low, high] = ends(&reading.clone().map(|(_, interval)| interval));
    [value, low, high]
}
