//! The charts of a load experiment: work rates by number of processes, with the numbers of cores and CPUs and the
//! fitted law; and the use of each CPU.

use steady_model::{Machine, Reading};
use steady_render::letters::{capital, count};
use steady_render::units::{percent, short};
use steady_render::{Axis, Chart, Height, Kind, Look, Marks, Scale, Series, Square};
use steady_stats::ScalabilityLaw;

use crate::{CpuUse, LoadRecord, LoadRow, LoadTable, LoadWork, processes};

/// Maximum rate that is shown; the axis cannot have ticks for larger ones.
const MAX_RATE: f64 = 1e200;

/// The rates at one number of processes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rate {
    /// Number of concurrent processes.
    procs: f64,
    /// Work per unit of CPU time.
    per_cpu: f64,
    /// Work per unit of wall time.
    per_wall: f64,
    /// Work of all processes per unit of wall time.
    throughput: f64,
}

/// The rates at all numbers of processes, in suitable units.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates {
    /// At least two points, by number of processes.
    points: Vec<Rate>,
    /// The unit of time: `ms` or `s`.
    pub(super) per: &'static str,
    /// Unit of the work on the axis: 1, a thousand, a million or a billion.
    size: f64,
    /// Factor from work per second to the unit of the rates.
    scale: f64,
    /// Name of the unit of work.
    unit: String,
    /// Numbers of processes at which cores, CPUs or the quota are all in use, with their names.
    marks: Vec<(f64, String)>,
    /// Whether the x axis is logarithmic.
    logarithmic: bool,
}

impl Rates {
    /// Returns the rates of a record; `None` with fewer than two points that can be shown.
    pub(super) fn of(record: &LoadRecord) -> Option<Self> {
        let per = match record.plan.work {
            LoadWork::Command { .. } => "s",
            LoadWork::Hash { .. } | LoadWork::Sum { .. } => "ms",
        };
        let points = record.points().into_iter().map(|point| Rate {
            procs: f64::from(point.procs),
            per_cpu: point.figures.work_per_cpu_second,
            per_wall: point.figures.work_per_wall_second,
            throughput: point.figures.throughput_per_second,
        });
        Rates::new(points.collect(), per, record.unit, marks(&record.machine))
    }

    /// Returns the rates of a table; `None` with fewer than two points that can be shown.
    pub(super) fn of_table(table: &LoadTable) -> Option<Self> {
        let points = table.rows.iter().map(|row| Rate {
            procs: f64::from(row.procs),
            per_cpu: row.work_per_cpu_second,
            per_wall: row.work_per_wall_second,
            throughput: row.throughput_per_second,
        });
        let points: Vec<Rate> = points.collect();
        let per = if points.iter().any(|rate| rate.per_cpu >= 1e3) { "ms" } else { "s" };
        let mark = |number: &Reading<u32>, one: &str, many: &str| {
            let number = *number.as_ref().ok()?;
            Some((f64::from(number), count(number as usize, one, many).replace('\u{a0}', " ")))
        };
        let marks = [mark(&table.cores, "core", "cores"), mark(&table.logical_cpus, "logical CPU", "logical CPUs")];
        let mut marks: Vec<(f64, String)> = marks.into_iter().flatten().collect();
        marks.dedup_by(|one, two| one.0 == two.0);
        Rates::new(points, per, &table.unit, marks)
    }

    /// Returns the rates of these points, whose rates are per second, in suitable units.
    fn new(points: Vec<Rate>, per: &'static str, unit: &str, marks: Vec<(f64, String)>) -> Option<Self> {
        let seconds = if per == "ms" { 1e-3 } else { 1.0 };
        let drawable = |rate: &Rate| {
            [rate.per_cpu, rate.per_wall, rate.throughput].iter().all(|one| (0.0..=MAX_RATE).contains(one))
        };
        let rates = |scale: f64| {
            let scaled = points.iter().map(|rate| Rate {
                procs: rate.procs,
                per_cpu: rate.per_cpu * scale,
                per_wall: rate.per_wall * scale,
                throughput: rate.throughput * scale,
            });
            scaled.filter(drawable).collect::<Vec<_>>()
        };
        let most = rates(seconds).iter().map(|rate| rate.per_cpu.max(rate.per_wall)).fold(0.0, f64::max);
        let size = [1e9, 1e6, 1e3].into_iter().find(|size| most >= *size * 10.0).unwrap_or(1.0);
        let points = rates(seconds / size);
        let logarithmic = suits_logarithmic_axis(&points);
        let unit = unit.to_owned();
        (points.len() > 1).then_some(Rates { points, per, size, scale: seconds / size, unit, marks, logarithmic })
    }

