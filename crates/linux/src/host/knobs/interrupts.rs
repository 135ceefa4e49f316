//! Which CPUs serve interrupts: `Documentation/core-api/irq/irq-affinity.rst`.

use steady_model::{Absent, Knob, Reading};

use super::file::as_list;
use super::{Found, Setting, file, read};
use crate::Root;
use crate::topology::{Topology, allowed_cpus, online_cpus, parse_cpu_list};

/// All interrupts to the CPUs that no duet runs on. Many cannot be moved, which the kernel only says when it is asked to.
pub(super) fn affinity(root: &Root, smt_goes_off: bool) -> Found {
    let files = files(root);
    if files.is_empty() {
        return Found::none(Knob::IrqAffinity, "this kernel lists no interrupts that can be moved");
    }
    let quiet = free_cpus(root, smt_goes_off).map(|cpus| as_list(&cpus));
    let quiet = |_: &str, value: &str| -> Reading<String> {
        let list = quiet.clone()?;
        let (Ok(now), Ok(free)) = (parse_cpu_list(value), parse_cpu_list(&list)) else { return Ok(list) };
        // One that keeps to some of those already is left.
        if !now.is_empty() && now.iter().all(|cpu| free.contains(cpu)) { Ok(value.trim().to_owned()) } else { Ok(list) }
    };
    Found::of(root, Knob::IrqAffinity, files, quiet, "")
}

fn files(root: &Root) -> Vec<String> {
    let numbers = root.numbered("/proc/irq").unwrap_or_default();
    // Number 0 is the timer of old; it cannot be moved.
    let files = numbers.into_iter().map(|number| format!("/proc/irq/{number}/smp_affinity_list"));
    files.filter(|file| root.has(file)).collect()
}

/// The CPUs that are left for interrupts: those whose cores have no CPU of a duet on them.
fn free_cpus(root: &Root, smt_goes_off: bool) -> Reading<Vec<usize>> {
    let (topology, allowed) = (Topology::probe(root)?, allowed_cpus(root)?);
    let staying = online_after_smt(root, smt_goes_off)?;
    let candidates: Vec<usize> = allowed.into_iter().filter(|cpu| staying.contains(cpu)).collect();
    let duet = topology.duet_cpus(&candidates);
    let (one, two) = duet.map_err(|absent| Absent::because(format!("no two CPUs are to be kept free: {absent}")))?;
    let siblings = |cpu: usize| siblings(root, cpu).unwrap_or_else(|| vec![cpu]);
    let kept: Vec<usize> = siblings(one).into_iter().chain(siblings(two)).collect();
    let free: Vec<usize> = staying.into_iter().filter(|cpu| !kept.contains(cpu)).collect();
    if free.is_empty() {
        return Err(Absent::because("a duet takes all CPUs, so none is left for interrupts"));
    }
    Ok(free)
}

/// The CPUs that will be online: without second threads of cores, where those go.
pub fn online_after_smt(root: &Root, smt_goes_off: bool) -> Reading<Vec<usize>> {
    let online = online_cpus(root)?;
    if !smt_goes_off {
        return Ok(online);
    }
    let is_first = |cpu: &usize| siblings(root, *cpu).is_none_or(|threads| threads.first() == Some(cpu));
    Ok(online.into_iter().filter(is_first).collect())
}

fn siblings(root: &Root, cpu: usize) -> Option<Vec<usize>> {
    let list = root.read_line(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")).ok()?;
    parse_cpu_list(&list).ok().filter(|cpus| !cpus.is_empty())
}

/// Interrupts that keep to CPUs which go off with SMT: the kernel would move them, and not move them back. They are to be
/// moved before that, so that it is known where they were.
pub fn stranded(root: &Root) -> Vec<Setting> {
    let Ok(staying) = online_after_smt(root, true) else { return Vec::new() };
    let quiet = as_list(&staying);
    let stranded = |file: String| {
        let value = read(root, &file).ok()?;
        let cpus = parse_cpu_list(&value).ok()?;
        let lost = !cpus.is_empty() && !cpus.iter().any(|cpu| staying.contains(cpu));
        lost.then(|| Setting {
            knob: Knob::IrqAffinity,
            may_write: file::may_write(root, &file),
            quiet: Ok(quiet.clone()),
            may_become: Vec::new(),
            value,
            file,
        })
    };
    files(root).into_iter().filter_map(stranded).collect()
}
