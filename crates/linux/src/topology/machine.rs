//! The CPUs available to an experiment with several processes: their number, cores and packages.

use std::collections::BTreeSet;

use steady_model::{Absent, Machine, Quota, Reading};

use super::{CoreKind, Cpu, Topology, allowed_cpus, online_cpus, parse_cpu_list};
use crate::{Root, cgroup};

/// Describes the CPUs that this process may use, restricted to `cpus` if given.
///
/// If the system does not report which CPUs are online, the allowed ones are assumed to be all, and vice versa. If
/// neither is known, the running system has the CPU that this thread runs on, and a recorded one has none. Values that
/// depend on the missing lists are then not available.
pub fn machine(root: &Root, cpus: Option<&[usize]>) -> Machine {
    let here = || if root.is_live() { vec![rustix::thread::sched_getcpu()] } else { vec![] };
    let affinity = allowed_cpus(root);
    let online = online_cpus(root);
    let facts = Facts {
        present: present_cpus(root),
        topology: Topology::probe(root),
        affinity: affinity.clone().or_else(|_| online.clone()).unwrap_or_else(|_| here()),
        online: online.or(affinity).unwrap_or_else(|_| here()),
        quota: cgroup::cpu_quota(root),
    };
    facts.machine(cpus)
}

/// Returns the CPUs that are present, online or not. Source: `/sys/devices/system/cpu/present`. The file `offline` is
/// not used, because it also lists empty CPU slots.
fn present_cpus(root: &Root) -> Reading<Vec<usize>> {
    parse_cpu_list(&root.read_line("/sys/devices/system/cpu/present")?)
}

/// What the system reports about its CPUs.
#[derive(Debug)]
struct Facts {
    online: Vec<usize>,
    present: Reading<Vec<usize>>,
    affinity: Vec<usize>,
    topology: Reading<Topology>,
    quota: Reading<Option<Quota>>,
}

impl Facts {
    fn machine(self, cpus: Option<&[usize]>) -> Machine {
        let usable = |cpu: &usize| self.online.contains(cpu) && cpus.is_none_or(|only| only.contains(cpu));
        let allowed: BTreeSet<usize> = self.affinity.iter().copied().filter(usable).collect();
        let allowed: Vec<usize> = allowed.into_iter().collect();
        let known = self.topology.and_then(|topology| of_allowed(&topology, &allowed));
        let known = known.as_deref().map_err(Clone::clone);
        Machine {
            offline: self.present.map(|present| without(&present, &self.online)),
            cores: known.clone().and_then(cores),
            packages: known.clone().and_then(packages),
            kinds: known.map(kinds).unwrap_or_default(),
            quota: self.quota,
            online: self.online,
            allowed,
        }
    }
}

fn without(all: &[usize], these: &[usize]) -> Vec<usize> {
    all.iter().copied().filter(|cpu| !these.contains(cpu)).collect()
}

/// Returns the topology of each allowed CPU.
fn of_allowed(topology: &Topology, allowed: &[usize]) -> Reading<Vec<Cpu>> {
    if allowed.is_empty() {
        return Err(Absent::because("no CPU may be used"));
    }
    let known = |id: &usize| topology.cpu(*id).cloned();
    let all: Option<Vec<Cpu>> = allowed.iter().map(known).collect();
    all.ok_or_else(|| Absent::because("the topology does not have all allowed CPUs"))
}

/// Groups the CPUs by core.
fn cores(cpus: &[Cpu]) -> Reading<Vec<Vec<usize>>> {
    let mut cores: Vec<Vec<usize>> = Vec::new();
    for cpu in cpus {
        let siblings = cpu.siblings.as_ref().map_err(Clone::clone)?;
        match cores.iter_mut().find(|core| core.iter().any(|other| siblings.contains(other))) {
            Some(core) => core.push(cpu.id),
            None => cores.push(vec![cpu.id]),
        }
    }
    let together = |cpu: &Cpu| cores.iter().find(|core| core.contains(&cpu.id)).map_or(&[][..], Vec::as_slice);
    let same = |cpu: &Cpu| cpu.siblings.as_ref().is_ok_and(|siblings| within(siblings, cpus) == together(cpu));
    if !cpus.iter().all(same) {
        return Err(Absent::because("the lists of the threads of each core contradict each other"));
    }
    Ok(cores)
}

/// Returns those of `ids` that are in `cpus`, in the order of `cpus`.
fn within(ids: &[usize], cpus: &[Cpu]) -> Vec<usize> {
    cpus.iter().map(|cpu| cpu.id).filter(|id| ids.contains(id)).collect()
}

/// Number of packages that the CPUs are in.
fn packages(cpus: &[Cpu]) -> Reading<usize> {
    let numbers: BTreeSet<i32> = cpus.iter().map(|cpu| cpu.package_id.clone()).collect::<Reading<_>>()?;
    // Firmware without package numbers reports -1 for every CPU.
    if numbers.iter().any(|&number| number < 0) {
        return Err(Absent::because("the system does not report package numbers"));
    }
    Ok(numbers.len())
}

/// Groups the CPUs by kind of core, if there are several kinds. A kind is the kernel's name for it, or its capacity
/// rating.
fn kinds(cpus: &[Cpu]) -> Vec<(String, Vec<usize>)> {
    let name = |cpu: &Cpu| match (cpu.kind, &cpu.capacity) {
        (Some(kind), _) => Some(kind_name(kind).to_owned()),
        (None, Ok(capacity)) => Some(format!("capacity {capacity}")),
        (None, Err(_)) => None,
    };
    let mut kinds: Vec<(String, Vec<usize>)> = Vec::new();
    for cpu in cpus {
        let Some(name) = name(cpu) else { return vec![] };
        match kinds.iter_mut().find(|(other, _)| *other == name) {
            Some((_, members)) => members.push(cpu.id),
            None => kinds.push((name, vec![cpu.id])),
        }
    }
    if kinds.len() > 1 { kinds } else { vec![] }
}

fn kind_name(kind: CoreKind) -> &'static str {
    match kind {
        CoreKind::Performance => "performance",
        CoreKind::Efficiency => "efficiency",
        CoreKind::LowPower => "low power",
    }
}

#[cfg(test)]
mod tests;
