//! What a reader of a cost must know.

use steady_model::{CostsRecord, Ending, Measured};

/// Counts that differ by more than this are told.
const LITTLE: f64 = 0.01;

/// The notes on what was measured of one probe, as sentences.
pub(super) fn notes(measured: &Measured, record: &CostsRecord, expected: f64) -> Vec<String> {
    let events = events(measured, expected);
    [events, calls(measured), few(measured, record)].into_iter().flatten().collect()
}

fn differ(counted: f64, expected: f64) -> bool {
    (counted - expected).abs() > LITTLE * expected.abs()
}

fn events(measured: &Measured, expected: f64) -> Option<String> {
    let counted: u64 = measured.repetitions.iter().map(|repetition| repetition.probe.events).sum();
    differ(counted as f64, expected).then(|| {
        let more = (counted as f64 / expected - 1.0) * 100.0;
        format!(
            "The event was to happen {expected:.0} times and was counted {counted} times ({more:+.1} %): the cost is that of one \
             that was counted."
        )
    })
}

fn calls(measured: &Measured) -> Option<String> {
    let (counted, expected) = measured.calls_per_loop.clone().ok()?;
    // Where none is to be made, a hundredth of one is too many.
    let differ = differ(counted, expected) && (counted - expected).abs() > LITTLE;
    differ.then(|| {
        format!("A round of its loop makes {counted:.2} system calls, as a tracer counted them, where {expected:.2} were expected.")
    })
}

fn few(measured: &Measured, record: &CostsRecord) -> Option<String> {
    let (made, wanted) = (measured.repetitions.len(), record.plan.repetitions as usize);
    if record.plan.sweep || made >= wanted {
        return None;
    }
    let why =
        if record.ending == Ending::Interrupted { "it was interrupted" } else { "the budget had no room for more" };
    Some(format!("It has {made} of {wanted} repetitions: {why}."))
}
