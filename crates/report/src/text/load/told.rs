//! What is said about a load experiment in words, the same in every form.

use steady_model::{LoadReport, LoadWork};

use super::list;
use crate::units::{TIE, duration, short, time_setting};
use crate::words::load::ended_early;
use crate::words::{cut, one_line};

/// The heading of where the processes ran.
pub(crate) const MEANWHILE: &str = "Where they ran, and what they waited for";
/// The heading of the rulers' readings.
pub(crate) const RULERS: &str = "Slowdown of each resource meanwhile (1: the best that this host has shown)";

/// The answer, a sentence each; reasons and names in them may be anybody's.
pub(crate) fn sentences(report: &LoadReport) -> Vec<String> {
    crate::words::load::sentences(report).iter().map(|sentence| one_line(sentence)).collect()
}

/// By what factors the rates range, for a list: `CPU 1.68x, wall 3.52x`.
pub fn load_summary(report: &LoadReport) -> String {
    match &report.scaling {
        Ok(scaling) if scaling.per_cpu_factor.is_finite() && scaling.per_wall_factor.is_finite() => {
            format!("CPU {:.2}x, wall {:.2}x", scaling.per_cpu_factor, scaling.per_wall_factor)
        }
        _ if report.points.is_empty() => "nothing measured".to_owned(),
        _ => "one row".to_owned(),
    }
}

/// Why rows are missing, and which.
pub(crate) fn early(report: &LoadReport) -> Vec<String> {
    let measured = |procs: &&u32| report.points.iter().any(|point| point.procs == **procs);
    let missing = report.record.plan.procs.iter().filter(|procs| !measured(procs));
    let missing = list(&missing.map(|procs| *procs as usize).collect::<Vec<_>>()).replace(',', ", ");
    let which = (!missing.is_empty()).then(|| format!("Not measured: N = {}.", cut(&missing, 60)));
    ended_early(report).into_iter().chain(which).collect()
}

/// What each process does: the heading of the table.
pub(crate) fn each_process(report: &LoadReport) -> String {
    match &report.record.plan.work {
        LoadWork::Hash { cpu_time, poll } => {
            let how =
                poll.map_or_else(String::new, |every| format!("; a thread of it looks every {}", time_setting(every)));
            format!("Each process hashes until it has used {} of CPU time{how}", time_setting(*cpu_time))
        }
        LoadWork::Sum { work } => format!("Each process sums {} random numbers", thousands(*work)),
        LoadWork::Command { command, window } => {
            let name = crate::words::cut(&one_line(&command.name), 40);
            format!("Each place runs '{name}' again and again for {}", time_setting(*window))
        }
    }
}

/// The machine, and how long it took.
pub(crate) fn facts(report: &LoadReport) -> Vec<(&'static str, String)> {
    let (record, machine) = (&report.record, &report.record.machine);
    let mut lines = Vec::new();
    let cores = match (machine.core_count(), machine.threads_per_core()) {
        (Ok(cores), Ok(1)) => format!("{cores}, with one thread each"),
        (Ok(cores), Ok(threads)) => format!("{cores}, with up to {threads} threads each"),
        (Err(absent), _) | (_, Err(absent)) => format!("absent: {absent}"),
    };
    lines.push(("cores", cores));
    let offline = match &machine.offline {
        Ok(cpus) if cpus.is_empty() => String::new(),
        Ok(cpus) => format!("; {} switched off", list(cpus)),
        Err(_) => String::new(),
    };
    let (allowed, online) = (list(&machine.allowed), machine.online.len());
    lines.push(("CPUs", format!("{} of {online} online may be used: {allowed}{offline}", machine.allowed.len())));
    lines.extend(machine.kinds.iter().map(|(name, cpus)| ("kind", format!("{}: {}", one_line(name), list(cpus)))));
    match &machine.quota {
        Ok(Some(quota)) => lines.push(("quota", format!("{}{TIE}CPUs", short(quota.cpus())))),
        Ok(None) => {}
        Err(absent) => lines.push(("quota", format!("absent: {absent}"))),
    }
    lines.push(("took", duration(record.elapsed)));
    lines
}

/// A number with its thousands apart.
fn thousands(number: u64) -> String {
    usize::try_from(number).map_or_else(|_| number.to_string(), crate::units::thousands)
}
