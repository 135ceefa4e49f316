//! Resolves the flags of `steady costs` into a plan.

use std::fmt::Write;
use steady_render::letters::listed;

use steady_feature::Failure;
use steady_linux::Root;
use steady_linux::clock::Clock;
use steady_linux::topology::{self, Topology};
use steady_model::{Absent, Machine, Probe, Reading};

use crate::document::published;
use crate::flags::{CostsFlags, CostsOf};
use crate::record::{Affinity, ClockFacts, CostsPlan};

/// The clocks, with their probes and names.
const CLOCKS: [(Probe, &str, Clock); 4] = [
    (Probe::ClockRealtime, "CLOCK_REALTIME", Clock::Realtime),
    (Probe::ClockMonotonic, "CLOCK_MONOTONIC", Clock::Monotonic),
    (Probe::ClockProcessCpu, "CLOCK_PROCESS_CPUTIME_ID", Clock::ProcessCpu),
    (Probe::ClockThreadCpu, "CLOCK_THREAD_CPUTIME_ID", Clock::ThreadCpu),
];
/// Probes of a sweep without `--only`.
const SWEPT: [Probe; 3] = [Probe::FunctionCall, Probe::SystemCall, Probe::ProcessSwitch];

/// Resolves the plan of an experiment.
pub(super) fn plan(flags: &CostsFlags) -> Result<CostsPlan, Failure> {
    Ok(CostsPlan {
        probes: probes(flags)?,
        repetitions: flags.repetitions,
        budget_seconds: flags.budget,
        sweep: flags.sweep_loops,
        as_published: flags.as_published,
    })
}

/// Chooses the CPUs to measure on.
pub(super) fn affinity(machine: &Machine, wanted: Option<usize>) -> Result<Affinity, Failure> {
    let allowed = &machine.allowed;
    if let Some(cpu) = wanted.filter(|cpu| !allowed.contains(cpu)) {
        return Err(Failure::Usage(format!("--cpu {cpu}: steady may not use this CPU, only {allowed:?}")));
    }
    let found = cpus(&Topology::probe(&Root::default()), allowed, wanted);
    found.ok_or_else(|| Failure::Own("the list of CPUs that may be used cannot be read".to_owned()))
}

/// Reads the topology of this machine.
pub(super) fn machine() -> Machine {
    topology::machine(&Root::default(), None)
}

fn probes(flags: &CostsFlags) -> Result<Vec<Probe>, Failure> {
    match (&flags.only, flags.of) {
        (_, Some(CostsOf::Clocks)) => Ok(CLOCKS.map(|clock| clock.0).to_vec()),
        (Some(names), None) => only(names),
        (None, None) if flags.sweep_loops => Ok(SWEPT.to_vec()),
        (None, None) if flags.as_published => Ok(published::probes()),
        (None, None) => Ok(Probe::USUAL.to_vec()),
    }
}

/// Resolves names to probes, without duplicates, in the order of reports.
fn only(names: &[String]) -> Result<Vec<Probe>, Failure> {
    let named = |name: &str| -> Vec<Probe> {
        let of_group = |probe: &Probe| probe.name().strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
        if let Some(exact) = Probe::all().find(|probe| probe.name() == name) {
            return vec![exact];
        }
        Probe::all().filter(of_group).collect()
    };
    let mut wanted = Vec::new();
    for name in names {
        let found = named(name.trim());
        if found.is_empty() {
            return Err(Failure::Usage(format!("--only: there is no probe '{name}'; 'steady costs --list' shows all")));
        }
        wanted.extend(found);
    }
    Ok(Probe::all().filter(|probe| wanted.contains(probe)).collect())
}

/// Lists all probes by name, with what each one measures.
pub(super) fn list() -> String {
    let mut text = String::new();
    let width = Probe::all().map(|probe| probe.name().len()).max().unwrap_or(0);
    for probe in Probe::all() {
        let more = if probe.needs_two_cpus() { " (two CPUs)" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:width$}  {}{more}", probe.name(), what(probe));
    }
    text
}