    /// Returns the unit of the work, capitalised: `Hashes`, `Million numbers`.
    pub(super) fn what(&self) -> String {
        let many = match self.size {
            size if size >= 1e9 => "Billion ",
            size if size >= 1e6 => "Million ",
            size if size >= 1e3 => "Thousand ",
            _ => return capital(&self.unit),
        };
        format!("{many}{}", self.unit)
    }
}

/// Returns whether the steps between numbers of processes differ so much that a logarithmic axis suits them.
fn suits_logarithmic_axis(points: &[Rate]) -> bool {
    const UNLIKE: f64 = 4.0;
    let gaps = || points.windows(2).map(|pair| pair[1].procs - pair[0].procs);
    gaps().fold(0.0, f64::max) >= UNLIKE * gaps().fold(f64::INFINITY, f64::min)
}

/// Returns the numbers of processes at which all cores, all logical CPUs and the quota are in use.
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
        marks.push((usable, format!("a quota of {} {}", short(usable), if usable == 1.0 { "CPU" } else { "CPUs" })));
    }
    marks
}

/// Number of points of the curve of the law.
const CURVE_POINTS: usize = 120;

impl Rates {
    /// Returns the chart of the work of one process.
    pub(super) fn each(&self) -> Chart {
        let per = self.per;
        let line =
            |name: &str, look: Look, value: fn(&Rate) -> f64| self.line(format!("per {name} {per}"), look, value);
        let top = self.points.iter().map(|point| point.per_cpu.max(point.per_wall)).fold(0.0, f64::max);
        let wall = line("wall", Look::Second, |point| point.per_wall);
        let cpu = line("CPU", Look::First, |point| point.per_cpu);
        let label = format!("{} per {per} of one process by number of concurrent processes", self.what());
        self.chart(label, top, cpu.into_iter().chain(wall).collect())
    }

    /// Returns the chart of the work of all processes, with the fitted law.
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

    /// Returns a line and its dots; only the dots have the name in the legend.
    fn line(&self, name: String, look: Look, value: fn(&Rate) -> f64) -> [Series; 2] {
        let points: Vec<(f64, f64)> = self.points.iter().map(|point| (point.procs, value(point))).collect();
        let line = Series { name: None, look, marks: Marks::Line(points.clone()) };
        [line, Series { name: Some(name), look, marks: Marks::Dots(points) }]
    }

    fn chart(&self, label: String, top: f64, series: Vec<Series>) -> Chart {
        let (low, high) = self.range();
        let kind = if self.logarithmic { Kind::Factors } else { Kind::Count };
        let looks = [Look::Rest, Look::Third, Look::Second];
        let marks = self.marks.iter().zip(looks).filter(|((at, _), _)| (low..=high).contains(at));
        let edges = marks.map(|((at, name), look)| Series { name: Some(name.clone()), look, marks: Marks::Down(*at) });
        let scale = if self.logarithmic { " (log scale)" } else { "" };
        let note =
            format!("x axis: concurrent processes{scale}. y axis: {} per {}.", self.what().to_lowercase(), self.per);
        Chart {
            label,
            height: Height::Tall,
            x: Axis::Scale(Scale::new(kind, low, high)),
            y: Axis::Scale(Scale::new(Kind::Number, 0.0, top * 1.05)),
            series: edges.chain(series).collect(),
            note: Some(note),
        }
    }

    /// Returns the smallest and the largest number of processes.
    fn range(&self) -> (f64, f64) {
        let procs = || self.points.iter().map(|point| point.procs);
        (procs().fold(f64::INFINITY, f64::min), procs().fold(0.0, f64::max))
    }

