//! The CPUs: which ones are allowed, which share a core, a package or a cache, and their kinds of core.
//!
//! A virtual machine shows what its hypervisor reports: two of its CPUs may be threads of one core without any sign of
//! it. Source: `Documentation/admin-guide/cputopology.rst`.

mod cache;
mod duet;
mod machine;

use steady_model::{Absent, Reading};

use crate::Root;
use crate::procfs::{excerpt, number, value_of};

pub use cache::{Cache, CacheKind};
pub use machine::machine;

/// Kind of core on a machine with several kinds, if the kernel names them (Intel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreKind {
    /// A core for high performance (`cpu_core`).
    Performance,
    /// A core for high efficiency (`cpu_atom`).
    Efficiency,
    /// A core for very low power (`cpu_lowpower`).
    LowPower,
}

/// What the system reports about one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Number of the CPU in the kernel.
    pub id: usize,
    /// Number of the core in the firmware, unique only within a package.
    pub core_id: Reading<i32>,
    /// Number of the package in the firmware.
    pub package_id: Reading<i32>,
    /// CPUs that are threads of the same core, including this one.
    pub siblings: Reading<Vec<usize>>,
    /// CPUs in the same cluster (cores that share a cache or a bus below the last level), including this one.
    pub cluster: Reading<Vec<usize>>,
    /// Kind of the core; `None` if the kernel does not name kinds.
    pub kind: Option<CoreKind>,
    /// Capacity rating of the kernel; the fastest CPU of the machine has 1024. Not available if the kernel does not
    /// rate CPUs.
    pub capacity: Reading<u32>,
    /// Caches, sorted by level.
    pub caches: Reading<Vec<Cache>>,
}

impl Cpu {
    /// Returns the last cache before memory. An error means that the caches are not known.
    pub fn last_level_cache(&self) -> Reading<&Cache> {
        let caches = self.caches.as_ref().map_err(Clone::clone)?;
        let holds_data = caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
        holds_data.max_by_key(|cache| cache.level).ok_or_else(|| Absent::because("the CPU has no data cache"))
    }
}

/// The CPUs of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The CPUs that are online, ascending.
    pub cpus: Vec<Cpu>,
}

impl Topology {
    /// Reads the topology of all online CPUs. An error means that the list of online CPUs is not known.
    pub fn probe(root: &Root) -> Reading<Topology> {
        let kinds = Kinds::probe(root);
        let cpus = online_cpus(root)?;
        Ok(Topology { cpus: cpus.into_iter().map(|id| probe_cpu(root, id, &kinds)).collect() })
    }

    /// Returns the CPU with number `id`, if it is online.
    pub fn cpu(&self, id: usize) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }
}

/// Returns the online CPUs. Source: `/sys/devices/system/cpu/online`.
pub fn online_cpus(root: &Root) -> Reading<Vec<usize>> {
    let cpus = parse_cpu_list(&root.read_line("/sys/devices/system/cpu/online")?)?;
    if cpus.is_empty() { Err(Absent::because("the system reports no online CPU")) } else { Ok(cpus) }
}

