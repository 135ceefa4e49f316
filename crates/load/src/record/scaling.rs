//! The JSON of scaling results.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use steady_model::Reading;
use steady_render::json;
use steady_stats::{CountRange, Fitted, ScalabilityLaw, Scaling};

/// Serializes scaling results, for `#[serde(serialize_with = "..")]`.
pub(crate) fn serialize<S: Serializer>(scaling: &Reading<Scaling>, serializer: S) -> Result<S::Ok, S::Error> {
    scaling.as_ref().map(ScalingFigures::from).map_err(Clone::clone).serialize(serializer)
}

/// Scaling results from the measurements alone, without facts about the machine.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ScalingFigures {
    /// Largest work per CPU second of a row, divided by the smallest.
    per_cpu_factor: f64,
    /// Largest work per wall second of a row, divided by the smallest.
    per_wall_factor: f64,
    /// CPU time of the same work at full load, divided by that at the least load.
    full_load_inflation_ratio: f64,
    /// Up to at least this number of processes, each has its own core.
    cores_low: Reading<f64>,
    /// Up to at most this number of processes, each has its own core.
    cores_high: Reading<f64>,
    /// Up to at least this number of processes, each has its own logical CPU.
    logical_cpus_low: Reading<f64>,
    /// Up to at most this number of processes, each has its own logical CPU.
    logical_cpus_high: Reading<f64>,
    /// Share that a second thread adds to the work of a core: 0.2 for 20 %.
    second_thread_gain_ratio: Reading<f64>,
    /// Lower end of the range that the measurements allow.
    second_thread_gain_low_ratio: Reading<f64>,
    /// Upper end of the range that the measurements allow.
    second_thread_gain_high_ratio: Reading<f64>,
    /// Reasons why the measurements show no more, as short clauses.
    caveats: Vec<String>,
    /// The Universal Scalability Law; absent with fewer than six rows.
    law: Reading<LawFigures>,
}

/// The Universal Scalability Law (Gunther): throughput `lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`. Each figure
/// has a 95 % interval.
#[derive(Serialize, JsonSchema)]
struct LawFigures {
    /// Throughput of one process, in units of work per second.
    lambda_per_second: f64,
    lambda_low_per_second: Reading<f64>,
    lambda_high_per_second: Reading<f64>,
    /// Contention: the share of the work that is serialized.
    sigma_ratio: f64,
    sigma_low_ratio: Reading<f64>,
    sigma_high_ratio: Reading<f64>,
    /// Coherency: the cost of each pair of processes.
    kappa_ratio: f64,
    kappa_low_ratio: Reading<f64>,
    kappa_high_ratio: Reading<f64>,
    /// Number of processes with the highest throughput.
    peak_procs: Reading<f64>,
    peak_procs_low: Reading<f64>,
    peak_procs_high: Reading<f64>,
    /// Root mean square of the residuals, relative to throughput.
    residual_ratio: f64,
}

impl From<&Scaling> for ScalingFigures {
    fn from(scaling: &Scaling) -> Self {
        let [cores_low, cores_high] = numbers(&scaling.cores);
        let [logical_cpus_low, logical_cpus_high] = numbers(&scaling.logical_cpus);
        let [second_thread_gain_low_ratio, second_thread_gain_high_ratio] = ends(&scaling.second_thread_gain);
        ScalingFigures {
            per_cpu_factor: scaling.per_cpu_factor,
            per_wall_factor: scaling.per_wall_factor,
            full_load_inflation_ratio: scaling.full_load_inflation,
            cores_low,
            cores_high,
            logical_cpus_low,
            logical_cpus_high,
            second_thread_gain_ratio: value(&scaling.second_thread_gain),
            second_thread_gain_low_ratio,
            second_thread_gain_high_ratio,
            caveats: scaling.caveats.clone(),
            law: scaling.law.as_ref().map(LawFigures::from).map_err(Clone::clone),
        }
    }
}

impl From<&ScalabilityLaw> for LawFigures {
    fn from(law: &ScalabilityLaw) -> Self {
        let [lambda_low_per_second, lambda_high_per_second] = ends(&Ok(law.lambda));
        let [sigma_low_ratio, sigma_high_ratio] = ends(&Ok(law.sigma));
        let [kappa_low_ratio, kappa_high_ratio] = ends(&Ok(law.kappa));
        let [peak_procs_low, peak_procs_high] = ends(&law.peak);
        LawFigures {
            lambda_per_second: law.lambda.value,
            lambda_low_per_second,
            lambda_high_per_second,
            sigma_ratio: law.sigma.value,
            sigma_low_ratio,
            sigma_high_ratio,
            kappa_ratio: law.kappa.value,
            kappa_low_ratio,
            kappa_high_ratio,
            peak_procs: value(&law.peak),
            peak_procs_low,
            peak_procs_high,
            residual_ratio: law.residual_ratio,
        }
    }
}

fn numbers(range: &Reading<CountRange>) -> [Reading<f64>; 2] {
    let end = |pick: fn(&CountRange) -> u32| range.as_ref().map(|range| f64::from(pick(range))).map_err(Clone::clone);
    [end(|range| range.low), end(|range| range.high)]
}

fn value(fitted: &Reading<Fitted>) -> Reading<f64> {
    fitted.as_ref().map(|fitted| fitted.value).map_err(Clone::clone)
}

/// Returns both ends of an interval; either may be infinite.
fn ends(fitted: &Reading<Fitted>) -> [Reading<f64>; 2] {
    json::ends(&fitted.as_ref().map(|fitted| fitted.interval).map_err(Clone::clone))
}
