//! Facts of the report: the plan, the command line that repeats it, and the machine.

use steady_model::Seed;

use super::sentences::ended_early;
use crate::{LoadPlan, LoadRecord, LoadWork};
use steady_render::document::Fact;
use steady_render::letters::{cut, one_line};
use steady_render::shell::{line, seconds};
use steady_render::units::{TIE, duration, short, time_setting};

/// The factors by which the rates vary, for a list: `CPU 1.68x, wall 3.52x`.
pub(super) fn summary(record: &LoadRecord) -> String {
    match &record.scaling {
        Ok(scaling) if scaling.per_cpu_factor.is_finite() && scaling.per_wall_factor.is_finite() => {
            format!("CPU {:.2}x, wall {:.2}x", scaling.per_cpu_factor, scaling.per_wall_factor)
        }
        _ if record.points().is_empty() => "nothing measured".to_owned(),
        _ => "one row".to_owned(),
    }
}

/// Says why rows are missing, and which.
pub(super) fn missing_rows(record: &LoadRecord) -> Vec<String> {
    let measured: Vec<u32> = record.points().iter().map(|point| point.procs).collect();
    let missing = record.plan.procs.iter().filter(|procs| !measured.contains(procs));
    let missing = list(&missing.map(|procs| *procs as usize).collect::<Vec<_>>()).replace(',', ", ");
    let which = (!missing.is_empty()).then(|| format!("Not measured: N = {}.", cut(&missing, 60)));
    ended_early(record).into_iter().chain(which).collect()
}

/// Heading of the table: what each process does.
pub(super) fn each_process(record: &LoadRecord) -> String {
    match &record.plan.work {
        LoadWork::Hash { cpu_time, poll } => {
            let how = poll.map_or_else(String::new, |every| {
                format!("; a thread in it checks this every {}", time_setting(every))
            });
            format!("Each process hashes until it has used {} of CPU time{how}", time_setting(*cpu_time))
        }
        LoadWork::Sum { work } => format!("Each process adds {} random numbers", thousands(*work)),
        LoadWork::Command { command, window } => {
            let name = steady_render::letters::cut(&one_line(&command.name), 40);
            format!("Each copy runs '{name}' repeatedly for {}", time_setting(*window))
        }
    }
}

/// Returns the facts about the machine, and how long the experiment took.
pub(super) fn facts(record: &LoadRecord) -> Vec<Fact> {
    let machine = &record.machine;
    let mut lines = Vec::new();
    let cores = match (machine.core_count(), machine.threads_per_core()) {
        (Ok(cores), Ok(1)) => format!("{cores}, with one thread each"),
        (Ok(cores), Ok(threads)) => format!("{cores}, with up to {threads} threads each"),
        (Err(absent), _) | (_, Err(absent)) => format!("not known: {absent}"),
    };
    lines.push(Fact::new("cores", cores));
    let offline = match &machine.offline {
        Ok(cpus) if cpus.is_empty() => String::new(),
        Ok(cpus) => format!("; {} offline", list(cpus)),
        Err(_) => String::new(),
    };
    let (allowed, online) = (list(&machine.allowed), machine.online.len());
    lines.push(Fact::new(
        "CPUs",
        format!("{} of {online} online CPUs may be used: {allowed}{offline}", machine.allowed.len()),
    ));
    lines.extend(
        machine.kinds.iter().map(|(name, cpus)| Fact::new("kind", format!("{}: {}", one_line(name), list(cpus)))),
    );
    match &machine.quota {
        Ok(Some(quota)) => {
            let unit = if quota.cpus() == 1.0 { "CPU" } else { "CPUs" };
            lines.push(Fact::new("quota", format!("{}{TIE}{unit}", short(quota.cpus()))));
        }
        Ok(None) => {}
        Err(absent) => lines.push(Fact::new("quota", format!("not known: {absent}"))),
    }
    lines.push(Fact::new("took", duration(record.elapsed)));
    lines
}

/// Formats a number with thousands separators.
fn thousands(number: u64) -> String {
    usize::try_from(number).map_or_else(|_| number.to_string(), steady_render::units::thousands)
}

/// Formats numbers as the kernel lists CPUs: `0-3,8`.
pub(super) fn list(cpus: &[usize]) -> String {
    let part = |range: &Range| match range.first == range.last {
        true => range.first.to_string(),
        false => format!("{}-{}", range.first, range.last),
    };
    ranges(cpus.iter().copied()).iter().map(part).collect::<Vec<_>>().join(",")
}

/// A range of consecutive numbers.
struct Range {
    first: usize,
    last: usize,
}

fn ranges(numbers: impl Iterator<Item = usize>) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(range) if range.last.checked_add(1) == Some(number) => range.last = number,
            _ => ranges.push(Range { first: number, last: number }),
        }
    }
    ranges
}

/// Returns the command line that repeats a measurement, quoted for a shell, or why there is none.
pub(super) fn repeat(plan: &LoadPlan, seed: Seed) -> Result<String, &'static str> {
    let mut words: Vec<String> = ["steady", "load", "--seed"].map(str::to_owned).to_vec();
    words.push(seed.to_string());
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    match &plan.work {
        LoadWork::Hash { cpu_time, poll } => {
            option("workload", "hash".to_owned());
            option("cpu-time", seconds(*cpu_time));
            poll.iter().for_each(|every| option("poll", seconds(*every)));
        }
        LoadWork::Sum { work } => {
            option("workload", "sum".to_owned());
            option("work", work.to_string());
        }
        LoadWork::Command { window, .. } => option("window", seconds(*window)),
    }
    option("procs", numbers(&plan.procs));
    if let Some(cpus) = &plan.cpus {
        option("cpus", cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
    }
    if let LoadWork::Command { command, .. } = &plan.work {
        if command.directory.is_some() || !command.environment.is_empty() {
            return Err("the command had its own directory or environment variables");
        }
        words.push("--".to_owned());
        words.extend(command.argv.iter().cloned());
    }
    Ok(line(&words))
}

/// Formats numbers of processes as the option accepts them: `1..4,8,16`.
fn numbers(procs: &[u32]) -> String {
    let part = |range: &Range| match range.last - range.first {
        0 => range.first.to_string(),
        1 => format!("{},{}", range.first, range.last),
        _ => format!("{}..{}", range.first, range.last),
    };
    ranges(procs.iter().map(|procs| *procs as usize)).iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_in_the_kernel() {
        assert_eq!(list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[usize::MAX, 3]), format!("{},3", usize::MAX));
    }

    #[test]
    fn consecutive_numbers_are_a_range() {
        assert_eq!(numbers(&[1, 2, 3, 4, 8, 16, 17]), "1..4,8,16,17");
        assert_eq!(numbers(&[u32::MAX]), u32::MAX.to_string());
        assert_eq!(numbers(&[]), "");
    }
}
