//! The charts of a load experiment: rates of work by number of processes, where cores and CPUs end, the law, and how busy each
//! CPU was.

use steady_model::{Machine, Reading};
use steady_render::letters::{capital, count};
use steady_render::units::{percent, short};
use steady_render::{Axis, Chart, Height, Kind, Look, Marks, Scale, Series, Square};
use steady_stats::ScalabilityLaw;

use crate::{CpuUse, LoadRecord, LoadRow, LoadWork};

/// Larger rates are none of any machine's, and an axis of them would have no ticks.
const MOST_DRAWN: f64 = 1e200;

/// One number of processes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rate {
    /// How many processes.
    procs: f64,
    /// Work per unit of CPU time.
    per_cpu: f64,
    /// Work per unit of wall time.
    per_wall: f64,
    /// Work of all together per unit of wall time.
    throughput: f64,
}

/// All of them, in units that suit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates {
    /// The points by number of processes: at least two.
    points: Vec<Rate>,
    /// The unit of time: `ms` or `s`.
    pub(super) per: &'static str,
    /// How many units of work are counted as one: 1, a thousand, ...
    size: f64,
    /// What the rates are multiplied by, from work per second.
    scale: f64,
    /// The unit of work.
    unit: &'static str,
    /// Numbers of processes at which something of the machine ends, in words.
    marks: Vec<(f64, String)>,
    /// Whether the axis of numbers of processes goes by factors.
    logarithmic: bool,
}

impl Rates {
    /// The rates of a record; none with fewer than two points that can be drawn.
    pub(super) fn of(record: &LoadRecord) -> Option<Self> {
        let (per, seconds) = match record.plan.work {
            LoadWork::Command { .. } => ("s", 1.0),
            LoadWork::Hash { .. } | LoadWork::Sum { .. } => ("ms", 1e-3),
        };
        let drawable = |rate: &Rate| {
            [rate.per_cpu, rate.per_wall, rate.throughput].iter().all(|one| (0.0..=MOST_DRAWN).contains(one))
        };
        let rates = |scale: f64| {
            let points = record.points().into_iter().map(|point| Rate {
                procs: f64::from(point.procs),
                per_cpu: point.figures.work_per_cpu_second * scale,
                per_wall: point.figures.work_per_wall_second * scale,
                throughput: point.figures.throughput_per_second * scale,
            });
            points.filter(drawable).collect::<Vec<_>>()
        };
        let most = rates(seconds).iter().map(|rate| rate.per_cpu.max(rate.per_wall)).fold(0.0, f64::max);
        let size = [1e9, 1e6, 1e3].into_iter().find(|size| most >= *size * 10.0).unwrap_or(1.0);
        let points = rates(seconds / size);
        let logarithmic = by_factors(&points);
        let marks = marks(&record.machine);
        let unit = record.unit;
        (points.len() > 1).then_some(Rates { points, per, size, scale: seconds / size, unit, marks, logarithmic })
    }

