//! Computes costs from samples: a pure function of the record.

mod disturbed;
mod histogram;
mod reasons;

use steady_model::{Absent, Ending, Nanos, Probe, Reading, Timed};
use steady_render::json::ReadError;
use steady_stats::descriptive::quantile;
use steady_stats::location::location;
use steady_stats::modes;

use crate::clocks::clock_words;
use crate::record::{Cost, CostsRecord, Measured, Mode, ProbeCost, Repetition};
pub(crate) use disturbed::Kept;
use histogram::histogram;

/// Confidence level of all intervals.
const CONFIDENCE: f64 = 0.95;
/// With fewer repetitions, no interval of a median has that confidence level.
pub const FEWEST: usize = 6;

impl CostsRecord {
    /// Reads a record from JSON that was written with its samples, exactly as it was measured, and judges it again.
    ///
    /// # Errors
    /// Returns what is wrong with the text, and where. No input causes a panic, and no sum of times or counts
    /// overflows.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        CostsRecord::measured(text).map(judged)
    }
}

/// Computes the derived fields of a record.
pub fn judged(mut record: CostsRecord) -> CostsRecord {
    let costs: Vec<Reading<Cost>> =
        record.probes.iter().map(|probe| probe.measured().and_then(|measured| cost(&measured, &record))).collect();
    for (probe, cost) in record.probes.iter_mut().zip(costs) {
        let blank = ProbeCost::absent(probe.probe, &Absent::because("derived"));
        (probe.unit, probe.clock, probe.cost) = (blank.unit, blank.clock, cost);
    }
    let reasons = if record.plan.sweep { reasons::reasons(&record) } else { vec![] };
    let mut reasons = reasons.into_iter();
    record.probes.iter_mut().for_each(|probe| probe.against_longest = reasons.next());
    record.clocks.iter_mut().for_each(|clock| clock.words = clock_words(clock.probe));
    record
}

/// Computes the cost of a probe's event.
fn cost(measured: &Measured<'_>, record: &CostsRecord) -> Reading<Cost> {
    let probe = measured.probe;
    let kept = Kept::of(measured);
    let repetitions = &kept.repetitions;
    let values: Vec<f64> = repetitions.iter().map(|repetition| seconds_per_event(probe, repetition)).collect();
    let found = location(&values, CONFIDENCE).ok_or_else(|| too_few(measured))?;
    let (step, events) = (clock_step(probe, record), middle(repetitions, |timed| timed.events as f64));
    let resolution = (step / events).max(noise_of_nothing(probe, repetitions) / events);
    let modes: Vec<Mode> = modes::two(&values, MODE_STEPS * step / events)
        .map(|two| two.map(|mode| Mode { median_seconds: mode.median, share_ratio: mode.share }).to_vec())
        .unwrap_or_default();
    let all = measured.repetitions;
    let expected_events =
        all.iter().map(|repetition| repetition.probe.loops as f64).sum::<f64>() * measured.events_per_loop;
    let cost = Cost {
        probe,
        loops: measured.loops,
        median_seconds: found.median,
        low_seconds: found.low,
        high_seconds: found.high,
        spread_seconds: found.spread,
        resolution_seconds: resolution,
        below_resolution: found.median.abs() < resolution,
        histogram: histogram(&values, &modes, resolution),
        modes,
        repetitions: repetitions.len(),
        set_apart: kept.set_apart,
        all_disturbed: kept.all_disturbed,
        expected_events,
        counted_events: all.iter().map(|repetition| repetition.probe.events).sum(),
        notes: notes(measured, record, expected_events),
    };
    let numbers =
        [cost.median_seconds, cost.low_seconds, cost.high_seconds, cost.spread_seconds, resolution, expected_events];
    let is_finite = numbers.iter().all(|number| number.is_finite());
    if is_finite { Ok(cost) } else { Err(Absent::because("the samples do not give a finite cost")) }
}

