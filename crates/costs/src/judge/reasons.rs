//! Decides why the cost at one length of the loop differs from the cost at the longest one.

use steady_model::Probe;
use steady_stats::descriptive::quantile;

use super::{Kept, clock_step};
use crate::record::{Cost, CostsRecord, LengthReason, Measured};

/// Costs agree if they differ by no more than this share.
const LITTLE: f64 = 0.03;
/// From this disturbed share on, disturbance explains why a length differs.
const MOSTLY: f64 = 0.5;
/// The start takes the same time at all lengths, so its share falls with the length. At the next length it may be at
/// most this multiple of the expected share.
const FALLS: f64 = 2.0;
/// The clock rate has changed if the arithmetic ruler changed by more than this share.
const LITTLE_CLOCK: f64 = 0.01;

/// The cost at one length of the loop.
struct Point<'a> {
    cost: &'a Cost,
    /// Median number of events in a repetition.
    events: f64,
    /// Clock step in seconds per event.
    step: f64,
    disturbed: f64,
    alu: Option<f64>,
}

/// Returns the reason for each probe of the record, in order. A length without a cost is `Unexplained`.
pub(super) fn reasons(record: &CostsRecord) -> Vec<LengthReason> {
    let points: Vec<Option<(Probe, Point<'_>)>> = record
        .probes
        .iter()
        .map(|probe| Some((probe.probe, point(&probe.measured().ok()?, probe.cost.as_ref().ok()?, record))))
        .collect();
    let of = |probe: Probe| points.iter().flatten().filter(move |(other, _)| *other == probe).map(|(_, point)| point);
    let reason = |found: &Option<(Probe, Point<'_>)>| {
        let Some((probe, point)) = found else { return LengthReason::Unexplained };
        let quiet = of(*probe).filter(|other| other.disturbed < MOSTLY).max_by_key(|other| other.cost.loops);
        let longest = quiet.or_else(|| of(*probe).max_by_key(|other| other.cost.loops));
        longest.map_or(LengthReason::Agrees, |longest| {
            let loops = point.cost.loops;
            let longer = of(*probe).filter(|other| other.cost.loops > loops).min_by_key(|other| other.cost.loops);
            let shorter = of(*probe).filter(|other| other.cost.loops < loops).max_by_key(|other| other.cost.loops);
            // If the next longer one is the longest itself, which all are compared with, use the next shorter one.
            let neighbours = match longer.filter(|longer| longer.cost.loops < longest.cost.loops) {
                Some(longer) => Some((point, longer)),
                None => shorter.map(|shorter| (shorter, point)),
            };
            decide(point, neighbours, longest)
        })
    };
    points.iter().map(reason).collect()
}

fn point<'a>(measured: &Measured<'_>, cost: &'a Cost, record: &CostsRecord) -> Point<'a> {
    let kept = Kept::of(measured);
    let events: Vec<f64> = kept.repetitions.iter().map(|repetition| repetition.probe.events as f64).collect();
    let events = quantile(&events, 0.5).unwrap_or(f64::NAN);
    Point {
        cost,
        events,
        step: clock_step(measured.probe, record) / events,
        disturbed: kept.disturbed_share(),
        alu: measured.alu_seconds,
    }
}

/// Decides why `point` differs from the longest. `neighbours` are `point` and the one next to it, the shorter one
/// first.
fn decide(point: &Point<'_>, neighbours: Option<(&Point<'_>, &Point<'_>)>, longest: &Point<'_>) -> LengthReason {
    let excess = point.cost.median_seconds - longest.cost.median_seconds;
    if point.cost.below_resolution && !longest.cost.below_resolution {
        // Without this case, a cost below the resolution would agree with any cost.
        LengthReason::TimerGrain
    } else if agree(point.cost, longest.cost) {
        LengthReason::Agrees
    } else if point.disturbed >= MOSTLY || longest.disturbed >= MOSTLY {
        LengthReason::Preemption
    } else if excess.abs() <= point.step {
        LengthReason::TimerGrain
    } else if has_another_clock(point, longest) {
        LengthReason::Frequency
    } else if excess > 0.0 && neighbours.is_some_and(|(shorter, longer)| falls(shorter, longer, longest)) {
        LengthReason::StartUp
    } else {
        LengthReason::Unexplained
    }
}

fn agree(one: &Cost, other: &Cost) -> bool {
    let overlap = one.low_seconds <= other.high_seconds && other.low_seconds <= one.high_seconds;
    overlap || (one.median_seconds - other.median_seconds).abs() <= LITTLE * other.median_seconds.abs()
}

/// Whether the arithmetic ruler changed by the same factor as the cost.
fn has_another_clock(point: &Point<'_>, longest: &Point<'_>) -> bool {
    let (Some(here), Some(there)) = (point.alu, longest.alu) else { return false };
    let (clock, cost) = (here / there, point.cost.median_seconds / longest.cost.median_seconds);
    (clock - 1.0).abs() > LITTLE_CLOCK && (cost / clock - 1.0).abs() <= LITTLE
}

/// Whether the excess at the shorter length falls in proportion to the rounds of the longer one.
fn falls(shorter: &Point<'_>, longer: &Point<'_>, longest: &Point<'_>) -> bool {
    let excess = |point: &Point<'_>| point.cost.median_seconds - longest.cost.median_seconds;
    let should_be = excess(shorter) * shorter.events / longer.events;
    excess(longer) <= FALLS * should_be + LITTLE * longest.cost.median_seconds.abs()
}
