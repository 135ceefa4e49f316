//! The number of processes up to which each has a core, or a logical CPU, to itself.

use statrs::distribution::{ContinuousCDF, StudentsT};
use steady_model::{Absent, Interval, Reading};

use super::capacity::{Capacity, capacity};
use super::shape::{Fit, Shape};
use super::{CountRange, Fitted, ScalingPoint, WORSE, both_kinds, early_fall, fell, fell_alone, filled, varied};

/// The prior relative standard error of a point, and the number of points that this prior counts as.
const USUAL_ERROR: f64 = 0.01;
const USUAL_WEIGHT: f64 = 2.0;
/// The number of parameters of a shape, including the number of cores.
const FIGURES: usize = 4;
/// If the relative error of a point is greater, no shape describes the points.
const STRANGE: f64 = 0.05;

/// The numbers of cores and logical CPUs at which the throughput changes its slope.
pub(super) struct Knees {
    pub(super) cores: Reading<CountRange>,
    pub(super) logical_cpus: Reading<CountRange>,
    pub(super) second_thread_gain: Reading<Fitted>,
    pub(super) caveats: Vec<String>,
}

/// Estimates the knees. The points are in ascending order.
pub(super) fn knees(points: &[ScalingPoint]) -> Knees {
    let capacity = capacity(points);
    let most = points.last().map_or(1, |point| point.procs);
    let (possible, error) = possible(points, &candidates(&capacity, most));
    let mut caveats = Vec::new();
    let cores = range(&possible, |shape| shape.cores, most, "cores");
    let logical_cpus = capacity.known_high().and_then(|_| range(&possible, Shape::logical, most, "CPUs"));
    let gain = gain(points, &possible, error, &cores);
    caveats.extend(early_fall(points, &cores));
    caveats.extend(both_kinds(points, &possible));
    caveats.extend((gain.is_ok() && fell_alone(points)).then(|| filled(points, &possible, error)).flatten());
    caveats.extend(varied(points, &capacity));
    if error > STRANGE {
        let percent = 100.0 * error;
        caveats.push(format!(
            "the points scatter, or no model of cores and threads fits them: they differ from the best model by \
             {percent:.0} %"
        ));
    }
    Knees { cores, logical_cpus, second_thread_gain: gain, caveats }
}

/// Returns all shapes that are compatible with the CPU time of the processes. All shapes with more cores than processes
/// give the same throughput, and one of them represents all.
fn candidates(capacity: &Capacity, most: u32) -> Vec<Shape> {
    let more = most.saturating_add(1);
    let top = capacity.high.unwrap_or(more).min(more);
    // Of many cores, only some numbers are tried, because the points cannot distinguish neighbouring numbers.
    let mut cores: Vec<u32> =
        std::iter::successors(Some(1), |cores| Some(cores + step(*cores))).take_while(|cores| *cores < top).collect();
    cores.push(top);
    let both = |cores| [Shape { cores, threads: true }, Shape { cores, threads: false }];
    cores.into_iter().flat_map(both).filter(|shape| capacity.allows(shape.logical())).collect()
}

/// Returns the distance to the next number of cores that is tried.
fn step(cores: u32) -> u32 {
    1 + cores / 128
}

/// Returns the shapes that are not significantly worse than the best one, and the relative error of a point.
fn possible(points: &[ScalingPoint], shapes: &[Shape]) -> (Vec<Fit>, f64) {
    const ROUNDS: usize = 3;
    let mut error = USUAL_ERROR;
    let mut fits: Vec<Fit> = Vec::new();
    for _ in 0..ROUNDS {
        fits = shapes.iter().filter_map(|shape| shape.fit(points, error)).collect();
        let Some(best) = fits.iter().min_by(|one, two| one.loss.total_cmp(&two.loss)) else { break };
        let own_weight = points.len().saturating_sub(FIGURES) as f64;
        let variance = (USUAL_WEIGHT * USUAL_ERROR * USUAL_ERROR + best.squares) / (USUAL_WEIGHT + own_weight);
        error = variance.sqrt();
    }
    let least = fits.iter().map(|fit| fit.loss).fold(f64::INFINITY, f64::min);
    fits.retain(|fit| fit.loss <= least + WORSE);
    (fits, error)
}

/// Returns the range of a number over all possible shapes; not available if it exceeds the largest number of processes.
fn range(possible: &[Fit], count: impl Fn(Shape) -> u32, most: u32, what: &str) -> Reading<CountRange> {
    let counts = || possible.iter().map(|fit| count(fit.shape));
    let (Some(low), Some(high)) = (counts().min(), counts().max()) else {
        return Err(Absent::because("no known kind of machine would give such points"));
    };
    // The numbers between those that were tried are possible too.
    let (low, high) = (low - (step(low) - 1), high + (step(high) - 1));
    if high > most {
        let at_least = low.min(most);
        return Err(Absent::because(format!(
            "there may be more {what} than the largest number of processes; there are at least {at_least}"
        )));
    }
    Ok(CountRange { low, high })
}

/// Estimates the gain from a second thread on a core, relative to one process alone. Its range includes noise and the
/// choice of the reference.
fn gain(points: &[ScalingPoint], possible: &[Fit], error: f64, cores: &Reading<CountRange>) -> Reading<Fitted> {
    let [first, .., last] = points else { return Err(Absent::because("there is only one point")) };
    if !possible.iter().all(|fit| fit.shape.threads) || possible.is_empty() {
        let fell = fell(points);
        return Err(Absent::because(match fell {
            true => {
                "processes slow each other down, but the points do not show whether they do so as threads of one core"
            }
            false => "work per CPU second does not fall by a tenth or more, as it would if processes shared cores",
        }));
    }
    let most = possible.iter().map(|fit| fit.shape.logical()).max().unwrap_or(0);
    if last.procs < most {
        return Err(Absent::because("there were too few processes to fill all threads of all cores"));
    }
    let high = cores.as_ref().map_err(Clone::clone)?.high;
    let full: Vec<f64> =
        points.iter().filter(|point| point.procs >= most).map(|point| point.work_per_cpu_second).collect();
    let thread = full.iter().sum::<f64>() / full.len() as f64;
    let mut alone = points.iter().filter(|point| point.procs <= high).map(|point| point.work_per_cpu_second);
    // The last point with a core for each process ran at the clock rate of a fully loaded machine.
    let (fastest, busiest) =
        (alone.clone().fold(0.0, f64::max), alone.next_back().unwrap_or(first.work_per_cpu_second));
    let off = error * student(points.len()) * (1.0 + 1.0 / full.len() as f64).sqrt();
    let adds = |alone: f64, off: f64| 2.0 * thread / alone * (1.0 + off) - 1.0;
    let interval = Interval { low: adds(fastest, -off), high: adds(busiest.min(first.work_per_cpu_second), off) };
    Ok(Fitted { value: adds(first.work_per_cpu_second, 0.0), interval })
}

/// Returns the half-width of a 95 % interval, in standard errors that are estimated from this number of points.
fn student(points: usize) -> f64 {
    let freedom = USUAL_WEIGHT + points.saturating_sub(FIGURES) as f64;
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |student| student.inverse_cdf(0.975))
}