/// Two modes must be at least this many steps of the clock apart.
const MODE_STEPS: f64 = 4.0;

fn too_few(measured: &Measured<'_>) -> Absent {
    let made = measured.repetitions.len();
    if made >= FEWEST {
        return Absent::because("its event did not happen in enough repetitions, as counted");
    }
    let repetitions = if made == 1 { "repetition" } else { "repetitions" };
    Absent::because(format!("an interval needs {FEWEST} repetitions, and there was time for only {made} {repetitions}"))
}

/// The time of a loop that the probe's cost is computed from: CPU time or wall time.
pub(super) fn time(probe: Probe, timed: &Timed) -> Nanos {
    if probe.costs_cpu_time() { timed.cpu } else { timed.wall }
}

/// Cost of one event in a repetition: loop minus empty loop, divided by the counted events, not by the expected ones.
pub(super) fn seconds_per_event(probe: Probe, repetition: &Repetition) -> f64 {
    let Repetition { probe: whole, empty, .. } = repetition;
    (time(probe, whole).seconds() - time(probe, empty).seconds()) / whole.events as f64
}

/// Smallest step of the clock that the cost is read from, in seconds. It includes the cost of a reading.
pub(super) fn clock_step(probe: Probe, record: &CostsRecord) -> f64 {
    let clock = if probe.costs_cpu_time() { Probe::ClockThreadCpu } else { Probe::ClockMonotonic };
    let facts = record.clocks.iter().find(|facts| facts.probe == clock);
    facts.map_or(0.0, |facts| facts.smallest_step_seconds.clone().unwrap_or(facts.stated_resolution_seconds).seconds())
}

/// Limit that the median difference of two empty loops would not exceed in 95 of 100 experiments, in seconds for a
/// whole loop.
fn noise_of_nothing(probe: Probe, repetitions: &[&Repetition]) -> f64 {
    /// Interquartile range of a normal distribution, in standard deviations.
    const RANGE: f64 = 1.349;
    /// Standard error of the median of a normal sample, divided by the one of its mean.
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

/// A note is written if counts differ by more than this share.
const LITTLE: f64 = 0.01;

/// Notes on one probe, as sentences.
fn notes(measured: &Measured<'_>, record: &CostsRecord, expected: f64) -> Vec<String> {
    let events = events(measured, expected);
    [events, calls(measured), few(measured, record)].into_iter().flatten().collect()
}

fn differ(counted: f64, expected: f64) -> bool {
    (counted - expected).abs() > LITTLE * expected.abs()
}

fn events(measured: &Measured<'_>, expected: f64) -> Option<String> {
    let counted: u64 = measured.repetitions.iter().map(|repetition| repetition.probe.events).sum();
    differ(counted as f64, expected).then(|| {
        let more = (counted as f64 / expected - 1.0) * 100.0;
        format!(
            "The event was expected {expected:.0} times and counted {counted} times ({more:+.1} %). The cost is per \
            counted event."
        )
    })
}

fn calls(measured: &Measured<'_>) -> Option<String> {
    let [counted, expected] = measured.calls?;
    // If no call is expected, the limit is a hundredth of a call.
    let differ = differ(counted, expected) && (counted - expected).abs() > LITTLE;
    differ.then(|| {
        format!("A tracer counted {counted:.2} system calls in a round of the loop, where {expected:.2} were expected.")
    })
}

fn few(measured: &Measured<'_>, record: &CostsRecord) -> Option<String> {
    let (made, wanted) = (measured.repetitions.len(), record.plan.repetitions as usize);
    if record.plan.sweep || made >= wanted {
        return None;
    }
    let why = if record.ending == Ending::Interrupted {
        "the run was interrupted"
    } else {
        "the budget had no room for more"
    };
    Some(format!("Only {made} of {wanted} repetitions were made: {why}."))
}

#[cfg(test)]
mod tests;
