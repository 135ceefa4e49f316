//! Why the points tell no more: each a short clause.

use steady_model::Reading;

use super::capacity::{Capacity, used};
use super::shape::{Fit, full};
use super::{CountRange, ScalingPoint};

/// By how much a shape may be worse than the best and still be possible.
pub(super) const WORSE: f64 = 13.0;
/// A fall of speed that is told: what it takes for two points to differ.
const FALL: f64 = 0.1;

/// Whether work per CPU second is told to fall.
pub(super) fn fell(points: &[ScalingPoint]) -> bool {
    let rates = || points.iter().map(|point| point.work_per_cpu_second);
    rates().fold(f64::INFINITY, f64::min) < (1.0 - FALL) * rates().fold(0.0, f64::max)
}

/// A point that is slower already though each of its processes may have a core.
pub(super) fn early_fall(points: &[ScalingPoint], cores: &Reading<CountRange>) -> Option<String> {
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
pub(super) fn both_kinds(points: &[ScalingPoint], possible: &[Fit]) -> Option<String> {
    let (with, without): (Vec<_>, Vec<_>) = possible.iter().partition(|fit| fit.shape.threads);
    (fell(points) && !with.is_empty() && !without.is_empty()).then(|| {
        "processes slow each other as threads of one core would, and as cores would that share caches, memory or the \
         clock's head room: the points alone do not tell"
            .to_owned()
    })
}

/// Points that threads explain, and something else that processes share and fill as well.
pub(super) fn filled(points: &[ScalingPoint], possible: &[Fit], error: f64) -> Option<String> {
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
pub(super) fn varied(points: &[ScalingPoint], capacity: &Capacity) -> Option<String> {
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
