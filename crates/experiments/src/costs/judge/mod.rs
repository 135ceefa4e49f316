//! From what was measured to what it costs: a pure function of the record.

mod disturbed;
mod histogram;
mod notes;
mod reasons;

use steady_model::{
    Absent, Cost, CostsRecord, CostsReport, Interval, Measured, Mode, Nanos, Probe, Reading, Repetition, Timed,
};
use steady_stats::descriptive::quantile;
use steady_stats::location::location;
use steady_stats::modes;

pub(super) use disturbed::Kept;
use histogram::histogram;
use notes::notes;

/// The confidence of all intervals.
const CONFIDENCE: f64 = 0.95;
/// With fewer repetitions there is no interval of that confidence for a median, whatever they are.
pub const FEWEST: usize = 6;

/// The report of a record.
pub fn report(record: CostsRecord) -> CostsReport {
    let cost = |(probe, measured): &(Probe, Reading<Measured>)| {
        let measured = measured.as_ref().map_err(Clone::clone);
        (*probe, measured.and_then(|measured| cost(measured, &record)))
    };
    let costs: Vec<_> = record.measured.iter().map(cost).collect();
    let reasons = if record.plan.sweep { reasons::reasons(&record, &costs) } else { vec![] };
    CostsReport { record, costs, reasons }
}

/// What the event of a probe costs.
fn cost(measured: &Measured, record: &CostsRecord) -> Reading<Cost> {
    let probe = measured.probe;
    let kept = Kept::of(measured);
    let repetitions = &kept.repetitions;
    let values: Vec<f64> = repetitions.iter().map(|repetition| seconds_per_event(probe, repetition)).collect();
    let found = location(&values, CONFIDENCE).ok_or_else(|| too_few(measured))?;
    let (step, events) = (clock_step(probe, record), middle(repetitions, |timed| timed.events as f64));
    let resolution = (step / events).max(noise_of_nothing(probe, repetitions) / events);
    let modes: Vec<Mode> = modes::two(&values, MODE_STEPS * step / events)
        .map(|two| two.map(|mode| Mode { median: mode.median, share: mode.share }).to_vec())
        .unwrap_or_default();
    let all = &measured.repetitions;
    let expected_events =
        all.iter().map(|repetition| repetition.probe.loops as f64).sum::<f64>() * measured.events_per_loop;
    Ok(Cost {
        probe,
        loops: measured.loops,
        median: found.median,
        interval: Interval { low: found.low, high: found.high },
        spread: found.spread,
        resolution,
        below_resolution: found.median.abs() < resolution,
        histogram: histogram(&values, &modes, resolution),
        modes,
        repetitions: repetitions.len(),
        set_apart: kept.set_apart,
        all_disturbed: kept.all_disturbed,
        expected_events,
        counted_events: all.iter().map(|repetition| repetition.probe.events).sum(),
        notes: notes(measured, record, expected_events),
    })
}

/// Two values that the clock alone keeps apart are no two modes.
const MODE_STEPS: f64 = 4.0;

fn too_few(measured: &Measured) -> Absent {
    let made = measured.repetitions.len();
    if made >= FEWEST {
        return Absent::because("its event did not happen, by what was counted");
    }
    let repetitions = if made == 1 { "repetition" } else { "repetitions" };
    Absent::because(format!("there was time for {made} {repetitions} only, and an interval takes {FEWEST}"))
}

/// The time that a probe's cost is made of.
pub(super) fn time(probe: Probe, timed: &Timed) -> Nanos {
    if probe.costs_cpu_time() { timed.cpu } else { timed.wall }
}

/// What an event cost in one repetition, net of the empty loop: by how often it did happen, not by how often it should.
pub(super) fn seconds_per_event(probe: Probe, repetition: &Repetition) -> f64 {
    let Repetition { probe: whole, empty, .. } = repetition;
    (time(probe, whole).seconds() - time(probe, empty).seconds()) / whole.events as f64
}

/// A step of the clock that the cost is read from, reading it included.
pub(super) fn clock_step(probe: Probe, record: &CostsRecord) -> f64 {
    let clock = if probe.costs_cpu_time() { Probe::ClockThreadCpu } else { Probe::ClockMonotonic };
    let facts = record.clocks.iter().find(|facts| facts.probe == clock);
    facts.map_or(0.0, |facts| facts.smallest_step.clone().unwrap_or(facts.stated_resolution).seconds())
}

/// By how much the median difference of two empty loops would differ from nothing, in 95 of 100 such experiments; in
/// seconds for a whole loop.
fn noise_of_nothing(probe: Probe, repetitions: &[&Repetition]) -> f64 {
    /// Of a normal distribution: its interquartile range in standard deviations; the standard error of a median over that of
    /// a mean.
    const RANGE: f64 = 1.349;
    const OF_MEDIAN: f64 = 1.2533;
    let empty: Vec<f64> = repetitions.iter().map(|repetition| time(probe, &repetition.empty).seconds()).collect();
    let [low, high] = [0.25, 0.75].map(|q| quantile(&empty, q).unwrap_or(0.0));
    let deviation = (high - low) / RANGE;
    1.96 * OF_MEDIAN * (2.0_f64).sqrt() * deviation / (empty.len() as f64).sqrt()
}

fn middle(repetitions: &[&Repetition], of: fn(&Timed) -> f64) -> f64 {
    let values: Vec<f64> = repetitions.iter().map(|repetition| of(&repetition.probe)).collect();
    quantile(&values, 0.5).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests;
