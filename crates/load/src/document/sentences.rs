//! The results of a load experiment, in sentences.

pub(super) mod machine;
mod scaling;
pub(super) mod table;

use steady_model::{Ending, Machine, Reading};
use steady_render::letters::{capital, count, numbered, one_line};
use steady_render::units::{TIE, decimals_of, fixed, percent, short, time, time_setting};
use steady_stats::Scaling;

use crate::{LoadRecord, LoadTable, LoadWork, Point};

/// A factor below this is reported as no change: 2 %.
const NO_CHANGE: f64 = 1.02;

/// With fewer runs of a command in a row, the report draws no conclusion about the metrics.
const ENOUGH: usize = 10;

/// What the sentences about scaling are about.
struct Scope<'a> {
    /// The smallest number of processes.
    first: u32,
    /// The largest number of processes.
    last: u32,
    /// The unit of the work.
    unit: &'a str,
    /// What is known about the CPUs apart from the measurements.
    cpus: Cpus<'a>,
    /// The number of rows with figures.
    rows: usize,
    /// The largest number of CPUs that other programs used in a row, as far as known.
    most_others: f64,
}

/// The CPUs of the machine, apart from the measurements.
enum Cpus<'a> {
    /// As the system reports them.
    Reported(&'a Machine),
    /// As a table states them.
    Stated {
        /// The number of logical CPUs.
        logical: &'a Reading<u32>,
        /// The number of cores.
        cores: &'a Reading<u32>,
    },
}

impl<'a> Scope<'a> {
    fn of(record: &'a LoadRecord) -> Option<Self> {
        let points = record.points();
        let (first, last) = (points.first()?.procs, points.last()?.procs);
        let most_others = points.iter().filter_map(|point| point.figures.others_cpus.clone().ok()).fold(0.0, f64::max);
        Some(Scope {
            first,
            last,
            unit: record.unit,
            cpus: Cpus::Reported(&record.machine),
            rows: points.len(),
            most_others,
        })
    }

    fn of_table(table: &'a LoadTable) -> Option<Self> {
        let (first, last) = (table.rows.first()?.procs, table.rows.last()?.procs);
        let cpus = Cpus::Stated { logical: &table.logical_cpus, cores: &table.cores };
        Some(Scope { first, last, unit: &table.unit, cpus, rows: table.rows.len(), most_others: 0.0 })
    }
}

