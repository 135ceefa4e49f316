//! The CPUs: which may be used, which of them share a core, a package or a cache, and of what kind they are.
//!
//! What a virtual machine shows is what its hypervisor chose to tell: two of its CPUs may be threads of one core
//! without saying so. Source: `Documentation/admin-guide/cputopology.rst`.

mod cache;
mod duet;
mod machine;

use steady_model::{Absent, Reading};

use crate::Root;
use crate::procfs::{excerpt, number, value_of};

pub use cache::{Cache, CacheKind};
pub use machine::machine;

/// The kind of core on a machine that has several, where the kernel names them (Intel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreKind {
    /// A core made for speed (`cpu_core`).
    Performance,
    /// A core made for efficiency (`cpu_atom`).
    Efficiency,
    /// A core made to run on very little power (`cpu_lowpower`).
    LowPower,
}

/// What the system tells of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number for it.
    pub id: usize,
    /// The firmware's number for its core, unique within a package at best.
    pub core_id: Reading<i32>,
    /// The firmware's number for its package.
    pub package_id: Reading<i32>,
    /// The CPUs that are threads of its core, itself included.
    pub siblings: Reading<Vec<usize>>,
    /// The CPUs in its cluster (cores that share a cache or a bus below the last level), itself included.
    pub cluster: Reading<Vec<usize>>,
    /// The kind of its core; `None` where the kernel names no kinds.
    pub kind: Option<CoreKind>,
    /// How much it can do, where 1024 is the most of any CPU here; absent where the kernel does not rate CPUs.
    pub capacity: Reading<u32>,
    /// Its caches by level.
    pub caches: Reading<Vec<Cache>>,
}

impl Cpu {
    /// The last cache on the way to memory; absent where the caches are not known.
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
    /// Looks at all CPUs that are online. Absent where these cannot be told.
    pub fn probe(root: &Root) -> Reading<Topology> {
        let kinds = Kinds::probe(root);
        let cpus = online_cpus(root)?;
        Ok(Topology { cpus: cpus.into_iter().map(|id| probe_cpu(root, id, &kinds)).collect() })
    }

    /// The CPU with number `id`, if it is online.
    pub fn cpu(&self, id: usize) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }
}

/// The CPUs that are online. Source: `/sys/devices/system/cpu/online`.
pub fn online_cpus(root: &Root) -> Reading<Vec<usize>> {
    let cpus = parse_cpu_list(&root.read_line("/sys/devices/system/cpu/online")?)?;
    if cpus.is_empty() { Err(Absent::because("the system names no CPU that is online")) } else { Ok(cpus) }
}

/// The CPUs that the calling thread may use: sched_getaffinity(2).
///
/// For a recorded tree, and on machines with more CPUs than the call can tell, `Cpus_allowed_list` in
/// `/proc/self/status` (the main thread's), as far as they are online.
pub fn allowed_cpus(root: &Root) -> Reading<Vec<usize>> {
    let asked = if root.is_live() { rustix::thread::sched_getaffinity(None).ok() } else { None };
    let cpus: Vec<usize> = match asked {
        Some(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect(),
        None => stated_allowed_cpus(root)?,
    };
    if cpus.is_empty() { Err(Absent::because("no CPU may be used, it seems")) } else { Ok(cpus) }
}

fn stated_allowed_cpus(root: &Root) -> Reading<Vec<usize>> {
    let status = root.read("/proc/self/status")?;
    let list = value_of(&status, "Cpus_allowed_list");
    let mut cpus = parse_cpu_list(list.ok_or_else(|| Absent::because("/proc/self/status names no allowed CPUs"))?)?;
    let online = online_cpus(root)?;
    cpus.retain(|cpu| online.binary_search(cpu).is_ok());
    Ok(cpus)
}

/// The CPUs of each kind of core, where the kernel has a performance counter unit per kind.
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
        let misses = || Absent::because(format!("the CPUs that share with CPU {id} do not include it"));
        if cpus.contains(&id) { Ok(cpus) } else { Err(misses()) }
    };
    Cpu {
        id,
        core_id: line("topology/core_id").and_then(|text| number(Some(&text), "core number")),
        package_id: line("topology/physical_package_id").and_then(|text| number(Some(&text), "package number")),
        // The older name of the file is the one that all kernels have.
        siblings: list("topology/thread_siblings_list").or_else(|_| list("topology/core_cpus_list")),
        cluster: list("topology/cluster_cpus_list"),
        kind: kinds.of(id),
        capacity: line("cpu_capacity").and_then(|text| number(Some(&text), "CPU capacity")),
        caches: cache::caches(root, id),
    }
}

/// Higher numbers than any kernel gives to a CPU: ranges beyond are a mistake, not a machine.
const TOO_MANY: usize = 65_536;

/// Reads a list of CPUs such as `0-3,7,9-11`, ascending and without doubles. An empty list is a list.
///
/// Also reads ranges with groups, `0-31:2/4` (the first 2 of every 4). Source: "List format" in cpuset(7) and the
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
            return Err(Absent::because(format!("'{}' is no list of CPUs", excerpt(item))));
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
    fn threads_packages_and_caches_are_told() {
        let laptop = Topology::probe(&tree("laptop-smt")).unwrap();
        assert_eq!(laptop.cpus.len(), 4);
        let cpu = laptop.cpu(3).unwrap();
        assert_eq!(cpu.siblings, Ok(vec![1, 3]));
        assert_eq!((cpu.core_id.clone(), cpu.package_id.clone()), (Ok(1), Ok(0)));
        assert_eq!(cpu.last_level_cache().unwrap().shared, Ok(vec![0, 1, 2, 3]));
        assert_eq!(laptop.cpu(4), None);
    }

    #[test]
    fn kinds_of_core_are_told() {
        let hybrid = Topology::probe(&tree("hybrid-intel")).unwrap();
        let kinds: Vec<_> = hybrid.cpus.iter().filter_map(|cpu| cpu.kind).collect();
        assert_eq!(kinds[..4], [CoreKind::Performance; 4]);
        assert_eq!(kinds[4..], [CoreKind::Efficiency; 4]);
        assert_eq!(hybrid.cpu(5).unwrap().cluster, Ok(vec![4, 5, 6, 7]));
        assert!(hybrid.cpu(0).unwrap().capacity.clone().unwrap() > hybrid.cpu(4).unwrap().capacity.clone().unwrap());
    }

    #[test]
    fn what_is_not_told_is_absent() {
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
    fn ranges_and_numbers_are_expanded() {
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
        fn every_set_survives_being_written(set in proptest::collection::btree_set(0_usize..1_024, 0..40)) {
            let written: Vec<String> = set.iter().map(usize::to_string).collect();
            prop_assert_eq!(parse_cpu_list(&written.join(",")).unwrap(), set.into_iter().collect::<Vec<_>>());
        }
    }
}
