//! Notes and facts of the report.

use steady_model::{Ending, Probe};
use steady_render::document::Fact;
use steady_render::letters::{listed, listed_with_more, one_line};
use steady_render::units::{TIE, duration, percent, thousands, time_option};

use crate::record::{Cost, CostsRecord};

/// A note names a probe if at least this share of its repetitions was excluded.
const MANY: f64 = 0.1;

/// A note lists at most this many names.
const NAMES: usize = 4;

/// Notes on single probes, one sentence each. Probes with the same note share one sentence.
pub(super) fn notes(record: &CostsRecord) -> Vec<String> {
    let sweep = record.plan.sweep;
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for cost in record.costs() {
        let at = if sweep { format!(" at {} rounds", count(cost.loops)) } else { String::new() };
        let name = format!("{}{at}", cost.probe.name());
        for text in cost.notes.iter().map(|note| one_line(note)) {
            match found.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(name.clone()),
                None => found.push((text, vec![name.clone()])),
            }
        }
    }
    let of_probes = found.into_iter().map(|(text, names)| format!("{}: {text}", together(&names)));
    // The tables of a sweep have a column for disturbed repetitions.
    let disturbed = if sweep { vec![] } else { disturbed(record) };
    disturbed.into_iter().chain(of_probes).collect()
}

/// Joins names; a long list is cut short.
fn together(names: &[String]) -> String {
    if names.len() <= NAMES {
        return names.join(", ");
    }
    listed_with_more(&names[..NAMES - 1], names.len() - NAMES + 1)
}

/// Notes on probes with many disturbed repetitions.
fn disturbed(record: &CostsRecord) -> Vec<String> {
    let all: Vec<&str> = record.costs().filter(|cost| cost.all_disturbed).map(|cost| cost.probe.name()).collect();
    let share = |cost: &Cost| cost.set_apart as f64 / (cost.repetitions + cost.set_apart).max(1) as f64;
    let many = record.costs().filter(|cost| share(cost) >= MANY);
    let many: Vec<String> = many.map(|cost| format!("{}{TIE}{}", cost.probe.name(), percent(share(cost)))).collect();
    let mut notes = Vec::new();
    if !many.is_empty() {
        let which = many.join(", ");
        notes.push(format!("Probes with 10{TIE}% or more of their repetitions excluded: {which}."));
    }
    if !all.is_empty() {
        notes.push(format!("Probes with nearly all repetitions disturbed, so none are excluded: {}.", all.join(", ")));
    }
    notes
}

/// Facts about how and where the costs were measured.
pub(super) fn facts(record: &CostsRecord) -> Vec<Fact> {
    let cpu = record.affinity.cpu;
    let other = match &record.affinity.other_cpu {
        Ok(other) => format!("; also CPU{TIE}{other}, for probes that need two CPUs"),
        Err(absent) => format!("; no second CPU: {}", one_line(&absent.0)),
    };
    let mut facts = vec![Fact::new("affinity", format!("CPU{TIE}{cpu}{other}"))];
    if record.costs().next().is_some() {
        facts.extend([Fact::new("clock", clock(record)), Fact::new("repetitions", repetitions(record))]);
    }
    facts.push(Fact::new("took", duration(record.elapsed_seconds)));
    facts.push(Fact::new("seed", record.seed.to_string()));
    facts
}

/// Whether costs are CPU time or wall time.
fn clock(record: &CostsRecord) -> String {
    let mut wall: Vec<&str> = Vec::new();
    for probe in record.costs().map(|cost| cost.probe).filter(|probe| !probe.costs_cpu_time()) {
        if !wall.contains(&probe.name()) {
            wall.push(probe.name());
        }
    }
    let any = record.costs().any(|cost| cost.probe.costs_cpu_time());
    match (any, wall.is_empty()) {
        (_, true) => "CPU time of all processes that take part".to_owned(),
        (true, false) => format!("CPU time of all processes that take part; wall time for {}", listed(&wall)),
        (false, false) => "wall time".to_owned(),
    }
}

/// Number of repetitions per probe, and how many of all were excluded.
fn repetitions(record: &CostsRecord) -> String {
    let each = || record.costs().map(|cost| cost.repetitions + cost.set_apart);
    let (least, most) = (each().min().unwrap_or(0), each().max().unwrap_or(0));
    let of_each = if least == most { format!("{most} per probe") } else { format!("{least} to {most} per probe") };
    let wanted = usize::try_from(record.plan.repetitions).unwrap_or(usize::MAX);
    // In a sweep, long loops have fewer repetitions by design.
    let wanted = if least < wanted && !record.plan.sweep { format!(", of {wanted} requested") } else { String::new() };
    let (all, apart) = (each().sum::<usize>(), record.costs().map(|cost| cost.set_apart).sum::<usize>());
    let apart = match apart {
        0 => "; none excluded".to_owned(),
        apart => {
            let (apart, all) = (thousands(apart), thousands(all));
            format!("; {apart} of {all} excluded, because other processes used the CPU during them")
        }
    };
    format!("{of_each}{wanted}{apart}")
}

/// Says that the run was interrupted, and what was not measured.
pub(super) fn early(record: &CostsRecord) -> Option<String> {
    if record.ending != Ending::Interrupted {
        return None;
    }
    let is_missing = |probe: &&Probe| !record.probes.iter().any(|one| one.probe == **probe);
    let missing: Vec<&str> = record.plan.probes.iter().filter(is_missing).map(|probe| probe.name()).collect();
    Some(match missing.as_slice() {
        [] => "Interrupted.".to_owned(),
        missing => format!("Interrupted. Not measured: {}.", missing.join(", ")),
    })
}

/// A number of rounds with thousands separators.
pub(super) fn count(number: u64) -> String {
    usize::try_from(number).map_or_else(|_| number.to_string(), thousands)
}

/// Command line that measures the same probes again. None of its words need quotes in a shell.
pub(super) fn repeat(record: &CostsRecord) -> String {
    let plan = &record.plan;
    let mut words = vec!["steady costs".to_owned()];
    if plan.sweep {
        words.push("--sweep-loops".to_owned());
    }
    if plan.as_published {
        words.push("--as-published".to_owned());
    } else if plan.sweep || plan.probes != Probe::USUAL {
        let names: Vec<&str> = plan.probes.iter().map(|probe| probe.name()).collect();
        words.push(format!("--only {}", names.join(",")));
    }
    words.push(format!("--repetitions {} --budget {}", plan.repetitions, time_option(plan.budget_seconds)));
    words.push(format!("--cpu {} --seed {}", record.affinity.cpu, record.seed));
    words.join(" ")
}
