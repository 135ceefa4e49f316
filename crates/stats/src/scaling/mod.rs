//! Evaluation of a load experiment: how work scales with the number of processes, without knowledge of the machine.
//!
//! Work per CPU second shows how fast a process ran while it ran. Work per wall second divided by it shows how much of
//! a CPU the process had. If the first falls, processes share a resource (a core, a cache, clock rate); if the second
//! falls, they take turns on CPUs. [`scaling`] finds the numbers of processes at which this begins, as ranges of all
//! numbers that are compatible with the points, and fits the Universal Scalability Law.

mod capacity;
mod knees;
mod law;
mod least;
mod shape;

use steady_model::{Absent, Interval, Reading};

use capacity::{Capacity, used};
use shape::{Fit, full};

/// The work done by a number of concurrent processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalingPoint {
    /// The number of processes.
    pub procs: u32,
    /// Work of one process per second of its CPU time.
    pub work_per_cpu_second: f64,
    /// Work of one process per second of wall time.
    pub work_per_wall_second: f64,
    /// The number of CPUs that other programs or the hypervisor used during the run; `None` if not known.
    pub taken_cpus: Option<f64>,
}

impl ScalingPoint {
    /// Creates a point for which the use of CPUs by others is not known.
    pub fn new(procs: u32, work_per_cpu_second: f64, work_per_wall_second: f64) -> Self {
        ScalingPoint { procs, work_per_cpu_second, work_per_wall_second, taken_cpus: None }
    }

    /// Returns whether the rates are finite and positive.
    fn is_valid(&self) -> bool {
        let rates = [self.work_per_cpu_second, self.work_per_wall_second];
        self.procs > 0 && rates.iter().all(|rate| rate.is_finite() && *rate > 0.0)
    }
}

/// The range of a number of processes that the data allow, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRange {
    /// The smallest possible number.
    pub low: u32,
    /// The largest possible number.
    pub high: u32,
}

/// A parameter with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The value of the best fit.
    pub value: f64,
    /// The 95 % interval; ends may be infinite.
    pub interval: Interval,
}

/// The Universal Scalability Law (Gunther): throughput `lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalabilityLaw {
    /// Throughput of one process, in work per second.
    pub lambda: Fitted,
    /// Contention: the share of the work that is serial.
    pub sigma: Fitted,
    /// Coherency: the cost of each pair of processes.
    pub kappa: Fitted,
    /// The number of processes with the highest throughput; not available if the law has no peak.
    pub peak: Reading<Fitted>,
    /// The root mean square of the residuals, relative to throughput.
    pub residual_ratio: f64,
}

/// The result of a load experiment, without knowledge of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The largest work per CPU second divided by the smallest.
    pub per_cpu_factor: f64,
    /// The largest work per wall second divided by the smallest.
    pub per_wall_factor: f64,
    /// The number of processes up to which each has a core to itself; not available if the points do not determine it.
    pub cores: Reading<CountRange>,
    /// The number of processes up to which each has a logical CPU to itself; not available if the points do not
    /// determine it.
    pub logical_cpus: Reading<CountRange>,
    /// The additional work of a core with two threads, relative to one process alone on the machine: 0.2 for 20 %. The
    /// interval includes the possibility that a core on a busy machine is slower. Not available if cores have one
    /// thread each, or if the points do not determine it.
    pub second_thread_gain: Reading<Fitted>,
    /// CPU time for the same work at the largest number of processes, divided by that at the smallest.
    pub full_load_inflation: f64,
    /// Limits of the conclusions, as short clauses.
    pub caveats: Vec<String>,
    /// The fitted law; not available with fewer than six points.
    pub law: Reading<ScalabilityLaw>,
}

/// Evaluates the points of a load experiment; not available with fewer than two numbers of processes. Of several points
/// with the same number, the first is used.
pub fn scaling(points: &[ScalingPoint]) -> Reading<Scaling> {
    let mut points: Vec<ScalingPoint> = points.iter().copied().filter(ScalingPoint::is_valid).collect();
    points.sort_by_key(|point| point.procs);
    points.dedup_by_key(|point| point.procs);
    let [first, .., last] = &points[..] else {
        return Err(Absent::because("fewer than two numbers of processes were measured"));
    };
    let knees = knees::knees(&points);
    Ok(Scaling {
        per_cpu_factor: factor(&points, |point| point.work_per_cpu_second),
        per_wall_factor: factor(&points, |point| point.work_per_wall_second),
        cores: knees.cores,
        logical_cpus: knees.logical_cpus,
        second_thread_gain: knees.second_thread_gain,
        full_load_inflation: first.work_per_cpu_second / last.work_per_cpu_second,
        caveats: knees.caveats,
        law: law::law(&points),
    })
}

/// Returns the largest rate divided by the smallest.
fn factor(points: &[ScalingPoint], rate: impl Fn(&ScalingPoint) -> f64) -> f64 {
    let most = points.iter().map(&rate).fold(f64::NEG_INFINITY, f64::max);
    most / points.iter().map(&rate).fold(f64::INFINITY, f64::min)
}

/// A shape is possible if its loss exceeds that of the best one by at most this much.
const WORSE: f64 = 13.0;
/// The relative fall of speed that counts as a difference between two points.
const FALL: f64 = 0.1;

/// A point that is slower than one with fewer processes.
struct Fall<'a> {
    point: &'a ScalingPoint,
    /// Work per CPU second at the fastest of the points with fewer processes.
    fastest: f64,
}