/// Returns the answer as paragraphs of sentences, the most important first.
pub(super) fn paragraphs(record: &LoadRecord) -> Vec<Vec<String>> {
    let mut paragraphs: Vec<Vec<String>> = Vec::new();
    match (&record.scaling, Scope::of(record)) {
        (Ok(scaling), Some(scope)) => {
            let few = few_runs(record);
            let has_few = few.is_some();
            let factors = if has_few { factors(&scope, scaling) + "." } else { metric(&scope, scaling) };
            paragraphs.push(std::iter::once(factors).chain(few).collect());
            // Few runs may show too few or too many cores by chance. That the machine was not idle is no chance.
            paragraphs.push(match has_few {
                true => scaling::no_limits(scaling).into_iter().chain(scaling::reported(&scope)).collect(),
                false => scaling::limits(&scope, scaling),
            });
            let longer = longer(record);
            let slower = std::iter::once(inflation(&scope, scaling)).chain(longer).chain(machine::slowdowns(record));
            paragraphs.push(slower.collect());
            paragraphs.push(scaling::law(&scope, scaling));
        }
        (Err(absent), _) => paragraphs.push(vec![format!("Scaling was not estimated: {absent}.")]),
        (Ok(_), None) => {}
    }
    paragraphs.push(overshoot(record).into_iter().chain(left_behind(record)).collect());
    paragraphs.push(machine::cpus(record).into_iter().chain(others(record)).collect());
    let caveats = record.scaling.iter().flat_map(|scaling| &scaling.caveats);
    paragraphs.push(caveats.map(|caveat| format!("{}.", capital(caveat))).collect());
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// Returns the sentences of the answer.
pub(super) fn sentences(record: &LoadRecord) -> Vec<String> {
    paragraphs(record).concat()
}

/// Formats a number of processes: `N = 8`.
fn at(procs: u32) -> String {
    format!("N{TIE}={TIE}{procs}")
}

/// Formats a factor with three digits, at most two of them decimals: `1.69`.
fn factor(value: f64) -> String {
    fixed(value, decimals_of(value, 3).min(2))
}

/// Says that a row of a command has too few runs for conclusions, and what to do. The report has no intervals of such
/// rows.
fn few_runs(record: &LoadRecord) -> Option<String> {
    let LoadWork::Command { window, .. } = &record.plan.work else { return None };
    let points = record.points();
    let fewest = points.iter().min_by_key(|point| point.row.run_count).filter(|point| point.row.run_count < ENOUGH)?;
    Some(format!(
        "At {}, there {} only {}: too few to distinguish an effect of load from chance, in this and all other factors. \
         Use a longer --window (here {}).",
        at(fewest.procs),
        if fewest.row.run_count == 1 { "was" } else { "were" },
        count(fewest.row.run_count, "run", "runs"),
        time_setting(*window)
    ))
}

/// Says how far load changes CPU time and wall time.
fn factors(scope: &Scope<'_>, scaling: &Scaling) -> String {
    format!(
        "From {} to {}{TIE}concurrent processes, work per CPU second varies by a factor of {} and work per wall second \
         by a factor of {}",
        at(scope.first),
        scope.last,
        factor(scaling.per_cpu_factor),
        factor(scaling.per_wall_factor)
    )
}

/// Says how far load changes CPU time and wall time, and which is the better metric.
fn metric(scope: &Scope<'_>, scaling: &Scaling) -> String {
    let (cpu, wall) = (scaling.per_cpu_factor, scaling.per_wall_factor);
    let ranges = factors(scope, scaling);
    let conclusion = match (cpu < NO_CHANGE, wall / cpu) {
        (true, more) if more >= NO_CHANGE => {
            "CPU time is the better metric here, and load hardly affects it".to_owned()
        }
        (_, more) if more >= NO_CHANGE => "CPU time is the better metric here, although load affects it too".to_owned(),
        (true, _) => "load affects neither".to_owned(),
        _ => "CPU time is not a better metric than wall time here".to_owned(),
    };
    format!("{ranges}: {conclusion}.")
}

/// Compares the CPU time of the same work at the most and the fewest processes.
fn inflation(scope: &Scope<'_>, scaling: &Scaling) -> String {
    let times = scaling.full_load_inflation;
    let (alone, full) = (at(scope.first), at(scope.last));
    if (1.0 / NO_CHANGE..NO_CHANGE).contains(&times) {
        format!("At {full}, the same work takes as much CPU time as at {alone}, within 2{TIE}%.")
    } else {
        format!("At {full}, the same work takes {} times as much CPU time as at {alone}.", factor(times))
    }
}

/// Compares the wall time of the same work at the most and the fewest processes.
fn longer(record: &LoadRecord) -> Option<String> {
    let points = record.points();
    let (first, last) = (points.first()?, points.last()?);
    let times = first.figures.work_per_wall_second / last.figures.work_per_wall_second;
    let what = match &record.plan.work {
        LoadWork::Command { .. } => "a run",
        LoadWork::Hash { .. } | LoadWork::Sum { .. } => "the same work",
    };
    (times.is_finite() && times >= NO_CHANGE).then(|| {
        let many = count(last.procs as usize, "process", "processes");
        format!("With {many}, {what} takes {} times as long (wall time) as with {}.", factor(times), first.procs)
    })
}

/// Says that the command left processes behind, which were killed.
fn left_behind(record: &LoadRecord) -> Option<String> {
    let left: u64 = record.rows.iter().map(|row| row.left_behind).sum();
    (left > 0).then(|| {
        let left = numbered(left, "process", "processes");
        format!("What the command left behind was killed at the end of each run ({left} in all): its work is cut off.")
    })
}

/// Reports the CPU time beyond the limit, and the cost of the polling thread.
fn overshoot(record: &LoadRecord) -> Vec<String> {
    let LoadWork::Hash { poll, .. } = &record.plan.work else { return vec![] };
    let points = record.points();
    let medians = points.iter().filter_map(|point| point.figures.overshoot_median_seconds.as_ref().ok());
    let worst =
        points.iter().filter_map(|point| Some((point.figures.overshoot_max_seconds.as_ref().ok()?, point.procs)));
    let median = medians.copied().fold(f64::NEG_INFINITY, f64::max);
    let Some((most, procs)) = worst.max_by(|(one, _), (two, _)| one.total_cmp(two)) else { return vec![] };
    let mut sentences = vec![format!(
        "Processes exceeded their CPU time limit by {} (median of the worst row), and by {} at most ({}).",
        time(median),
        time(*most),
        at(procs)
    )];
    if let Some(poll) = poll {
        sentences.push(match &record.poll_cost {
            Ok(cost) => format!(
                "The thread that checks the CPU time every {} uses {} of a CPU.",
                time_setting(*poll),
                percent(*cost)
            ),
            Err(absent) => format!("The cost of the thread that checks the CPU time was not measured: {absent}."),
        });
    }
    sentences
}

/// Reports the CPU use of everything else on the machine, and of `steady` itself.
fn others(record: &LoadRecord) -> Option<String> {
    let points = record.points();
    let known = |point: &Point<'_>| Some((*point.figures.others_cpus.as_ref().ok()?, point.procs));
    let all: Vec<(f64, u32)> = points.iter().filter_map(known).collect();
    let Some((most, procs)) = all.iter().copied().max_by(|(one, _), (two, _)| one.total_cmp(two)) else {
        let absent = points.iter().find_map(|point| point.figures.others_cpus.as_ref().err())?;
        return Some(format!("The CPU use of everything else on the machine was not measured: {absent}."));
    };
    let mean = all.iter().map(|(cpus, _)| cpus).sum::<f64>() / all.len() as f64;
    let own = points.iter().flat_map(|point| point.figures.own_ratio.iter().copied()).fold(f64::NEG_INFINITY, f64::max);
    let itself = if own.is_finite() {
        format!("; steady itself used at most {} of the machine", percent(own))
    } else {
        String::new()
    };
    Some(format!(
        "Everything else on the machine used {} on average and {} at most ({}){itself}.",
        count_of(mean),
        count_of(most),
        at(procs)
    ))
}

/// Formats a number of CPUs: `1 CPU`, `1.5 CPUs`.
fn count_of(cpus: f64) -> String {
    let number = short(cpus);
    let unit = if number == "1" { "CPU" } else { "CPUs" };
    format!("{number}{TIE}{unit}")
}

/// Says why rows are missing.
pub(super) fn ended_early(record: &LoadRecord) -> Option<String> {
    let (done, planned) = (record.rows.len(), record.plan.procs.len());
    let verb = if done == 1 { "was" } else { "were" };
    let rows = || format!("{done} of {} {verb} measured", count(planned, "row", "rows"));
    match (&record.failure, record.ending) {
        (Some(failure), _) => Some(format!("The experiment ended early: {}; {}.", one_line(failure.trim()), rows())),
        (None, Ending::Interrupted) => Some(format!("The experiment was interrupted: {}.", rows())),
        (None, _) if done < planned => Some(format!("The experiment is not complete: {}.", rows())),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests;
