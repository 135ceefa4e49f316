//! From the flags of `steady costs` to a plan.

use std::fmt::Write;

use steady_experiments::costs;
use steady_linux::Root;
use steady_linux::topology::{self, Topology};
use steady_model::{CostsPlan, Machine, Probe, Reading};

use crate::failure::Failure;
use crate::flags::{CostsFlags, CostsOf};
use crate::resolve;

const CLOCKS: [Probe; 4] = [Probe::ClockRealtime, Probe::ClockMonotonic, Probe::ClockProcessCpu, Probe::ClockThreadCpu];
const SWEPT: [Probe; 3] = [Probe::FunctionCall, Probe::SystemCall, Probe::ProcessSwitch];

/// The plan of an experiment.
pub(super) fn plan(flags: &CostsFlags, machine: &Machine) -> Result<CostsPlan, Failure> {
    Ok(CostsPlan {
        probes: probes(flags)?,
        repetitions: flags.repetitions,
        budget: flags.budget,
        cpus: cpus(machine, flags.cpu)?,
        sweep: flags.sweep_loops,
        seed: resolve::seed(flags.seed)?,
    })
}

/// The CPU that is measured on, and another one.
pub(super) fn cpus(machine: &Machine, wanted: Option<usize>) -> Result<(usize, Reading<usize>), Failure> {
    let allowed = &machine.allowed;
    if let Some(cpu) = wanted.filter(|cpu| !allowed.contains(cpu)) {
        return Err(Failure::Usage(format!("--cpu {cpu}: it is not among those that may be used ({allowed:?})")));
    }
    let found = costs::cpus(&Topology::probe(&Root::default()), allowed, wanted);
    found.ok_or_else(|| Failure::Own("it is not known which CPUs may be used".to_owned()))
}

/// The CPUs of this machine.
pub(super) fn machine() -> Machine {
    topology::machine(&Root::default(), None)
}

fn probes(flags: &CostsFlags) -> Result<Vec<Probe>, Failure> {
    match (&flags.only, flags.of) {
        (_, Some(CostsOf::Clocks)) => Ok(CLOCKS.to_vec()),
        (Some(names), None) => only(names),
        (None, None) if flags.sweep_loops => Ok(SWEPT.to_vec()),
        (None, None) => Ok(Probe::USUAL.to_vec()),
    }
}

/// The probes that are named, each once, in the order in which they are shown.
fn only(names: &[String]) -> Result<Vec<Probe>, Failure> {
    let named = |name: &str| -> Vec<Probe> {
        let of_group = |probe: &Probe| probe.name().strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
        if let Some(exact) = Probe::all().find(|probe| probe.name() == name) {
            return vec![exact];
        }
        let group: Vec<Probe> = Probe::all().filter(of_group).collect();
        // Half a name is no group.
        if group.len() > 1 { group } else { Vec::new() }
    };
    let mut wanted = Vec::new();
    for name in names {
        let found = named(name.trim());
        if found.is_empty() {
            return Err(Failure::Usage(format!("--only: there is no probe '{name}'; steady costs --list names them")));
        }
        wanted.extend(found);
    }
    Ok(Probe::all().filter(|probe| wanted.contains(probe)).collect())
}

/// All probes by name, with what each is the cost of.
pub(super) fn list() -> String {
    let mut text = String::new();
    let width = Probe::all().map(|probe| probe.name().len()).max().unwrap_or(0);
    for probe in Probe::all() {
        let more = if probe.needs_two_cpus() { " (two CPUs)" } else { "" };
        // A String takes all that is written.
        let _ = writeln!(text, "{:width$}  {}{more}", probe.name(), what(probe));
    }
    text
}

fn what(probe: Probe) -> String {
    match probe {
        Probe::Call(call) => format!("{}; only if named", call.calls().join(" and ")),
        probe if !Probe::USUAL.contains(&probe) => format!("{}; only if named", probe.unit()),
        _ => probe.unit().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Result<Vec<&'static str>, Failure> {
        let names: Vec<String> = list.iter().map(|name| (*name).to_owned()).collect();
        only(&names).map(|probes| probes.into_iter().map(Probe::name).collect())
    }

    #[test]
    fn probes_are_found_by_name_and_by_group() {
        assert_eq!(names(&["system_call"]), Ok(vec!["system_call"]));
        assert_eq!(names(&["system_call", "function_call", "system_call"]), Ok(vec!["function_call", "system_call"]));
        assert_eq!(names(&["thread_switch"]), Ok(vec!["thread_switch_condvar", "thread_switch_futex"]));
        assert_eq!(names(&["call"]).map(|all| all.len()), Ok(steady_model::KernelCall::ALL.len()));
        assert_eq!(names(&["clock"]).map(|all| all.len()), Ok(4));
        for wrong in ["", "x", "system", "system_cal", "_", "thread_switch_"] {
            assert!(matches!(names(&[wrong]), Err(Failure::Usage(_))), "{wrong}");
        }
    }

    #[test]
    fn every_probe_is_listed_on_a_line() {
        let text = list();
        assert_eq!(text.lines().count(), Probe::all().count());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