fn what(probe: Probe) -> String {
    match probe {
        Probe::Call(call) => format!("{}; only by name", listed(call.calls())),
        probe if !Probe::USUAL.contains(&probe) => format!("{}; only by name", probe.unit()),
        _ => probe.unit().to_owned(),
    }
}

/// Chooses the CPU for all probes, and a second one for probes that need two. The second one is on another core of the
/// same kind and near to the first, if possible. `wanted` must be in `allowed`. Without it, the result is the CPU with
/// the higher number of the best pair, because interrupts tend to go to low numbers. Returns `None` if no CPU may be
/// used.
fn cpus(topology: &Reading<Topology>, allowed: &[usize], wanted: Option<usize>) -> Option<Affinity> {
    let pair = |of: &[usize]| topology.as_ref().ok().and_then(|topology| topology.duet_cpus(of).ok());
    let best = if wanted.is_none() { pair(allowed) } else { None };
    let first = wanted.or(best.map(|(one, two)| one.max(two))).or(allowed.iter().max().copied())?;
    let pairs_well = |other: &usize| pair(&[first.min(*other), first.max(*other)]).is_some();
    let others: Vec<usize> = allowed.iter().copied().filter(|cpu| *cpu != first).collect();
    let second = best
        .map(|(one, two)| one.min(two))
        .or_else(|| others.iter().copied().find(|other| pairs_well(other)))
        .or_else(|| others.first().copied());
    let other_cpu = second.ok_or_else(|| Absent::because("only one CPU may be used, and the probe needs two"));
    Some(Affinity { cpu: first, other_cpu })
}

/// Reads the stated resolution of each clock, and measures its smallest step.
pub(super) fn clocks() -> Vec<ClockFacts> {
    let facts = CLOCKS.map(|(probe, name, clock)| ClockFacts {
        name: name.to_owned(),
        probe,
        stated_resolution_seconds: clock.stated_resolution(),
        smallest_step_seconds: clock.smallest_step(),
        words: None,
    });
    facts.to_vec()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
        assert_eq!(names(&["fork"]), Ok(vec!["fork_exit"]));
        for wrong in ["", "x", "system_cal", "_", "thread_switch_"] {
            assert!(matches!(names(&[wrong]), Err(Failure::Usage(_))), "{wrong}");
        }
    }

    #[test]
    fn each_probe_is_listed_on_one_line() {
        let text = list();
        assert_eq!(text.lines().count(), Probe::all().count());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    fn of(tree: &str, allowed: &[usize], wanted: Option<usize>) -> Option<(usize, Option<usize>)> {
        let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trees");
        let topology = Topology::probe(&Root::at(trees.join(tree)));
        cpus(&topology, allowed, wanted).map(|found| (found.cpu, found.other_cpu.ok()))
    }

    #[test]
    fn the_other_cpu_is_on_another_core() {
        assert_eq!(of("vm", &[0, 1], None), Some((1, Some(0))));
        assert_eq!(of("vm", &[0, 1], Some(0)), Some((0, Some(1))));
        // CPUs 1 and 3 are threads of one core.
        assert_ne!(of("laptop-smt", &[0, 1, 2, 3], Some(1)), Some((1, Some(3))));
        assert_eq!(
            of("laptop-smt", &[1, 3], Some(1)),
            Some((1, Some(3))),
            "without another core, it is a thread of the same core"
        );
    }

    #[test]
    fn with_one_cpu_there_is_no_second_one() {
        assert_eq!(of("vm", &[1], None), Some((1, None)));
        assert_eq!(of("vm", &[], None), None);
        assert_eq!(
            of("missing", &[2, 5], None),
            Some((5, Some(2))),
            "without a known topology, any two allowed CPUs are used"
        );
    }
}
