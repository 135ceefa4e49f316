//! The words that would make the same load experiment again.

use steady_model::{LoadPlan, LoadWork};

use steady_render::shell::{line, seconds};

/// The command line, quoted for a shell, or why there is none that says it all.
pub(super) fn repeat(plan: &LoadPlan) -> Result<String, &'static str> {
    let mut words: Vec<String> = ["steady", "load", "--seed"].map(str::to_owned).to_vec();
    words.push(plan.seed.to_string());
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
            return Err("the command had a directory or variables of its own");
        }
        words.push("--".to_owned());
        words.extend(command.argv.iter().cloned());
    }
    Ok(line(&words))
}

/// Numbers of processes as the option reads them: `1..4,8,16`.
fn numbers(procs: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in procs {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let part = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}..{last}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(numbers(&[1, 2, 3, 4, 8, 16, 17]), "1..4,8,16,17");
        assert_eq!(numbers(&[u32::MAX]), u32::MAX.to_string());
        assert_eq!(numbers(&[]), "");
    }
}
