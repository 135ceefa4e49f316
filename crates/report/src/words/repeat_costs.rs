//! The words that would measure the same primitives again.

use steady_model::{CostsPlan, Probe};

use super::repeat::{line, seconds};

/// The command line, quoted for a shell.
pub(crate) fn repeat_costs(plan: &CostsPlan) -> String {
    let mut words: Vec<String> = ["steady", "costs"].map(str::to_owned).to_vec();
    if plan.sweep {
        words.push("--sweep-loops".to_owned());
    }
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    if plan.sweep || plan.probes != Probe::USUAL {
        option("only", plan.probes.iter().map(|probe| probe.name()).collect::<Vec<_>>().join(","));
    }
    option("repetitions", plan.repetitions.to_string());
    option("budget", seconds(plan.budget));
    option("cpu", plan.cpus.0.to_string());
    option("seed", plan.seed.to_string());
    line(&words)
}
