//! Derives the figures of each row, and the scaling over all rows, from the measurements.

use steady_model::{Absent, Nanos, Outcome, Reading};
use steady_stats::descriptive::quantile;
use steady_stats::{Scaling, ScalingPoint, scaling};

use crate::{Figures, LoadRecord, LoadRow, LoadRun, Point};

/// Minimum length of a row. A shorter one depends on the CPU on which each process happens to start, and the CPU time
/// of others is not counted.
const MIN_LENGTH: Nanos = Nanos(200_000_000);
/// From this share of waiting at the smallest number of processes on, the machine was not idle.
const BUSY: f64 = 0.1;

/// Returns the record with figures and scaling. Rows without a successful run have no figures.
#[must_use]
pub fn judged(mut record: LoadRecord) -> LoadRecord {
    let online = record.machine.online.len().max(record.host.cpus_online);
    for row in &mut record.rows {
        row.figures = figures(row, online);
        row.run_count = if row.figures.is_ok() { successful_runs(row).len() } else { 0 };
        row.left_behind = successful_runs(row).iter().map(|run| u64::from(run.left_behind)).sum();
    }
    let points: Vec<ScalingPoint> = record.points().into_iter().map(|point| scaling_point(point, online)).collect();
    let scaling = scaling(&points);
    record.scaling = match (no_places(&record), not_one_cpu(&record)) {
        (Some(why), _) => scaling.map(|scaling| without_places(scaling, why)),
        // What the sum of their CPU use contradicts says nothing about the machine either.
        (None, Some(why)) => scaling.map(|scaling| Scaling { caveats: vec![], ..without_places(scaling, why) }),
        (None, None) => scaling,
    };
    record
}

/// Says why the measurements do not show where processes begin to share cores and CPUs, if something else decided that.
fn no_places(record: &LoadRecord) -> Option<Absent> {
    if record.rows.iter().any(|row| row.procs > 1 && row.elapsed < MIN_LENGTH) {
        let short = "rows shorter than 0.2 s depend on the CPU on which each process happened to start";
        return Some(Absent::because(short));
    }
    let Point { procs, figures, .. } = *record.points().first()?;
    // More processes than CPUs wait for each other.
    if f64::from(procs) > record.machine.usable_cpus() {
        return None;
    }
    let online = record.machine.online.len();
    let why = match (&figures.waiting_ratio, &figures.others_cpus) {
        (Ok(waiting), _) if *waiting >= BUSY => {
            let who = if procs == 1 { "the process" } else { "the processes" };
            format!("{who} already waited for a CPU during {:.0} % of the wall time", waiting * 100.0)
        }
        (Err(_), Ok(others)) if others + f64::from(procs) >= online as f64 + BUSY => {
            format!("other programs already used {others:.1} of {online} CPUs")
        }
        _ => return None,
    };
    Some(Absent::because(format!("at N = {procs}, {why}, so that N = {procs} is no idle baseline")))
}

/// Says why the CPU use of the processes does not show the CPUs, if each process does not use one CPU while it need not
/// wait for one.
fn not_one_cpu(record: &LoadRecord) -> Option<Absent> {
    let Point { procs, figures, .. } = *record.points().first()?;
    let share = figures.cpu_seconds / figures.wall_seconds;
    let waiting = match &figures.waiting_ratio {
        Ok(waiting) => *waiting,
        Err(_) if f64::from(procs) > record.machine.usable_cpus() => return None,
        // On a machine with a free CPU, processes do not wait.
        Err(_) => 0.0,
    };
    let (idle, who) = (1.0 - share - waiting, if procs == 1 { "the process" } else { "a process" });
    let why = if share >= 1.0 + BUSY {
        format!("{who} used {share:.1} CPUs")
    } else if idle >= BUSY {
        format!("{who} neither ran nor waited for a CPU during {:.0} % of its wall time", idle * 100.0)
    } else {
        return None;
    };
    Some(Absent(format!("at N = {procs}, {why}, so that the CPU use does not show how many CPUs there are")))
}

/// Removes the results that depend on where processes ran.
fn without_places(scaling: Scaling, why: Absent) -> Scaling {
    Scaling { cores: Err(why.clone()), logical_cpus: Err(why.clone()), second_thread_gain: Err(why), ..scaling }
}

fn scaling_point(point: Point<'_>, online: usize) -> ScalingPoint {
    ScalingPoint {
        procs: point.procs,
        work_per_cpu_second: point.figures.work_per_cpu_second,
        work_per_wall_second: point.figures.work_per_wall_second,
        taken_cpus: unavailable_cpus(point.row, online).ok(),
    }
}

fn successful_runs(row: &LoadRow) -> Vec<&LoadRun> {
    row.runs.iter().filter(|run| run.outcome == Outcome::Exited(0)).collect()
}

/// Computes the figures of a row; absent if no run succeeded, or if the runs took no time.
fn figures(row: &LoadRow, online: usize) -> Reading<Figures> {
    let runs = successful_runs(row);
    let seconds = |time: fn(&LoadRun) -> Nanos| runs.iter().map(|run| time(run).seconds()).sum::<f64>();
    let (cpu, wall) = (seconds(LoadRun::cpu_time), seconds(|run| run.wall));
    let work = runs.iter().map(|run| run.work as f64).sum::<f64>();
    if runs.is_empty() || cpu <= 0.0 || wall <= 0.0 {
        return Err(Absent::because("no process of this row succeeded"));
    }
    let count = runs.len() as f64;
    let overshoot = overshoot(&runs);
    let of = |q| overshoot.clone().and_then(|all| quantile(&all, q).ok_or_else(|| Absent::because("no run succeeded")));
    Ok(Figures {
        cpu_seconds: cpu / count,
        wall_seconds: wall / count,
        work: work / count,
        work_per_cpu_second: work / cpu,
        work_per_wall_second: work / wall,
        overshoot_median_seconds: of(0.5),
        overshoot_max_seconds: of(1.0),
        user_seconds: seconds(|run| run.user) / count,
        system_seconds: seconds(|run| run.system) / count,
        throughput_per_second: f64::from(row.procs) * work / wall,
        waiting_ratio: waiting(&runs, wall),
        others_cpus: over(&row.others_cpu, row.elapsed.seconds()),
        own_ratio: over(&row.own_cpu, row.elapsed.seconds() * online as f64),
    })
}

/// Absent if it is absent for one run, because the other runs would not be a random sample.
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

/// Number of CPUs that were not available to the row: busy with other processes, or stolen by the hypervisor.
fn unavailable_cpus(row: &LoadRow, online: usize) -> Reading<f64> {
    let others = over(&row.others_cpu, row.elapsed.seconds())?;
    Ok(others + row.activity.steal_ratio.as_ref().map_or(0.0, |ratio| ratio * online as f64))
}

#[cfg(test)]
mod tests;
