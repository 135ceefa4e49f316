//! What the points say about scaling.

use serde_json::Value;
use steady_model::{CountRange, Fitted, Interval, Reading, ScalabilityLaw, Scaling};

use crate::json::object::Object;

/// The factors, the knees and the law.
pub(super) fn scaling(scaling: &Scaling) -> Value {
    const NO_NUMBER: &str = "not a number";
    let mut object = Object::new();
    object.number("per_cpu_factor", scaling.per_cpu_factor, NO_NUMBER);
    object.number("per_wall_factor", scaling.per_wall_factor, NO_NUMBER);
    object.number("full_load_inflation_ratio", scaling.full_load_inflation, NO_NUMBER);
    range(&mut object, "cores", &scaling.cores);
    range(&mut object, "logical_cpus", &scaling.logical_cpus);
    fitted(&mut object, "second_thread_gain_ratio", &scaling.second_thread_gain);
    object.put("caveats", scaling.caveats.clone());
    match &scaling.law {
        Ok(found) => object.put("law", law(found)),
        Err(absent) => object.absent("law", &absent.0),
    }
    object.into()
}

/// Both ends of a range of numbers of processes.
fn range(object: &mut Object, name: &str, range: &Reading<CountRange>) {
    let end = |pick: fn(&CountRange) -> u32| range.as_ref().map(pick).map_err(Clone::clone);
    object.reading(&format!("{name}_low"), &end(|range| range.low));
    object.reading(&format!("{name}_high"), &end(|range| range.high));
}

/// The Universal Scalability Law.
fn law(law: &ScalabilityLaw) -> Value {
    let mut object = Object::new();
    fitted(&mut object, "lambda_per_second", &Ok(law.lambda));
    fitted(&mut object, "sigma_ratio", &Ok(law.sigma));
    fitted(&mut object, "kappa_ratio", &Ok(law.kappa));
    fitted(&mut object, "peak_procs", &law.peak);
    object.number("residual_ratio", law.residual_ratio, "not a number");
    object.into()
}

/// A figure and its interval.
fn fitted(object: &mut Object, name: &str, fitted: &Reading<Fitted>) {
    let value = fitted.as_ref().map(|fitted| fitted.value).map_err(Clone::clone);
    let interval: Reading<Interval> = fitted.as_ref().map(|fitted| fitted.interval).map_err(Clone::clone);
    object.reading(name, &value);
    object.interval(&format!("{name}_low"), &format!("{name}_high"), &interval);
}
