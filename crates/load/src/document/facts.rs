//! What a load experiment did, and the machine that it ran on.

use steady_model::{LoadReport, LoadWork};

use super::sentences::ended_early;
use steady_render::document::Fact;
use steady_render::letters::{cut, one_line};
use steady_render::units::{TIE, duration, short, time_setting};

/// By what factors the rates range, for a list: `CPU 1.68x, wall 3.52x`.
pub(crate) fn summary(report: &LoadReport) -> String {
    match &report.scaling {
        Ok(scaling) if scaling.per_cpu_factor.is_finite() && scaling.per_wall_factor.is_finite() => {
            format!("CPU {:.2}x, wall {:.2}x", scaling.per_cpu_factor, scaling.per_wall_factor)
        }
        _ if report.points.is_empty() => "nothing measured".to_owned(),
        _ => "one row".to_owned(),
    }
}

/// Why rows are missing, and which.
pub(super) fn early(report: &LoadReport) -> Vec<String> {
    let measured = |procs: &&u32| report.points.iter().any(|point| point.procs == **procs);
    let missing = report.record.plan.procs.iter().filter(|procs| !measured(procs));
    let missing = list(&missing.map(|procs| *procs as usize).collect::<Vec<_>>()).replace(',', ", ");
    let which = (!missing.is_empty()).then(|| format!("Not measured: N = {}.", cut(&missing, 60)));
    ended_early(report).into_iter().chain(which).collect()
}

/// What each process does: the heading of the table.
pub(super) fn each_process(report: &LoadReport) -> String {
    match &report.record.plan.work {
        LoadWork::Hash { cpu_time, poll } => {
            let how =
                poll.map_or_else(String::new, |every| format!("; a thread of it looks every {}", time_setting(every)));
            format!("Each process hashes until it has used {} of CPU time{how}", time_setting(*cpu_time))
        }
        LoadWork::Sum { work } => format!("Each process sums {} random numbers", thousands(*work)),
        LoadWork::Command { command, window } => {
            let name = steady_render::letters::cut(&one_line(&command.name), 40);
            format!("Each place runs '{name}' again and again for {}", time_setting(*window))
        }
    }
}

/// The machine, and how long it took.
pub(super) fn facts(report: &LoadReport) -> Vec<Fact> {
    let (record, machine) = (&report.record, &report.record.machine);
    let mut lines = Vec::new();
    let cores = match (machine.core_count(), machine.threads_per_core()) {
        (Ok(cores), Ok(1)) => format!("{cores}, with one thread each"),
        (Ok(cores), Ok(threads)) => format!("{cores}, with up to {threads} threads each"),
        (Err(absent), _) | (_, Err(absent)) => format!("absent: {absent}"),
    };
    lines.push(Fact::new("cores", cores));
    let offline = match &machine.offline {
        Ok(cpus) if cpus.is_empty() => String::new(),
        Ok(cpus) => format!("; {} switched off", list(cpus)),
        Err(_) => String::new(),
    };
    let (allowed, online) = (list(&machine.allowed), machine.online.len());
    lines.push(Fact::new(
        "CPUs",
        format!("{} of {online} online may be used: {allowed}{offline}", machine.allowed.len()),
    ));
    lines.extend(
        machine.kinds.iter().map(|(name, cpus)| Fact::new("kind", format!("{}: {}", one_line(name), list(cpus)))),
    );
    match &machine.quota {
        Ok(Some(quota)) => lines.push(Fact::new("quota", format!("{}{TIE}CPUs", short(quota.cpus())))),
        Ok(None) => {}
        Err(absent) => lines.push(Fact::new("quota", format!("absent: {absent}"))),
    }
    lines.push(Fact::new("took", duration(record.elapsed)));
    lines
}

/// A number with its thousands apart.
fn thousands(number: u64) -> String {
    usize::try_from(number).map_or_else(|_| number.to_string(), steady_render::units::thousands)
}

/// Numbers as the kernel lists CPUs: `0-3,8`.
pub(super) fn list(cpus: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*cpu) => *last = *cpu,
            _ => parts.push((*cpu, *cpu)),
        }
    }
    let part = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_the_kernel_does() {
        assert_eq!(list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[usize::MAX, 3]), format!("{},3", usize::MAX));
    }
}
