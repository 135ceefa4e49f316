//! Numbers that JSON cannot represent: infinite ends of intervals, and NaN.

use steady_model::{Absent, Interval, Reading};

/// Returns the number, or the reason `otherwise` if it is infinite or NaN.
///
/// # Errors
/// The reason `otherwise`.
pub fn finite(value: f64, otherwise: &str) -> Reading<f64> {
    if value.is_finite() { Ok(value) } else { Err(Absent::because(otherwise)) }
}

/// Returns the lower and the upper end of an interval, each with a reason if there is none.
pub fn ends(interval: &Reading<Interval>) -> [Reading<f64>; 2] {
    match interval {
        Ok(interval) => [finite(interval.low, "no lower end"), finite(interval.high, "no upper end")],
        Err(absent) => [Err(absent.clone()), Err(absent.clone())],
    }
}
