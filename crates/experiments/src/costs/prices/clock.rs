//! Prices at one rate of the clock: a host changes it every few milliseconds, by a tenth and more.

use steady_model::{AluTime, CostsRecord, Measured, Nanos, Probe, Reading, Timed};

use steady_rulers::Pace;

/// What the arithmetic beside each repetition took, in their order, by probe.
pub(in crate::costs) type Beside = Vec<(Probe, Vec<f64>)>;

/// Tells all times as if the clock had run at the mean of its readings throughout, and what that is.
///
/// Without it a median is that of the rate that was seen more often, and that of another probe's repetitions is another.
/// What of a price does not follow the clock is spread by this, and so in its interval.
pub(super) fn at_its_mean(record: &mut CostsRecord, beside: &Beside) -> Reading<AluTime> {
    let mean = Pace::of(in_time(record, beside)).throughout()?;
    for (probe, measured) in &mut record.measured {
        let Ok(measured) = measured else { continue };
        let readings = beside.iter().find(|(of, _)| of == probe).map(|(_, readings)| readings.as_slice());
        scale(measured, readings.unwrap_or_default(), mean.seconds);
    }
    Ok(mean)
}

/// The readings of all probes, in the order of time.
fn in_time(record: &CostsRecord, beside: &Beside) -> Vec<f64> {
    let mut all: Vec<(Nanos, f64)> = Vec::new();
    for (probe, measured) in &record.measured {
        let Ok(measured) = measured else { continue };
        let readings = beside.iter().filter(|(of, _)| of == probe).flat_map(|(_, readings)| readings);
        all.extend(measured.repetitions.iter().zip(readings).map(|(one, reading)| (one.started, *reading)));
    }
    all.sort_by_key(|(started, _)| *started);
    all.into_iter().map(|(_, reading)| reading).collect()
}

/// Each repetition by the reading beside it; one that has none stays as it is.
fn scale(measured: &mut Measured, readings: &[f64], mean: f64) {
    for (repetition, reading) in measured.repetitions.iter_mut().zip(readings) {
        for timed in [&mut repetition.probe, &mut repetition.empty] {
            let at_mean = |time: Nanos| Nanos::from_seconds(time.seconds() * mean / reading);
            *timed = Timed { wall: at_mean(timed.wall), cpu: at_mean(timed.cpu), ..*timed };
        }
    }
}

#[cfg(test)]
mod tests {
    use steady_model::{Absent, Repetition};

    use super::*;

    #[test]
    fn what_took_longer_because_the_clock_ran_slower_took_as_long() {
        let timed = |cpu| Timed { loops: 1, events: 1, wall: Nanos(2 * cpu), cpu: Nanos(cpu), ..Timed::default() };
        let repetition =
            |cpu| Repetition { started: Nanos(0), probe: timed(cpu), empty: timed(cpu / 10), empty_first: false };
        let mut measured = Measured {
            probe: Probe::SystemCall,
            loops: 1,
            events_per_loop: 1.0,
            subtracted: String::new(),
            calls_per_loop: Err(Absent::because("not counted")),
            alu_seconds: Ok(1.0),
            repetitions: vec![repetition(900_000), repetition(1_100_000), repetition(70_000)],
        };
        scale(&mut measured, &[0.9, 1.1], 1.0);
        let cpu: Vec<u64> = measured.repetitions.iter().map(|one| one.probe.cpu.0).collect();
        assert_eq!(cpu, [1_000_000, 1_000_000, 70_000]);
        assert_eq!(measured.repetitions[0].empty.cpu, measured.repetitions[1].empty.cpu);
        assert_eq!(measured.repetitions[0].probe.wall, Nanos(2_000_000), "who had the CPU is as before");
    }
}
