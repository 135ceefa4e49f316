//! Numbers that JSON may have no text for: infinite ends of intervals, and what is no number.

use steady_model::{Absent, Interval, Reading};

/// Returns the number, absent for the reason `otherwise` if it is infinite or none.
///
/// # Errors
/// The reason.
pub fn finite(value: f64, otherwise: &str) -> Reading<f64> {
    if value.is_finite() { Ok(value) } else { Err(Absent::because(otherwise)) }
}

/// Returns the lower and the upper end of an interval, each absent where it has none.
pub fn ends(interval: &Reading<Interval>) -> [Reading<f64>; 2] {
    match interval {
        Ok(interval) => [finite(interval.low, "no lower end"), finite(interval.high, "no upper end")],
        Err(absent) => [Err(absent.clone()), Err(absent.clone())],
    }
}
