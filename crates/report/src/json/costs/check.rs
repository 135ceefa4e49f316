//! Whether what was read can be true: what the judging may rely on.

use steady_model::{CostsRecord, Measured, Nanos, Timed};

use crate::json::ReadError;
use crate::json::check::{LONGEST, MOST, holds};

/// An error where the record contradicts itself, or where its sums would overflow.
pub(super) fn check(record: &CostsRecord) -> Result<(), ReadError> {
    holds(record.elapsed < LONGEST, "elapsed_seconds", "longer than any measuring")?;
    holds(record.plan.budget < LONGEST, "plan.budget_seconds", "longer than any measuring")?;
    let mut sums = Sums::default();
    for (at, (_, measured)) in record.measured.iter().enumerate() {
        if let Ok(measured) = measured {
            self::measured(measured, &format!("probes[{at}]"), &mut sums)?;
        }
    }
    Ok(())
}

/// Whether a probe's numbers are such that there can be.
fn measured(measured: &Measured, path: &str, sums: &mut Sums) -> Result<(), ReadError> {
    holds(measured.loops <= MOST, &format!("{path}.loops"), "more than there can be")?;
    let positive = |number: f64| number.is_finite() && number >= 0.0;
    holds(positive(measured.events_per_loop), &format!("{path}.events_per_loop"), "negative")?;
    if let Ok((counted, expected)) = measured.calls_per_loop {
        holds(positive(counted), &format!("{path}.calls_per_loop"), "negative")?;
        holds(positive(expected), &format!("{path}.expected_calls_per_loop"), "negative")?;
    }
    if let Ok(seconds) = measured.alu_seconds {
        holds(positive(seconds), &format!("{path}.alu_seconds"), "negative")?;
    }
    for (index, one) in measured.repetitions.iter().enumerate() {
        let path = format!("{path}.samples[{index}]");
        holds(one.started < LONGEST, &format!("{path}.started_seconds"), "later than any measuring")?;
        timed(&one.probe, &format!("{path}.probe"), sums)?;
        timed(&one.empty, &format!("{path}.empty"), sums)?;
    }
    Ok(())
}

/// Whether a loop's times and counts are such that there can be.
fn timed(timed: &Timed, path: &str, sums: &mut Sums) -> Result<(), ReadError> {
    for (name, time) in [("wall_seconds", timed.wall), ("cpu_seconds", timed.cpu)] {
        holds(time < LONGEST, &format!("{path}.{name}"), "longer than any measuring")?;
    }
    let counts = [
        ("loops", timed.loops),
        ("events", timed.events),
        ("minor_faults", timed.minor_faults),
        ("voluntary_switches", timed.voluntary_switches),
        ("involuntary_switches", timed.involuntary_switches),
    ];
    for (name, count) in counts {
        holds(count <= MOST, &format!("{path}.{name}"), "more than there can be")?;
    }
    sums.add([timed.wall, timed.cpu], counts.map(|(_, count)| count), path)
}

/// Running totals, kept so that no sum made of the record later can overflow.
#[derive(Default)]
struct Sums {
    time: u64,
    count: u64,
}

impl Sums {
    fn add(&mut self, times: [Nanos; 2], counts: [u64; 5], path: &str) -> Result<(), ReadError> {
        let time = times.iter().try_fold(self.time, |sum, time| sum.checked_add(time.0));
        let count = counts.iter().try_fold(self.count, |sum, count| sum.checked_add(*count));
        match (time, count) {
            (Some(time), Some(count)) => (self.time, self.count) = (time, count),
            _ => return Err(ReadError::inconsistent(path, "what is above adds up to more than there can be")),
        }
        Ok(())
    }
}