    /// What is counted, at the start of a line: `Hashes`, `Million numbers`.
    pub(super) fn what(&self) -> String {
        let many = match self.size {
            size if size >= 1e9 => "Billion ",
            size if size >= 1e6 => "Million ",
            size if size >= 1e3 => "Thousand ",
            _ => return capital(self.unit),
        };
        format!("{many}{}", self.unit)
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
    let counted = |number: usize, one: &str, many: &str| count(number, one, many).replace('\u{a0}', " ");
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

/// The points of the law's curve.
const CURVE: usize = 120;

impl Rates {
    /// What one process gets done.
    pub(super) fn each(&self) -> Chart {
        let per = self.per;
        let line =
            |name: &str, look: Look, value: fn(&Rate) -> f64| self.line(format!("per {name} {per}"), look, value);
        let top = self.points.iter().map(|point| point.per_cpu.max(point.per_wall)).fold(0.0, f64::max);
        let wall = line("wall", Look::Second, |point| point.per_wall);
        let cpu = line("CPU", Look::First, |point| point.per_cpu);
        let label = format!("{} per {per} of one process by number of processes at once", self.what());
        self.chart(label, top, cpu.into_iter().chain(wall).collect())
    }

    /// What all of them get done, and the law that fits.
    pub(super) fn together(&self, law: Option<&ScalabilityLaw>) -> Chart {
        let curve = law.map(|law| self.curve(law)).unwrap_or_default();
        let values = self.points.iter().map(|point| point.throughput).chain(curve.iter().map(|point| point.1));
        let top = values.fold(0.0, f64::max);
        let name = Some("Universal Scalability Law".to_owned());
        let law = (!curve.is_empty()).then_some(Series { name, look: Look::Third, marks: Marks::Line(curve) });
        let measured = self.line("measured".to_owned(), Look::First, |point| point.throughput);
        let label = format!("{} per {} of all processes together", self.what(), self.per);
        self.chart(label, top, law.into_iter().chain(measured).collect())
    }

    /// A line and the dots on it, which have the name.
    fn line(&self, name: String, look: Look, value: fn(&Rate) -> f64) -> [Series; 2] {
        let points: Vec<(f64, f64)> = self.points.iter().map(|point| (point.procs, value(point))).collect();
        let line = Series { name: None, look, marks: Marks::Line(points.clone()) };
        [line, Series { name: Some(name), look, marks: Marks::Dots(points) }]
    }

    fn chart(&self, label: String, top: f64, series: Vec<Series>) -> Chart {
        let (low, high) = self.ends();
        let kind = if self.logarithmic { Kind::Factors } else { Kind::Count };
        let marks = self.marks.iter().filter(|(at, _)| (low..=high).contains(at));
        let edges =
            marks.map(|(at, name)| Series { name: Some(name.clone()), look: Look::Rest, marks: Marks::Down(*at) });
        let scaled = if self.logarithmic { ", in equal factors" } else { "" };
        let note = format!("Left: {} per {}. Below: processes at once{scaled}.", self.what().to_lowercase(), self.per);
        Chart {
            label,
            height: Height::Tall,
            x: Axis::Scale(Scale::new(kind, low, high)),
            y: Axis::Scale(Scale::new(Kind::Number, 0.0, top * 1.05)),
            series: edges.chain(series).collect(),
            note: Some(note),
        }
    }

    /// The fewest and the most processes.
    fn ends(&self) -> (f64, f64) {
        let procs = || self.points.iter().map(|point| point.procs);
        (procs().fold(f64::INFINITY, f64::min), procs().fold(0.0, f64::max))
    }

    /// The law's throughput along the axis.
    fn curve(&self, law: &ScalabilityLaw) -> Vec<(f64, f64)> {
        let (low, high) = self.ends();
        let at = |index: usize| {
            let share = index as f64 / CURVE as f64;
            let n = if self.logarithmic { low * (high / low).powf(share) } else { low + (high - low) * share };
            let value = law.lambda.value * n / (1.0 + law.sigma.value * (n - 1.0) + law.kappa.value * n * (n - 1.0));
            (n, value * self.scale)
        };
        (0..=CURVE).map(at).filter(|(_, value)| (0.0..=MOST_DRAWN).contains(value)).collect()
    }
}

/// A chart that says why there is none.
pub(super) fn none() -> Chart {
    let axis = || Axis::Scale(Scale::new(Kind::Number, 0.0, 1.0));
    let label = "There is no chart: it takes two numbers of processes".to_owned();
    Chart { label, height: Height::Tall, x: axis(), y: axis(), series: vec![], note: None }
}

/// More CPUs than this are drawn as means of several, and of more rows than this not all are.
const MOST_CPUS: usize = 128;
const MOST_ROWS: usize = 64;
/// Squares beyond this number have no words of their own.
const MOST_TITLES: usize = 600;

/// A share of each CPU's time.
type Share = fn(&CpuUse) -> &Reading<f64>;

/// How full each CPU was in each row, or why that is absent.
pub(super) fn cpus(record: &LoadRecord, what: &str, pick: Share) -> Result<Chart, String> {
    let known = |row: &&LoadRow| row.cpus.iter().any(|cpu| pick(cpu).is_ok());
    let all: Vec<&LoadRow> = record.points().into_iter().map(|point| point.row).filter(known).collect();
    if all.is_empty() {
        let reason = record.rows.iter().flat_map(|row| &row.cpus).find_map(|cpu| pick(cpu).as_ref().err());
        return Err(reason.map_or_else(|| "no CPU was looked at".to_owned(), ToString::to_string));
    }
    let every = all.len().div_ceil(MOST_ROWS);
    let rows: Vec<&LoadRow> = all.into_iter().step_by(every).collect();
    let longest = rows.iter().max_by_key(|row| row.cpus.len()).map_or(&[][..], |row| &row.cpus);
    let group = longest.len().div_ceil(MOST_CPUS).max(1);
    let columns = longest.len().div_ceil(group).max(1);
    let has_words = rows.len() * columns <= MOST_TITLES;
    let square = |at: usize, procs: u32, column: usize, cpus: &[CpuUse]| {
        let share = mean(cpus, pick)?;
        let text = format!("{procs} at once, CPU {}: {}", cpus[0].cpu, percent(share));
        Some(Square { column, row: at, share, text: if has_words { text } else { String::new() } })
    };
    let squares = rows.iter().enumerate().flat_map(|(at, row)| {
        let groups = row.cpus.chunks(group).enumerate();
        groups.filter_map(move |(column, cpus)| square(at, row.procs, column, cpus))
    });
    let series = Series {
        name: Some(format!("{what}: from none to all")),
        look: Look::First,
        marks: Marks::Squares(squares.collect()),
    };
    let mut note = "Below: the CPU's number. Left: processes at once.".to_owned();
    if group > 1 {
        note += &format!(" Each column is the mean of {group} CPUs.");
    }
    if every > 1 {
        note += &format!(" One row in {every} is drawn.");
    }
    let label = format!("{what}, for {} numbers of processes and {} CPUs", rows.len(), longest.len());
    let numbers = longest.chunks(group).map(|cpus| cpus[0].cpu.to_string());
    let procs = rows.iter().map(|row| row.procs.to_string());
    Ok(Chart {
        label,
        height: Height::Tall,
        x: Axis::Names(thinned(numbers.collect(), |name| 0.035 + 0.025 * name.len() as f64)),
        y: Axis::Names(thinned(procs.collect(), |_| 0.085)),
        series: vec![series],
        note: Some(note),
    })
}

/// The mean of the shares that there are.
fn mean(cpus: &[CpuUse], pick: Share) -> Option<f64> {
    let known = cpus.iter().filter_map(|cpu| pick(cpu).as_ref().ok().copied()).filter(|share| share.is_finite());
    let known: Vec<f64> = known.collect();
    (!known.is_empty()).then(|| (known.iter().sum::<f64>() / known.len() as f64).clamp(0.0, 1.0))
}

/// Names, empty where there is no room for them so far from the one before.
fn thinned(names: Vec<String>, apart: impl Fn(&str) -> f64) -> Vec<String> {
    let (all, mut last) = (names.len() as f64, f64::NEG_INFINITY);
    let keep = |(at, name): (usize, String)| {
        let place = at as f64 / all;
        if place - last < apart(&name) {
            return String::new();
        }
        last = place;
        name
    };
    names.into_iter().enumerate().map(keep).collect()
}