impl Fall<'_> {
    /// Returns the CPUs that others used during the point, if they are enough to explain the fall: their threads may
    /// have shared cores, caches and clock rate with the processes.
    fn explained_by(&self) -> Option<f64> {
        self.point.taken_cpus.filter(|taken| *taken >= FALL * f64::from(self.point.procs))
    }
}

/// Returns the points at which work per CPU second has fallen. The points are in ascending order.
fn falls(points: &[ScalingPoint]) -> impl Iterator<Item = Fall<'_>> {
    let fall = |(at, point): (usize, &'_ ScalingPoint)| Fall {
        point: &points[at],
        fastest: points[..at].iter().map(|before| before.work_per_cpu_second).fold(point.work_per_cpu_second, f64::max),
    };
    points.iter().enumerate().map(fall).filter(|fall| fall.point.work_per_cpu_second < (1.0 - FALL) * fall.fastest)
}

/// Returns whether work per CPU second falls.
fn fell(points: &[ScalingPoint]) -> bool {
    falls(points).next().is_some()
}

/// Returns whether work per CPU second falls at a point that other programs did not slow down.
fn fell_alone(points: &[ScalingPoint]) -> bool {
    falls(points).any(|fall| fall.explained_by().is_none())
}

/// Returns a caveat if a point is already slower although each of its processes may have a core.
fn early_fall(points: &[ScalingPoint], cores: &Reading<CountRange>) -> Option<String> {
    let high = cores.as_ref().ok()?.high;
    let early = falls(points).find(|fall| fall.point.procs <= high)?;
    let why = match early.explained_by() {
        Some(taken) => format!("other programs used {taken:.2} CPUs and may have slowed it down"),
        None => "there are fewer cores than that, or two of the processes shared one while another was idle, or the \
                 clock rate fell; the points alone do not show which"
            .to_owned(),
    };
    let slower = 100.0 * (early.fastest / early.point.work_per_cpu_second - 1.0);
    Some(format!("at N = {} the same work already takes {slower:.0} % more CPU time: {why}", early.point.procs))
}

/// Returns a caveat if cores with threads and cores without threads are both possible.
fn both_kinds(points: &[ScalingPoint], possible: &[Fit]) -> Option<String> {
    let (with, without): (Vec<_>, Vec<_>) = possible.iter().partition(|fit| fit.shape.threads);
    (fell_alone(points) && !with.is_empty() && !without.is_empty()).then(|| {
        "processes slow each other down as threads of one core would, and as cores that share caches, memory or clock \
         rate would: the points alone do not show which"
            .to_owned()
    })
}

/// Returns a caveat if a saturated shared resource explains the points as well as threads do.
fn filled(points: &[ScalingPoint], possible: &[Fit], error: f64) -> Option<String> {
    let least = possible.iter().map(|fit| fit.loss).fold(f64::INFINITY, f64::min);
    let others = possible.iter().map(|fit| full(points, fit.shape.logical()));
    let (squares, from) = others.min_by(|(one, _), (two, _)| one.total_cmp(two))?;
    (squares / (error * error) <= least + WORSE).then(|| {
        format!(
            "this assumes that processes share cores: if another resource, such as the memory bandwidth, were \
             saturated from {from:.1} processes on, the points would look the same"
        )
    })
}

/// Returns a caveat if the number of CPUs available differed between numbers of processes.
fn varied(points: &[ScalingPoint], capacity: &Capacity) -> Option<String> {
    let waited = |point: &&ScalingPoint| used(point) < 0.9 * f64::from(point.procs);
    let by = |one: &&ScalingPoint, two: &&ScalingPoint| used(one).total_cmp(&used(two));
    let (least, most) = (points.iter().filter(waited).min_by(by)?, points.iter().filter(waited).max_by(by)?);
    (capacity.variation > FALL).then(|| {
        format!(
            "the processes had {:.2} CPUs together at N = {} and {:.2} at N = {}: something else used the machine, or \
             limited them",
            used(least),
            least.procs,
            used(most),
            most.procs
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns points with these numbers of processes, speeds and CPUs of others.
    fn points(of: &[(u32, f64, Option<f64>)]) -> Vec<ScalingPoint> {
        let point = |&(procs, speed, taken_cpus): &(u32, f64, Option<f64>)| ScalingPoint {
            taken_cpus,
            ..ScalingPoint::new(procs, speed, speed)
        };
        of.iter().map(point).collect()
    }

    fn early(of: &[(u32, f64, Option<f64>)]) -> Option<String> {
        early_fall(&points(of), &Ok(CountRange { low: 1, high: 2 }))
    }

    #[test]
    fn a_slow_first_point_is_no_fall() {
        let slow_first = [(1, 0.8, None), (2, 1.0, None), (3, 1.0, None)];
        assert_eq!(early(&slow_first), None);
        assert!(!fell(&points(&slow_first)));
    }

    #[test]
    fn load_by_others_explains_a_fall() {
        let quiet = early(&[(1, 1.0, Some(0.0)), (2, 0.8, Some(0.05))]).unwrap();
        assert!(
            quiet.starts_with("at N = 2 the same work already takes 25 % more CPU time: there are fewer cores"),
            "{quiet}"
        );
        let loaded = [(1, 1.0, Some(1.6)), (2, 0.8, Some(1.5))];
        assert_eq!(
            early(&loaded).unwrap(),
            "at N = 2 the same work already takes 25 % more CPU time: other programs used 1.50 CPUs and may have slowed \
             it down"
        );
        assert!(fell(&points(&loaded)) && !fell_alone(&points(&loaded)));
        // Half a CPU of others is too little to explain what eight processes lose.
        assert!(fell_alone(&points(&[(1, 1.0, Some(0.5)), (8, 0.6, Some(0.5))])));
    }
}