/// Returns the CPUs that the calling thread may use: sched_getaffinity(2).
///
/// On machines with more CPUs than the call supports, and for a recorded tree, the source is `Cpus_allowed_list` in
/// `/proc/self/status` (the list of the main thread). CPUs that are not online are left out.
pub fn allowed_cpus(root: &Root) -> Reading<Vec<usize>> {
    let mask = if root.is_live() { rustix::thread::sched_getaffinity(None).ok() } else { None };
    let cpus: Vec<usize> = match mask {
        Some(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect(),
        None => stated_allowed_cpus(root)?,
    };
    if cpus.is_empty() { Err(Absent::because("the system reports no allowed CPU")) } else { Ok(cpus) }
}

fn stated_allowed_cpus(root: &Root) -> Reading<Vec<usize>> {
    let status = root.read("/proc/self/status")?;
    let list = value_of(&status, "Cpus_allowed_list");
    let mut cpus =
        parse_cpu_list(list.ok_or_else(|| Absent::because("/proc/self/status has no list of allowed CPUs"))?)?;
    let online = online_cpus(root)?;
    cpus.retain(|cpu| online.binary_search(cpu).is_ok());
    Ok(cpus)
}

/// CPUs of each kind of core. The kernel has a PMU per kind.
struct Kinds([(CoreKind, Vec<usize>); 3]);

impl Kinds {
    fn probe(root: &Root) -> Self {
        let cpus =
            |unit: &str| root.read_line(&format!("/sys/devices/{unit}/cpus")).and_then(|list| parse_cpu_list(&list));
        let of = |kind, unit| (kind, cpus(unit).unwrap_or_default());
        Kinds([
            of(CoreKind::Performance, "cpu_core"),
            of(CoreKind::Efficiency, "cpu_atom"),
            of(CoreKind::LowPower, "cpu_lowpower"),
        ])
    }

    fn of(&self, cpu: usize) -> Option<CoreKind> {
        self.0.iter().find(|(_, cpus)| cpus.contains(&cpu)).map(|&(kind, _)| kind)
    }
}

fn probe_cpu(root: &Root, id: usize, kinds: &Kinds) -> Cpu {
    let line = |file: &str| root.read_line(&format!("/sys/devices/system/cpu/cpu{id}/{file}"));
    let list = |file: &str| {
        let cpus = parse_cpu_list(&line(file)?)?;
        let misses =
            || Absent::because(format!("a list of CPUs that share a resource with CPU {id} does not include it"));
        if cpus.contains(&id) { Ok(cpus) } else { Err(misses()) }
    };
    Cpu {
        id,
        core_id: line("topology/core_id").and_then(|text| number(Some(&text), "core number")),
        package_id: line("topology/physical_package_id").and_then(|text| number(Some(&text), "package number")),
        // All kernels have the file with the older name.
        siblings: list("topology/thread_siblings_list").or_else(|_| list("topology/core_cpus_list")),
        cluster: list("topology/cluster_cpus_list"),
        kind: kinds.of(id),
        capacity: line("cpu_capacity").and_then(|text| number(Some(&text), "CPU capacity")),
        caches: cache::caches(root, id),
    }
}

/// Larger than any CPU number in the kernel. A larger number in a list is an error.
const TOO_MANY: usize = 65_536;

/// Parses a list of CPUs such as `0-3,7,9-11`. The result is ascending, without duplicates, and may be empty.
///
/// Also parses ranges with groups: `0-31:2/4` is the first 2 of every 4. Source: "List format" in cpuset(7) and the
/// kernel's `bitmap_parselist`.
pub fn parse_cpu_list(text: &str) -> Reading<Vec<usize>> {
    let text = text.trim();
    let mut cpus = Vec::new();
    for item in text.split(',').filter(|_| !text.is_empty()) {
        let (range, group) = item.split_once(':').map_or((item, None), |(range, group)| (range, Some(group)));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (number(Some(first), "CPU")?, number(Some(last), "CPU")?);
        let (used, step): (usize, usize) = match group.map(|group| group.split_once('/').unwrap_or((group, ""))) {
            Some((used, step)) => (number(Some(used), "CPU group")?, number(Some(step), "CPU group")?),
            None => (1, 1),
        };
        if first > last || last >= TOO_MANY || used > step || step == 0 {
            return Err(Absent::because(format!("'{}' is not a list of CPUs", excerpt(item))));
        }
        cpus.extend((first..=last).filter(|cpu| (cpu - first) % step < used));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::{SOUND, UNSOUND, tree};

    #[test]
    fn threads_packages_and_caches_are_read() {
        let laptop = Topology::probe(&tree("laptop-smt")).unwrap();
        assert_eq!(laptop.cpus.len(), 4);
        let cpu = laptop.cpu(3).unwrap();
        assert_eq!(cpu.siblings, Ok(vec![1, 3]));
        assert_eq!((cpu.core_id.clone(), cpu.package_id.clone()), (Ok(1), Ok(0)));
        assert_eq!(cpu.last_level_cache().unwrap().shared, Ok(vec![0, 1, 2, 3]));
        assert_eq!(laptop.cpu(4), None);
    }

    #[test]
    fn kinds_of_core_are_read() {
        let hybrid = Topology::probe(&tree("hybrid-intel")).unwrap();
        let kinds: Vec<_> = hybrid.cpus.iter().filter_map(|cpu| cpu.kind).collect();
        assert_eq!(kinds[..4], [CoreKind::Performance; 4]);
        assert_eq!(kinds[4..], [CoreKind::Efficiency; 4]);
        assert_eq!(hybrid.cpu(5).unwrap().cluster, Ok(vec![4, 5, 6, 7]));
        assert!(hybrid.cpu(0).unwrap().capacity.clone().unwrap() > hybrid.cpu(4).unwrap().capacity.clone().unwrap());
    }

    #[test]
    fn missing_topology_gives_reasons() {
        for sound in SOUND {
            assert!(Topology::probe(&tree(sound)).is_ok() && allowed_cpus(&tree(sound)).is_ok(), "{sound}");
        }
        for unsound in UNSOUND {
            assert!(Topology::probe(&tree(unsound)).is_err() && allowed_cpus(&tree(unsound)).is_err(), "{unsound}");
        }
        let container = Topology::probe(&tree("container-v2")).unwrap();
        assert_eq!(container.cpus.len(), 64);
        assert!(container.cpu(63).unwrap().siblings.is_err());
        assert!(container.cpu(63).unwrap().last_level_cache().is_err());
    }

    #[test]
    fn cpus_that_are_offline_are_not_allowed() {
        assert_eq!(allowed_cpus(&tree("cgroup-hybrid")).unwrap(), [0, 1, 2], "3 is offline");
    }

    #[test]
    fn this_machine_has_cpus() {
        let allowed = allowed_cpus(&Root::default()).unwrap();
        let topology = Topology::probe(&Root::default()).unwrap();
        assert!(allowed.iter().all(|&cpu| topology.cpu(cpu).is_some()));
    }

    #[test]
    fn ranges_and_numbers_are_parsed() {
        assert_eq!(parse_cpu_list("0-3,7,9-11\n").unwrap(), [0, 1, 2, 3, 7, 9, 10, 11]);
        assert_eq!(parse_cpu_list("5,0,0-1").unwrap(), [0, 1, 5]);
        assert_eq!(parse_cpu_list("0-7:2/4").unwrap(), [0, 1, 4, 5]);
        assert!(parse_cpu_list("\n").unwrap().is_empty());
        for broken in ["x", "3-1", "-1", "1-", "1,,2", "0-99999999999", "0-3:1/0", "0-3:2", "1 2", "0-70000"] {
            assert!(parse_cpu_list(broken).is_err(), "{broken}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\PC|[0-9]{1,6}|[-,:/])*") {
            let _ = parse_cpu_list(&text);
        }

        #[test]
        fn cpu_lists_round_trip(set in proptest::collection::btree_set(0_usize..1_024, 0..40)) {
            let written: Vec<String> = set.iter().map(usize::to_string).collect();
            prop_assert_eq!(parse_cpu_list(&written.join(",")).unwrap(), set.into_iter().collect::<Vec<_>>());
        }
    }
}
