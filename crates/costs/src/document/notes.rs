//! What a reader must know next to the figures.

use steady_model::{Ending, Nanos, Probe};
use steady_render::document::Fact;
use steady_render::letters::one_line;
use steady_render::units::{TIE, duration, percent, thousands};

use crate::record::{Cost, CostsRecord};

/// From this share of a probe's repetitions on, a note names the probe as disturbed.
const MANY: f64 = 0.1;

/// More names than this are counted instead.
const NAMES: usize = 4;

/// What a reader must know of single probes, a sentence each. If several have the same note, it is written once.
pub(super) fn notes(record: &CostsRecord) -> Vec<String> {
    let sweep = record.plan.sweep;
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for cost in record.costs() {
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
    let disturbed = if sweep { vec![] } else { disturbed(record) };
    disturbed.into_iter().chain(of_probes).collect()
}

/// Names as one.
fn together(names: &[String]) -> String {
    if names.len() <= NAMES {
        return names.join(", ");
    }
    format!("{} and {} more", names[..NAMES - 1].join(", "), names.len() - NAMES + 1)
}

/// The probes of which many repetitions were disturbed.
fn disturbed(record: &CostsRecord) -> Vec<String> {
    let all: Vec<&str> = record.costs().filter(|cost| cost.all_disturbed).map(|cost| cost.probe.name()).collect();
    let share = |cost: &Cost| cost.set_apart as f64 / (cost.repetitions + cost.set_apart).max(1) as f64;
    let many = record.costs().filter(|cost| share(cost) >= MANY);
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

/// How it was measured, and where.
pub(super) fn facts(record: &CostsRecord) -> Vec<Fact> {
    let cpu = record.affinity.cpu;
    let other = match &record.affinity.other_cpu {
        Ok(other) => format!("; the other on CPU{TIE}{other}, for what needs two"),
        Err(absent) => format!("; no other: {}", one_line(&absent.0)),
    };
    let mut facts = vec![Fact::new("affinity", format!("on CPU{TIE}{cpu}{other}"))];
    if record.costs().next().is_some() {
        facts.extend([Fact::new("counted in", counted_in(record)), Fact::new("repetitions", repetitions(record))]);
    }
    facts.push(Fact::new("took", duration(record.elapsed_seconds)));
    facts.push(Fact::new("seed", record.seed.to_string()));
    facts
}

/// What the costs are counted in.
fn counted_in(record: &CostsRecord) -> String {
    let mut wall: Vec<&str> = Vec::new();
    for probe in record.costs().map(|cost| cost.probe).filter(|probe| !probe.costs_cpu_time()) {
        if !wall.contains(&probe.name()) {
            wall.push(probe.name());
        }
    }
    let any = record.costs().any(|cost| cost.probe.costs_cpu_time());
    match (any, wall.is_empty()) {
        (_, true) => "CPU time of all who take part".to_owned(),
        (true, false) => format!("CPU time of all who take part; of {} wall time", wall.join(" and ")),
        (false, false) => "wall time".to_owned(),
    }
}

/// How many there were of each probe, and how many of all were set apart.
fn repetitions(record: &CostsRecord) -> String {
    let each = || record.costs().map(|cost| cost.repetitions + cost.set_apart);
    let (least, most) = (each().min().unwrap_or(0), each().max().unwrap_or(0));
    let of_each = if least == most { format!("{most} of each") } else { format!("{least} to {most} of each") };
    let wanted = usize::try_from(record.plan.repetitions).unwrap_or(usize::MAX);
    // In a sweep long loops have fewer, as they should.
    let wanted = if least < wanted && !record.plan.sweep { format!(", of {wanted} asked for") } else { String::new() };
    let (all, apart) = (each().sum::<usize>(), record.costs().map(|cost| cost.set_apart).sum::<usize>());
    let apart = match apart {
        0 => "; none set apart".to_owned(),
        apart => {
            let (apart, all) = (thousands(apart), thousands(all));
            format!("; {apart} of all {all} set apart, because others had the CPU during them")
        }
    };
    format!("{of_each}{wanted}{apart}")
}

/// Why it ended before its time, and what was not measured for it.
pub(super) fn early(record: &CostsRecord) -> Option<String> {
    if record.ending != Ending::Interrupted {
        return None;
    }
    let is_missing = |probe: &&Probe| !record.probes.iter().any(|one| one.probe == **probe);
    let missing: Vec<&str> = record.plan.probes.iter().filter(is_missing).map(|probe| probe.name()).collect();
    Some(match missing.as_slice() {
        [] => "It was interrupted.".to_owned(),
        missing => format!("It was interrupted. Not measured: {}.", missing.join(", ")),
    })
}

/// A number of rounds with its thousands apart.
pub(super) fn count(number: u64) -> String {
    usize::try_from(number).map_or_else(|_| number.to_string(), thousands)
}

/// The words that would measure the same primitives again: numbers and names that need no quotes in a shell.
pub(super) fn repeat(record: &CostsRecord) -> String {
    let plan = &record.plan;
    let mut words = vec!["steady costs".to_owned()];
    if plan.sweep {
        words.push("--sweep-loops".to_owned());
    }
    if plan.sweep || plan.probes != Probe::USUAL {
        let names: Vec<&str> = plan.probes.iter().map(|probe| probe.name()).collect();
        words.push(format!("--only {}", names.join(",")));
    }
    words.push(format!("--repetitions {} --budget {}", plan.repetitions, option(plan.budget_seconds)));
    words.push(format!("--cpu {} --seed {}", record.affinity.cpu, record.seed));
    words.join(" ")
}

/// A time as options read it: only whole numbers take a unit.
fn option(time: Nanos) -> String {
    let unit = if time.0.is_multiple_of(1_000_000_000) { "s" } else { "" };
    format!("{}{unit}", time.seconds())
}
