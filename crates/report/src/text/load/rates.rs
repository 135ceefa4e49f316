//! What the charts of a load experiment draw: rates of work by number of processes, and where cores and CPUs end.

use steady_model::{LoadReport, LoadWork, Machine};

use crate::units::short;

/// Larger rates are none of any machine's, and an axis of them would have no ticks.
pub(crate) const MOST_DRAWN: f64 = 1e200;

/// One number of processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// How many processes.
    pub(crate) procs: f64,
    /// Work per unit of CPU time.
    pub(crate) per_cpu: f64,
    /// Work per unit of wall time.
    pub(crate) per_wall: f64,
    /// Work of all together per unit of wall time.
    pub(crate) throughput: f64,
}

/// All of them, in units that suit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rates {
    /// The points by number of processes: at least two.
    pub(crate) points: Vec<Rate>,
    /// The unit of time: `ms` or `s`.
    pub(crate) per: &'static str,
    /// How many units of work are counted as one: 1, a thousand, ...
    pub(crate) size: f64,
    /// What the rates are multiplied by, from work per second.
    pub(crate) scale: f64,
    /// The unit of work.
    unit: &'static str,
    /// Numbers of processes at which something of the machine ends, in words.
    pub(crate) marks: Vec<(f64, String)>,
    /// Whether the axis of numbers of processes goes by factors.
    pub(crate) logarithmic: bool,
}

impl Rates {
    /// The rates of a report; none with fewer than two points that can be drawn.
    pub(crate) fn of(report: &LoadReport) -> Option<Self> {
        let (per, seconds) = match report.record.plan.work {
            LoadWork::Command { .. } => ("s", 1.0),
            LoadWork::Hash { .. } | LoadWork::Sum { .. } => ("ms", 1e-3),
        };
        let drawable = |rate: &Rate| {
            [rate.per_cpu, rate.per_wall, rate.throughput].iter().all(|one| (0.0..=MOST_DRAWN).contains(one))
        };
        let rates = |scale: f64| {
            let points = report.points.iter().map(move |point| Rate {
                procs: f64::from(point.procs),
                per_cpu: point.work_per_cpu_second * scale,
                per_wall: point.work_per_wall_second * scale,
                throughput: point.throughput_per_second * scale,
            });
            points.filter(drawable).collect::<Vec<_>>()
        };
        let most = rates(seconds).iter().map(|rate| rate.per_cpu.max(rate.per_wall)).fold(0.0, f64::max);
        let size = [1e9, 1e6, 1e3].into_iter().find(|size| most >= *size * 10.0).unwrap_or(1.0);
        let points = rates(seconds / size);
        let logarithmic = by_factors(&points);
        let marks = marks(&report.record.machine);
        let unit = report.record.unit();
        (points.len() > 1).then_some(Rates { points, per, size, scale: seconds / size, unit, marks, logarithmic })
    }

    /// What is counted, at the start of a line: `Hashes`, `Million numbers`.
    pub(crate) fn what(&self) -> String {
        let many = match self.size {
            size if size >= 1e9 => "Billion ",
            size if size >= 1e6 => "Million ",
            size if size >= 1e3 => "Thousand ",
            _ => return crate::words::capital(self.unit),
        };
        format!("{many}{}", self.unit)
    }

    /// The highest rate of one process.
    pub(crate) fn top(&self) -> f64 {
        self.points.iter().map(|point| point.per_cpu.max(point.per_wall)).fold(0.0, f64::max)
    }

    /// Where a number of processes lies on the axis, from 0 to 1; nowhere beyond its ends.
    pub(crate) fn place(&self, procs: f64) -> Option<f64> {
        let at = |procs: f64| if self.logarithmic { procs.ln() } else { procs };
        let (low, high) = (at(self.points[0].procs), at(self.points[self.points.len() - 1].procs));
        let place = (at(procs) - low) / (high - low);
        (0.0..=1.0).contains(&place).then_some(place)
    }
}

/// Numbers that grow by factors have steps of very different lengths.
fn by_factors(points: &[Rate]) -> bool {
    const UNLIKE: f64 = 4.0;
    let gaps = || points.windows(2).map(|pair| pair[1].procs - pair[0].procs);
    gaps().fold(0.0, f64::max) >= UNLIKE * gaps().fold(f64::INFINITY, f64::min)
}

/// Where cores, logical CPUs and the quota end.
fn marks(machine: &Machine) -> Vec<(f64, String)> {
    let logical = machine.allowed.len();
    let counted = |number: usize, one: &str, many: &str| crate::words::count(number, one, many).replace('\u{a0}', " ");
    let mut marks = Vec::new();
    match machine.core_count() {
        Ok(cores) if cores == logical => marks.push((cores as f64, counted(cores, "core", "cores"))),
        Ok(cores) => {
            marks.push((cores as f64, counted(cores, "core", "cores")));
            marks.push((logical as f64, counted(logical, "logical CPU", "logical CPUs")));
        }
        Err(_) => marks.push((logical as f64, counted(logical, "logical CPU", "logical CPUs"))),
    }
    let usable = machine.usable_cpus();
    if usable < logical as f64 {
        marks.push((usable, format!("a quota of {} CPUs", short(usable))));
    }
    marks
}

/// Round steps from 0 to at least `most`, four to seven of them.
pub(crate) fn steps(most: f64) -> Vec<f64> {
    if !(most.is_finite() && most > 0.0) {
        return vec![0.0, 1.0];
    }
    let rough = most / 5.0;
    let scale = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|step| step * scale).find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * scale);
    let count = (most / step - 1e-9).ceil().clamp(1.0, 10.0) as usize;
    (0..=count).map(|index| index as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_hold_the_most() {
        assert_eq!(steps(74.0), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(steps(1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        for most in [1e-9, 0.37, 1.01, 5000.0, 1e12, f64::NAN, f64::INFINITY, 0.0] {
            let steps = steps(most);
            assert!((2..=8).contains(&steps.len()), "{most}: {steps:?}");
            assert!(!most.is_finite() || steps[steps.len() - 1] >= most * 0.999, "{most}: {steps:?}");
        }
    }
}
