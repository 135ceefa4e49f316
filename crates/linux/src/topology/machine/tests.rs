use proptest::prelude::*;
use steady_model::Nanos;

use super::*;
use crate::trees::{SOUND, UNSOUND, tree};

fn probe(name: &str) -> Machine {
    machine(&tree(name), None)
}

fn named(kinds: &[(String, Vec<usize>)]) -> Vec<(&str, &[usize])> {
    kinds.iter().map(|(name, cpus)| (name.as_str(), cpus.as_slice())).collect()
}

#[test]
fn threads_are_grouped_by_core() {
    let laptop = probe("laptop-smt");
    assert_eq!(laptop.cores, Ok(vec![vec![0, 2], vec![1, 3]]));
    assert_eq!((laptop.core_count(), laptop.threads_per_core()), (Ok(2), Ok(2)));
    assert_eq!((laptop.packages, laptop.kinds, laptop.quota), (Ok(1), vec![], Ok(None)));
    assert_eq!(laptop.offline, Ok(vec![]));
    let vm = probe("vm");
    assert_eq!((vm.core_count(), vm.threads_per_core(), vm.usable_cpus()), (Ok(2), Ok(1), 2.0));
}

#[test]
fn kinds_are_reported_if_there_are_several() {
    let hybrid = probe("hybrid-intel");
    let kinds = [("performance", &[0, 1, 2, 3][..]), ("efficiency", &[4, 5, 6, 7][..])];
    assert_eq!(named(&hybrid.kinds), kinds);
    assert_eq!((hybrid.core_count(), hybrid.threads_per_core()), (Ok(6), Ok(2)));
    assert_eq!(named(&probe("no-psi").kinds), [("capacity 446", &[0, 1][..]), ("capacity 1024", &[2, 3][..])]);
    let fast = machine(&tree("hybrid-intel"), Some(&[0, 1, 2, 3]));
    assert_eq!((fast.kinds.len(), fast.core_count()), (0, Ok(2)), "the remaining CPUs are of one kind");
}

#[test]
fn a_container_on_a_large_host_has_its_quota() {
    let container = probe("container-64");
    assert_eq!((container.online.len(), container.allowed.len(), container.usable_cpus()), (64, 64, 1.5));
    assert_eq!((container.core_count(), container.threads_per_core()), (Ok(32), Ok(2)));
    assert_eq!(container.packages, Ok(2));
    assert!(probe("container-v2").cores.is_err(), "not every CPU reports its siblings");
}

#[test]
fn quotas_are_found_in_every_hierarchy() {
    let cpus = |name| probe(name).quota.unwrap().map(|quota| quota.cpus());
    assert_eq!(cpus("cgroup-v1"), Some(0.5));
    assert_eq!(cpus("cgroup-hybrid"), Some(1.25), "the controller is in version 1");
    assert_eq!(cpus("hybrid-unified"), Some(2.5), "the controller is in version 2");
    assert_eq!(probe("cgroup-v1").usable_cpus(), 0.5);
    assert_eq!(probe("hybrid-unified").usable_cpus(), 2.0, "two CPUs are the maximum");
}

#[test]
fn offline_cpus_are_reported() {
    let offline = probe("offline");
    assert_eq!((offline.online, offline.offline), (vec![0, 1, 2, 3, 4, 6, 7], Ok(vec![5])));
    assert_eq!(offline.allowed, [0, 1, 2, 3, 4, 6, 7], "the affinity mask contains 5, too");
    assert_eq!(offline.cores, Ok(vec![vec![0, 4], vec![1], vec![2, 6], vec![3, 7]]));
    let absent = probe("container-v2").offline.unwrap_err();
    assert_eq!(absent.0, "/sys/devices/system/cpu/present does not exist");
}

