//! What a reader must know beside the figures.

use steady_model::{Cost, CostsReport, Ending, Probe};

use super::measured;
use crate::units::{TIE, duration, percent, thousands};
use crate::words::one_line;

/// From this share of a probe's repetitions on, those set apart are told of it by itself.
const MANY: f64 = 0.1;

/// More names than this are counted instead.
const NAMES: usize = 4;

/// What is to be known of single probes, a sentence each; what is to be known of several is said once.
pub(crate) fn notes(report: &CostsReport) -> Vec<String> {
    let sweep = report.record.plan.sweep;
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for cost in measured(report) {
        let at = if sweep { format!(" at {} rounds", count(cost.loops)) } else { String::new() };
        let name = format!("{}{at}", cost.probe.name());
        for text in cost.notes.iter().map(|note| one_line(note)) {
            match said.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(name.clone()),
                None => said.push((text, vec![name.clone()])),
            }
        }
    }
    let of_probes = said.into_iter().map(|(text, names)| format!("{}: {text}", together(&names)));
    // The tables of a sweep have a column for it.
    let disturbed = if sweep { vec![] } else { disturbed(report) };
    disturbed.into_iter().chain(of_probes).collect()
}

/// Names as one.
fn together(names: &[String]) -> String {
    if names.len() <= NAMES {
        return names.join(", ");
    }
    format!("{} and {} more", names[..NAMES - 1].join(", "), names.len() - NAMES + 1)
}

/// Which probes' repetitions others disturbed, where it was much.
fn disturbed(report: &CostsReport) -> Vec<String> {
    let all: Vec<&str> = measured(report).filter(|cost| cost.all_disturbed).map(|cost| cost.probe.name()).collect();
    let share = |cost: &Cost| cost.set_apart as f64 / (cost.repetitions + cost.set_apart).max(1) as f64;
    let many = measured(report).filter(|cost| share(cost) >= MANY);
    let many: Vec<String> = many.map(|cost| format!("{}{TIE}{}", cost.probe.name(), percent(share(cost)))).collect();
    let mut said = Vec::new();
    if !many.is_empty() {
        let which = many.join(", ");
        said.push(format!("Set apart, where it is a tenth of the repetitions or more: {which}."));
    }
    if !all.is_empty() {
        said.push(format!("Disturbed in nearly every repetition, so that none is set apart: {}.", all.join(", ")));
    }
    said
}

/// How it was measured, and where: a label and what belongs to it.
pub(crate) fn facts(report: &CostsReport) -> Vec<(&'static str, String)> {
    let record = &report.record;
    let (cpu, other) = &record.plan.cpus;
    let other = match other {
        Ok(other) => format!("; the other on CPU{TIE}{other}, for what needs two"),
        Err(absent) => format!("; no other: {}", one_line(&absent.0)),
    };
    let mut facts = vec![("affinity", format!("on CPU{TIE}{cpu}{other}"))];
    if measured(report).next().is_some() {
        facts.extend([("counted in", counted_in(report)), ("repetitions", repetitions(report))]);
    }
    facts.push(("took", duration(record.elapsed)));
    facts
}

/// What the costs are counted in.
fn counted_in(report: &CostsReport) -> String {
    let mut wall: Vec<&str> = Vec::new();
    for probe in measured(report).map(|cost| cost.probe).filter(|probe| !probe.costs_cpu_time()) {
        if !wall.contains(&probe.name()) {
            wall.push(probe.name());
        }
    }
    let any = measured(report).any(|cost| cost.probe.costs_cpu_time());
    match (any, wall.is_empty()) {
        (_, true) => "CPU time of all who take part".to_owned(),
        (true, false) => format!("CPU time of all who take part; of {} wall time", wall.join(" and ")),
        (false, false) => "wall time".to_owned(),
    }
}

/// How many there were of each probe, and how many of all were set apart.
fn repetitions(report: &CostsReport) -> String {
    let each = || measured(report).map(|cost| cost.repetitions + cost.set_apart);
    let (least, most) = (each().min().unwrap_or(0), each().max().unwrap_or(0));
    let of_each = if least == most { format!("{most} of each") } else { format!("{least} to {most} of each") };
    let wanted = usize::try_from(report.record.plan.repetitions).unwrap_or(usize::MAX);
    // In a sweep long loops have fewer, as they should.
    let wanted =
        if least < wanted && !report.record.plan.sweep { format!(", of {wanted} asked for") } else { String::new() };
    let (all, apart) = (each().sum::<usize>(), measured(report).map(|cost| cost.set_apart).sum::<usize>());
    let apart = match apart {
        0 => "; none set apart".to_owned(),
        apart => {
            let (apart, all) = (thousands(apart), thousands(all));
            format!("; {apart} of all {all} set apart, for somebody else had the CPU meanwhile")
        }
    };
    format!("{of_each}{wanted}{apart}")
}

/// Why it ended before its time, and what was not measured for it.
pub(crate) fn early(report: &CostsReport) -> Option<String> {
    let record = &report.record;
    if record.ending != Ending::Interrupted {
        return None;
    }
    let told = |probe: &&Probe| !report.costs.iter().any(|(of, _)| of == *probe);
    let missing: Vec<&str> = record.plan.probes.iter().filter(told).map(|probe| probe.name()).collect();
    Some(match missing.as_slice() {
        [] => "It was interrupted.".to_owned(),
        missing => format!("It was interrupted. Not measured: {}.", missing.join(", ")),
    })
}

/// A number of rounds with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    usize::try_from(number).map_or_else(|_| number.to_string(), thousands)
}
