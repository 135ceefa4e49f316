//! Knob of the CPUs that handle interrupts: `Documentation/core-api/irq/irq-affinity.rst`.

use steady_model::{Absent, Knob, Reading};

use super::file::as_list;
use super::{Found, KnobFile, file, read};
use crate::Root;
use crate::topology::{Topology, allowed_cpus, online_cpus, parse_cpu_list};

/// Moves all interrupts to the CPUs that no duet uses. Many interrupts cannot be moved, which the kernel reports only
/// when their file is written.
pub(super) fn affinity(root: &Root, smt_goes_off: bool) -> Found {
    let files = files(root);
    if files.is_empty() {
        return Found::none(Knob::IrqAffinity, "this kernel has no interrupts that can be moved");
    }
    let quiet = free_cpus(root, smt_goes_off).map(|cpus| as_list(&cpus));
    let quiet = |_: &str, value: &str| -> Reading<String> {
        let list = quiet.clone()?;
        let (Ok(now), Ok(free)) = (parse_cpu_list(value), parse_cpu_list(&list)) else { return Ok(list) };
        // An interrupt that already uses only free CPUs stays where it is.
        if !now.is_empty() && now.iter().all(|cpu| free.contains(cpu)) { Ok(value.trim().to_owned()) } else { Ok(list) }
    };
    Found::of(root, Knob::IrqAffinity, files, quiet, "")
}

fn files(root: &Root) -> Vec<String> {
    let numbers = root.numbered("/proc/irq").unwrap_or_default();
    // Interrupt 0 is the legacy timer, which cannot be moved.
    let files = numbers.into_iter().map(|number| format!("/proc/irq/{number}/smp_affinity_list"));
    files.filter(|file| root.has(file)).collect()
}

/// Returns the CPUs for interrupts: those on cores that no duet uses.
fn free_cpus(root: &Root, smt_goes_off: bool) -> Reading<Vec<usize>> {
    let (topology, allowed) = (Topology::probe(root)?, allowed_cpus(root)?);
    let staying = online_after_smt(root, smt_goes_off)?;
    let candidates: Vec<usize> = allowed.into_iter().filter(|cpu| staying.contains(cpu)).collect();
    let duet = topology.duet_cpus(&candidates);
    let (one, two) =
        duet.map_err(|absent| Absent::because(format!("no two CPUs can be kept free of interrupts: {absent}")))?;
    let siblings = |cpu: usize| siblings(root, cpu).unwrap_or_else(|| vec![cpu]);
    let kept: Vec<usize> = siblings(one).into_iter().chain(siblings(two)).collect();
    let free: Vec<usize> = staying.into_iter().filter(|cpu| !kept.contains(cpu)).collect();
    if free.is_empty() {
        let why = "comparisons run on two CPUs, and this host has no CPU outside their cores for interrupts";
        return Err(Absent::because(why));
    }
    Ok(free)
}

/// Returns the CPUs that will be online, without the second threads of cores if SMT is switched off.
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

/// Returns the interrupts whose CPUs all go offline when SMT is switched off. The kernel would move these interrupts
/// and not move them back. Move them before, so that their original CPUs are known.
pub fn stranded(root: &Root) -> Vec<KnobFile> {
    let Ok(staying) = online_after_smt(root, true) else { return Vec::new() };
    let quiet = as_list(&staying);
    let stranded = |file: String| {
        let value = read(root, &file).ok()?;
        let cpus = parse_cpu_list(&value).ok()?;
        let lost = !cpus.is_empty() && !cpus.iter().any(|cpu| staying.contains(cpu));
        lost.then(|| KnobFile {
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
