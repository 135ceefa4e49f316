//! What a load experiment found, in sentences.

mod machine;
mod scaling;

use steady_model::Ending;
use steady_render::letters::{capital, count, one_line};
use steady_render::units::{TIE, decimals_of, fixed, percent, short, time, time_setting};
use steady_stats::Scaling;

use crate::{LoadRecord, LoadWork, Point};

/// Below this a factor is told as none: 2 %.
const NONE: f64 = 1.02;

/// The answer in words and numbers: paragraphs of sentences, the most important first.
pub(super) fn paragraphs(record: &LoadRecord) -> Vec<Vec<String>> {
    let mut said: Vec<Vec<String>> = Vec::new();
    match &record.scaling {
        Ok(scaling) => {
            said.push(vec![metric(record, scaling)]);
            said.push(scaling::knees(record, scaling));
            said.push(inflation(record, scaling).into_iter().chain(machine::slowdowns(record)).collect());
            said.push(scaling::law(record, scaling));
        }
        Err(absent) => said.push(vec![format!("Nothing to say about scaling: {absent}.")]),
    }
    said.push(overshoot(record));
    said.push(machine::cpus(record).into_iter().chain(others(record)).collect());
    let caveats = record.scaling.iter().flat_map(|scaling| &scaling.caveats);
    said.push(caveats.map(|caveat| format!("{}.", capital(caveat))).collect());
    said.retain(|paragraph| !paragraph.is_empty());
    said
}

/// The same, a sentence each.
pub(super) fn sentences(record: &LoadRecord) -> Vec<String> {
    paragraphs(record).concat()
}

/// The first and the last point: those with the fewest and the most processes.
fn ends(record: &LoadRecord) -> Option<(Point<'_>, Point<'_>)> {
    let points = record.points();
    Some((*points.first()?, *points.last()?))
}

/// A number of processes: `N = 8`.
fn at(procs: u32) -> String {
    format!("N{TIE}={TIE}{procs}")
}

/// A factor with three digits, at most two of them decimals: `1.69`.
fn factor(value: f64) -> String {
    fixed(value, decimals_of(value, 3).min(2))
}

/// To what degree CPU time is the better metric.
fn metric(record: &LoadRecord, scaling: &Scaling) -> String {
    let (cpu, wall) = (scaling.per_cpu_factor, scaling.per_wall_factor);
    let over = ends(record).map_or_else(String::new, |(first, last)| {
        format!(
            "From {} to {}{TIE}{}, w",
            at(first.procs),
            last.procs,
            if last.procs == 1 { "process" } else { "processes" }
        )
    });
    let ranges = format!(
        "{over}ork per CPU second ranges by a factor of {} and work per wall second by {}",
        factor(cpu),
        factor(wall)
    );
    let so = match (cpu < NONE, wall / cpu) {
        (true, more) if more >= NONE => "CPU time is the better metric here, and load hardly moves it".to_owned(),
        (_, more) if more >= NONE => {
            format!(
                "CPU time is the better metric here, but load moves it too, {} times less than wall time",
                factor(more)
            )
        }
        (true, _) => "load moved neither".to_owned(),
        _ => "CPU time is no better a metric than wall time here".to_owned(),
    };
    format!("{ranges}: {so}.")
}

/// CPU time for the same work at the most processes.
fn inflation(record: &LoadRecord, scaling: &Scaling) -> Option<String> {
    let (first, last) = ends(record)?;
    let times = scaling.full_load_inflation;
    let (alone, full) = (at(first.procs), at(last.procs));
    Some(if (1.0 / NONE..NONE).contains(&times) {
        format!("At {full} the same work takes as much CPU time as at {alone}, within 2{TIE}%.")
    } else {
        format!("At {full} the same work takes {} times the CPU time of {alone}.", factor(times))
    })
}

/// CPU time beyond the budget, and what the thread costs that looks at it.
fn overshoot(record: &LoadRecord) -> Vec<String> {
    let LoadWork::Hash { poll, .. } = &record.plan.work else { return vec![] };
    let points = record.points();
    let medians = points.iter().filter_map(|point| point.figures.overshoot_median_seconds.as_ref().ok());
    let worst =
        points.iter().filter_map(|point| Some((point.figures.overshoot_max_seconds.as_ref().ok()?, point.procs)));
    let median = medians.copied().fold(f64::NEG_INFINITY, f64::max);
    let Some((most, procs)) = worst.max_by(|(one, _), (two, _)| one.total_cmp(two)) else { return vec![] };
    let mut said = vec![format!(
        "Processes used more CPU time than their budget by {} in the median of the worst row, by {} at most ({}).",
        time(median),
        time(*most),
        at(procs)
    )];
    if let Some(poll) = poll {
        said.push(match &record.poll_cost {
            Ok(cost) => format!(
                "The thread that sleeps for {} and looks costs {} of a CPU.",
                time_setting(*poll),
                percent(*cost)
            ),
            Err(absent) => format!("What the sleeping thread costs is absent: {absent}."),
        });
    }
    said
}

/// What everything else used meanwhile.
fn others(record: &LoadRecord) -> Option<String> {
    let points = record.points();
    let known = |point: &Point<'_>| Some((*point.figures.others_cpus.as_ref().ok()?, point.procs));
    let all: Vec<(f64, u32)> = points.iter().filter_map(known).collect();
    let Some((most, procs)) = all.iter().copied().max_by(|(one, _), (two, _)| one.total_cmp(two)) else {
        let absent = points.iter().find_map(|point| point.figures.others_cpus.as_ref().err())?;
        return Some(format!("What everything else on the machine used is absent: {absent}."));
    };
    let mean = all.iter().map(|(cpus, _)| cpus).sum::<f64>() / all.len() as f64;
    let own = points.iter().flat_map(|point| point.figures.own_ratio.iter().copied()).fold(f64::NEG_INFINITY, f64::max);
    let itself = if own.is_finite() {
        format!("; steady itself at most {} of the machine", percent(own))
    } else {
        String::new()
    };
    Some(format!(
        "Everything else on the machine kept {} CPUs busy on average and {} at most ({}){itself}.",
        short(mean),
        short(most),
        at(procs)
    ))
}

/// Why rows are missing.
pub(super) fn ended_early(record: &LoadRecord) -> Option<String> {
    let (done, asked) = (record.rows.len(), record.plan.procs.len());
    let rows = || format!("{} of {} were measured", done, count(asked, "row", "rows"));
    match (&record.failure, record.ending) {
        (Some(failure), _) => Some(format!("It ended early: {}; {}.", one_line(failure.trim()), rows())),
        (None, Ending::Interrupted) => Some(format!("Interrupted: {}.", rows())),
        (None, _) if done < asked => Some(format!("It is not complete: {}.", rows())),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests;