#[test]
fn affinity_mask_and_list_of_cpus_both_restrict() {
    let pinned = probe("affinity");
    assert_eq!((pinned.online.len(), pinned.allowed.clone()), (8, vec![0, 1, 4, 6]));
    assert_eq!(pinned.cores, Ok(vec![vec![0, 4], vec![1], vec![6]]));
    let fewer = machine(&tree("affinity"), Some(&[4, 0, 7, 7]));
    assert_eq!((fewer.allowed, fewer.cores), (vec![0, 4], Ok(vec![vec![0, 4]])), "7 is outside of the mask");
    let none = machine(&tree("affinity"), Some(&[7]));
    assert_eq!((none.allowed.len(), none.cores.unwrap_err().0), (0, "no CPU may be used".to_owned()));
}

#[test]
fn missing_or_broken_files_give_reasons() {
    for unsound in UNSOUND {
        let machine = probe(unsound);
        assert!(machine.online.is_empty() && machine.allowed.is_empty(), "{unsound}");
        assert!(machine.cores.is_err() && machine.packages.is_err() && machine.quota.is_err(), "{unsound}");
        assert!(machine.offline.is_err() && machine.kinds.is_empty(), "{unsound}");
    }
    let torn = probe("torn-topology");
    assert_eq!(torn.allowed, [0, 1, 2, 3]);
    assert!(
        torn.cores.unwrap_err().0.contains("contradict each other"),
        "the list of 0 has 1, and the list of 1 has 2"
    );
    assert_eq!(torn.packages.unwrap_err().0, "the system does not report package numbers");
    assert!(torn.quota.unwrap_err().0.contains("CPU quota"));
}

#[test]
fn this_machine_has_usable_cpus() {
    let machine = machine(&Root::default(), None);
    assert!(!machine.allowed.is_empty() && machine.usable_cpus() > 0.0);
    assert!(machine.allowed.iter().all(|cpu| machine.online.contains(cpu)));
}

fn some_cpu(id: usize) -> impl Strategy<Value = Cpu> {
    let siblings = proptest::collection::vec(0_usize..8, 0..4);
    (siblings, any::<Option<i8>>(), 0_u8..5, proptest::option::of(0_u32..3)).prop_map(
        move |(siblings, package, kind, capacity)| Cpu {
            id,
            core_id: Err(Absent::because("-")),
            package_id: package.map(i32::from).ok_or_else(|| Absent::because("-")),
            siblings: if siblings.is_empty() { Err(Absent::because("-")) } else { Ok(siblings) },
            cluster: Err(Absent::because("-")),
            kind: [CoreKind::Performance, CoreKind::Efficiency, CoreKind::LowPower].get(usize::from(kind)).copied(),
            capacity: capacity.ok_or_else(|| Absent::because("-")),
            caches: Err(Absent::because("-")),
        },
    )
}

fn list() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::btree_set(0_usize..10, 0..10).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #[test]
    fn no_input_makes_it_panic_or_invent_a_cpu(
        cpus in (0_usize..8).prop_flat_map(|count| (0..count).map(some_cpu).collect::<Vec<_>>()),
        (online, present, affinity) in (list(), list(), list()),
        only in proptest::option::of(list()),
        quota in any::<Option<u64>>(),
    ) {
        let quota = Ok(quota.map(|quota| Quota { quota: Nanos(quota), period: Nanos(100_000_000) }));
        let topology = Ok(Topology { cpus });
        let facts = Facts { online: online.clone(), present: Ok(present), affinity, topology, quota };
        let machine = facts.machine(only.as_deref());
        prop_assert!(machine.allowed.iter().all(|cpu| online.contains(cpu)));
        prop_assert!(machine.usable_cpus() <= machine.allowed.len() as f64);
        if let Ok(cores) = &machine.cores {
            let mut listed = cores.concat();
            listed.sort_unstable();
            prop_assert_eq!(listed, machine.allowed.clone());
        }
        let kinds: usize = machine.kinds.iter().map(|(_, cpus)| cpus.len()).sum();
        prop_assert!(kinds == 0 || kinds == machine.allowed.len());
    }

    #[test]
    fn lists_of_cpus_only_restrict(name in proptest::sample::select(&SOUND[..]), only in list()) {
        let (all, some) = (probe(name), machine(&tree(name), Some(&only)));
        prop_assert!(some.allowed.iter().all(|cpu| all.allowed.contains(cpu) && only.contains(cpu)));
    }
}