    /// Returns the throughput by the law, along the x axis.
    fn curve(&self, law: &ScalabilityLaw) -> Vec<(f64, f64)> {
        let (low, high) = self.range();
        let at = |index: usize| {
            let share = index as f64 / CURVE_POINTS as f64;
            let n = if self.logarithmic { low * (high / low).powf(share) } else { low + (high - low) * share };
            let value = law.lambda.value * n / (1.0 + law.sigma.value * (n - 1.0) + law.kappa.value * n * (n - 1.0));
            (n, value * self.scale)
        };
        (0..=CURVE_POINTS).map(at).filter(|(_, value)| (0.0..=MAX_RATE).contains(value)).collect()
    }
}

/// Returns an empty chart whose label says why it is empty.
pub(super) fn none() -> Chart {
    let axis = || Axis::Scale(Scale::new(Kind::Number, 0.0, 1.0));
    let label = "There is no chart: it needs at least two numbers of processes".to_owned();
    Chart { label, height: Height::Tall, x: axis(), y: axis(), series: vec![], note: None }
}

/// Maximum numbers of columns and rows. With more CPUs, each column is the mean of several; with more rows, some are
/// left out.
const MAX_COLUMNS: usize = 128;
const MAX_ROWS: usize = 64;
/// Maximum number of squares with a text of their own.
const MAX_TITLES: usize = 600;

/// Picks a share of a CPU's time.
type Share = fn(&CpuUse) -> &Reading<f64>;

/// Returns the chart of a share for each CPU in each row, or why there is none.
pub(super) fn cpus(record: &LoadRecord, what: &str, pick: Share) -> Result<Chart, String> {
    let known = |row: &&LoadRow| row.cpus.iter().any(|cpu| pick(cpu).is_ok());
    let all: Vec<&LoadRow> = record.points().into_iter().map(|point| point.row).filter(known).collect();
    if all.is_empty() {
        let reason = record.rows.iter().flat_map(|row| &row.cpus).find_map(|cpu| pick(cpu).as_ref().err());
        return Err(reason.map_or_else(|| "no CPU was sampled".to_owned(), ToString::to_string));
    }
    let every = all.len().div_ceil(MAX_ROWS);
    let rows: Vec<&LoadRow> = all.into_iter().step_by(every).collect();
    let longest = rows.iter().max_by_key(|row| row.cpus.len()).map_or(&[][..], |row| &row.cpus);
    let group = longest.len().div_ceil(MAX_COLUMNS).max(1);
    let columns = longest.len().div_ceil(group).max(1);
    let has_words = rows.len() * columns <= MAX_TITLES;
    let square = |at: usize, procs: u32, column: usize, cpus: &[CpuUse]| {
        let share = mean(cpus, pick)?;
        let text = format!("{}, CPU {}: {}", processes(&procs), cpus[0].cpu, percent(share));
        Some(Square { column, row: at, share, text: if has_words { text } else { String::new() } })
    };
    let squares = rows.iter().enumerate().flat_map(|(at, row)| {
        let groups = row.cpus.chunks(group).enumerate();
        groups.filter_map(move |(column, cpus)| square(at, row.procs, column, cpus))
    });
    let series = Series {
        name: Some(format!("{what}, from 0 to 100 %")),
        look: Look::First,
        marks: Marks::Squares(squares.collect()),
    };
    let mut note = "x axis: number of the CPU. y axis: concurrent processes.".to_owned();
    if group > 1 {
        note += &format!(" Each column is the mean of {group} CPUs.");
    }
    if every > 1 {
        note += &format!(" One row in {every} is shown.");
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

/// Returns the mean of the known shares.
fn mean(cpus: &[CpuUse], pick: Share) -> Option<f64> {
    let known = cpus.iter().filter_map(|cpu| pick(cpu).as_ref().ok().copied()).filter(|share| share.is_finite());
    let known: Vec<f64> = known.collect();
    (!known.is_empty()).then(|| (known.iter().sum::<f64>() / known.len() as f64).clamp(0.0, 1.0))
}

/// Blanks the names that are too close to the previous one.
fn thinned(names: Vec<String>, apart: impl Fn(&str) -> f64) -> Vec<String> {
    let (all, mut last) = (names.len() as f64, f64::NEG_INFINITY);
    let visible = |(at, name): (usize, String)| {
        let place = at as f64 / all;
        if place - last < apart(&name) {
            return String::new();
        }
        last = place;
        name
    };
    names.into_iter().enumerate().map(visible).collect()
}
