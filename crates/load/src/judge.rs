//! From what was measured to what is shown: each row in figures, and what they say together.

use steady_model::{Absent, Nanos, Outcome, Reading};
use steady_stats::descriptive::quantile;
use steady_stats::{Scaling, ScalingPoint, scaling};

use crate::{Figures, LoadRecord, LoadRow, LoadRun, Point};

/// In a shorter row much hangs on which CPU each process happened to begin on, and what others used is not counted.
const SHORTEST: Nanos = Nanos(200_000_000);

/// The record with what follows from what was measured. Rows in which nothing ended well have no figures.
#[must_use]
pub fn judged(mut record: LoadRecord) -> LoadRecord {
    let online = record.machine.online.len().max(record.host.cpus_online);
    for row in &mut record.rows {
        row.figures = figures(row, online);
        row.run_count = if row.figures.is_ok() { ended_well(row).len() } else { 0 };
    }
    let points: Vec<ScalingPoint> = record.points().into_iter().map(|point| scaling_point(point, online)).collect();
    let short = record.rows.iter().any(|row| row.procs > 1 && row.elapsed < SHORTEST);
    let scaling = scaling(&points);
    record.scaling = if short { scaling.map(without_places) } else { scaling };
    record
}

/// Without what follows from where processes ran: the rows were too short for it.
fn without_places(scaling: Scaling) -> Scaling {
    let short = || Absent::because("rows shorter than 0.2 s hang on which CPU each process happened to begin on");
    Scaling { cores: Err(short()), logical_cpus: Err(short()), second_thread_gain: Err(short()), ..scaling }
}

fn scaling_point(point: Point<'_>, online: usize) -> ScalingPoint {
    ScalingPoint {
        procs: point.procs,
        work_per_cpu_second: point.figures.work_per_cpu_second,
        work_per_wall_second: point.figures.work_per_wall_second,
        taken_cpus: taken(point.row, online).ok(),
    }
}

fn ended_well(row: &LoadRow) -> Vec<&LoadRun> {
    row.runs.iter().filter(|run| run.outcome == Outcome::Exited(0)).collect()
}

/// One row in figures; absent if no run of it ended well, or took no time.
fn figures(row: &LoadRow, online: usize) -> Reading<Figures> {
    let runs = ended_well(row);
    let seconds = |time: fn(&LoadRun) -> Nanos| runs.iter().map(|run| time(run).seconds()).sum::<f64>();
    let (cpu, wall) = (seconds(LoadRun::cpu_time), seconds(|run| run.wall));
    let work = runs.iter().map(|run| run.work as f64).sum::<f64>();
    if runs.is_empty() || cpu <= 0.0 || wall <= 0.0 {
        return Err(Absent::because("no process of this row came to its end"));
    }
    let count = runs.len() as f64;
    let overshoot = overshoot(&runs);
    let of =
        |q| overshoot.clone().and_then(|all| quantile(&all, q).ok_or_else(|| Absent::because("no run ended well")));
    Ok(Figures {
        cpu_seconds: cpu / count,
        wall_seconds: wall / count,
        work: work / count,
        work_per_cpu_second: work / cpu,
        work_per_wall_second: work / wall,
        overshoot_median_seconds: of(0.5),
        overshoot_max_seconds: of(1.0),
        user_seconds: seconds(|run| run.user) / count,
        throughput_per_second: f64::from(row.procs) * work / wall,
        waiting_ratio: waiting(&runs, wall),
        others_cpus: over(&row.others_cpu, row.elapsed.seconds()),
        own_ratio: over(&row.own_cpu, row.elapsed.seconds() * online as f64),
    })
}

/// Absent as soon as one run's is: the others would be no fair sample.
fn waiting(runs: &[&LoadRun], wall: f64) -> Reading<f64> {
    let waited = runs.iter().map(|run| Ok(run.run_delay.clone()?.seconds())).sum::<Reading<f64>>()?;
    Ok(waited / wall)
}

fn overshoot(runs: &[&LoadRun]) -> Reading<Vec<f64>> {
    runs.iter().map(|run| Ok(run.overshoot.clone()?.seconds())).collect()
}

fn over(time: &Reading<Nanos>, seconds: f64) -> Reading<f64> {
    let time = time.clone()?.seconds();
    if seconds > 0.0 { Ok(time / seconds) } else { Err(Absent::because("the row took no time")) }
}

/// How many CPUs others kept busy or the hypervisor gave away: what the row's processes could not have had.
fn taken(row: &LoadRow, online: usize) -> Reading<f64> {
    let others = over(&row.others_cpu, row.elapsed.seconds())?;
    Ok(others + row.activity.steal_ratio.as_ref().map_or(0.0, |ratio| ratio * online as f64))
}

#[cfg(test)]
mod tests;
