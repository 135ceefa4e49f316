//! What the points of a load experiment say about scaling, without knowing the machine.
//!
//! Work per CPU second tells how fast a process ran while it ran; work per wall second over it tells how much of a CPU it
//! had. Where the first falls, processes share something (a core, a cache, the clock's head room); where the second
//! does, they share CPUs in time. [`scaling`] finds the numbers of processes at which that begins, as ranges of all
//! those that the points leave, and fits the Universal Scalability Law.

mod capacity;
mod knees;
mod law;
mod least;
mod shape;

use steady_model::{Absent, Interval, Reading};

use capacity::{Capacity, used};
use shape::{Fit, full};

/// What so many processes at once got done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalingPoint {
    /// How many.
    pub procs: u32,
    /// Work of one process per second of its CPU time.
    pub work_per_cpu_second: f64,
    /// Work of one process per second on the wall.
    pub work_per_wall_second: f64,
    /// How many CPUs others kept busy meanwhile, or the hypervisor gave away; `None` where that is not known.
    pub taken_cpus: Option<f64>,
}

impl ScalingPoint {
    /// A point of which it is not known what others did meanwhile.
    pub fn new(procs: u32, work_per_cpu_second: f64, work_per_wall_second: f64) -> Self {
        ScalingPoint { procs, work_per_cpu_second, work_per_wall_second, taken_cpus: None }
    }

    /// Whether it says anything: rates of nothing, or of no time, do not.
    fn says_something(&self) -> bool {
        let rates = [self.work_per_cpu_second, self.work_per_wall_second];
        self.procs > 0 && rates.iter().all(|rate| rate.is_finite() && *rate > 0.0)
    }
}

/// A number of processes of which the data tell no more than that it is one of these, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRange {
    /// The fewest.
    pub low: u32,
    /// The most.
    pub high: u32,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The best fit.
    pub value: f64,
    /// The 95 % interval; ends may be infinite.
    pub interval: Interval,
}

/// The Universal Scalability Law (Gunther): throughput `lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalabilityLaw {
    /// Throughput of one process, in work per second.
    pub lambda: Fitted,
    /// Contention: the share that is done one after the other.
    pub sigma: Fitted,
    /// Coherency: what each pair of processes costs.
    pub kappa: Fitted,
    /// The number of processes with the most throughput; absent where the law has no peak.
    pub peak: Reading<Fitted>,
    /// Root mean square of what the law leaves unexplained, relative to throughput.
    pub residual_ratio: f64,
}

/// What the points say about scaling, without knowing the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// By what factor work per CPU second ranges over the points: the most over the least.
    pub per_cpu_factor: f64,
    /// By what factor work per wall second ranges.
    pub per_wall_factor: f64,
    /// Up to how many processes each has a core to itself; absent where the points cannot tell.
    pub cores: Reading<CountRange>,
    /// Up to how many processes each has a logical CPU to itself; absent where the points cannot tell.
    pub logical_cpus: Reading<CountRange>,
    /// What a second thread adds to what a core gets done, 0.2 for 20 %: over what one process alone on the machine gets
    /// done, with the range that the points leave (a core on a busy machine may be slower). Absent where cores have but
    /// one thread, or the points cannot tell.
    pub second_thread_gain: Reading<Fitted>,
    /// CPU time for the same work at full load over that at the least load.
    pub full_load_inflation: f64,
    /// Why the points tell no more: short clauses.
    pub caveats: Vec<String>,
    /// The law, where there are at least six points.
    pub law: Reading<ScalabilityLaw>,
}

/// What the points say together; absent with fewer than two numbers of processes. Of points with the same number the
/// first counts.
pub fn scaling(points: &[ScalingPoint]) -> Reading<Scaling> {
    let mut points: Vec<ScalingPoint> = points.iter().copied().filter(ScalingPoint::says_something).collect();
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

/// The most over the least.
fn factor(points: &[ScalingPoint], rate: impl Fn(&ScalingPoint) -> f64) -> f64 {
    let most = points.iter().map(&rate).fold(f64::NEG_INFINITY, f64::max);
    most / points.iter().map(&rate).fold(f64::INFINITY, f64::min)
}

/// By how much a shape may be worse than the best and still be possible.
const WORSE: f64 = 13.0;
/// A fall of speed that is told: what it takes for two points to differ.
const FALL: f64 = 0.1;

/// Whether work per CPU second is told to fall.
fn fell(points: &[ScalingPoint]) -> bool {
    let rates = || points.iter().map(|point| point.work_per_cpu_second);
    rates().fold(f64::INFINITY, f64::min) < (1.0 - FALL) * rates().fold(0.0, f64::max)
}

/// A point that is slower already though each of its processes may have a core.
fn early_fall(points: &[ScalingPoint], cores: &Reading<CountRange>) -> Option<String> {
    let high = cores.as_ref().ok()?.high;
    let fastest = points.iter().map(|point| point.work_per_cpu_second).fold(0.0, f64::max);
    let early =
        points.iter().find(|point| point.procs <= high && point.work_per_cpu_second < (1.0 - FALL) * fastest)?;
    let slower = 100.0 * (fastest / early.work_per_cpu_second - 1.0);
    Some(format!(
        "at N = {} the same work takes {slower:.0} % more CPU time already: either there are fewer cores than that, or two \
         of the processes shared one while another was idle, or the clock fell; the points alone do not tell",
        early.procs
    ))
}

/// Points that both kinds of machine would give.
fn both_kinds(points: &[ScalingPoint], possible: &[Fit]) -> Option<String> {
    let (with, without): (Vec<_>, Vec<_>) = possible.iter().partition(|fit| fit.shape.threads);
    (fell(points) && !with.is_empty() && !without.is_empty()).then(|| {
        "processes slow each other as threads of one core would, and as cores would that share caches, memory or the \
         clock's head room: the points alone do not tell"
            .to_owned()
    })
}

/// Points that threads explain, and something else that processes share and fill as well.
fn filled(points: &[ScalingPoint], possible: &[Fit], error: f64) -> Option<String> {
    let least = possible.iter().map(|fit| fit.loss).fold(f64::INFINITY, f64::min);
    let others = possible.iter().map(|fit| full(points, fit.shape.logical()));
    let (squares, from) = others.min_by(|(one, _), (two, _)| one.total_cmp(two))?;
    (squares / (error * error) <= least + WORSE).then(|| {
        format!(
            "this takes the processes to share cores: were something else, such as the memory's bandwidth, full from \
             {from:.1} processes on, the points would look the same"
        )
    })
}

/// CPUs that were there at one number of processes and not at another.
fn varied(points: &[ScalingPoint], capacity: &Capacity) -> Option<String> {
    let waited = |point: &&ScalingPoint| used(point) < 0.9 * f64::from(point.procs);
    let by = |one: &&ScalingPoint, two: &&ScalingPoint| used(one).total_cmp(&used(two));
    let (least, most) = (points.iter().filter(waited).min_by(by)?, points.iter().filter(waited).max_by(by)?);
    (capacity.variation > FALL).then(|| {
        format!(
            "the processes had {:.2} CPUs between them at N = {} and {:.2} at N = {}: something else used the machine, or \
             held them back",
            used(least),
            least.procs,
            used(most),
            most.procs
        )
    })
}
