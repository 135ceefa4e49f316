//! Selects the two CPUs of a duet.

use std::cmp::Reverse;

use steady_model::{Absent, Reading};

use super::{CoreKind, Cpu, Topology};

impl Topology {
    /// Returns the two CPUs of `allowed` on which two concurrent commands have the most equal conditions: on two cores
    /// of one kind, if possible in one package and with one last-level cache.
    ///
    /// Among such pairs, it prefers, in this order:
    ///
    /// - cores that share no cache below the last level
    /// - fast cores
    /// - cores of equal capacity
    /// - cores other than the core of CPU 0, which handles most interrupts
    ///
    /// An error means that there is no such pair, or that the threads of each core are not known.
    pub fn duet_cpus(&self, allowed: &[usize]) -> Reading<(usize, usize)> {
        let usable: Vec<&Cpu> = self.cpus.iter().filter(|cpu| allowed.contains(&cpu.id)).collect();
        if usable.len() < 2 {
            return Err(Absent::because(if usable.is_empty() {
                "no CPU may be used"
            } else {
                "only one CPU may be used"
            }));
        }
        let known: Vec<Candidate> = usable.iter().filter_map(|cpu| Candidate::of(cpu)).collect();
        let pairs = || known.iter().enumerate().flat_map(|(at, one)| known[at + 1..].iter().map(move |two| (one, two)));
        let best = pairs().filter_map(|(one, two)| Some((one.cost_with(two)?, one.id, two.id))).min();
        best.map(|(_, one, two)| (one, two)).ok_or_else(|| reason(usable.len(), &known))
    }
}

fn reason(usable: usize, known: &[Candidate]) -> Absent {
    if known.len() < 2 {
        return Absent::because("the system does not report which CPUs are threads of one core");
    }
    let one_core = known.iter().all(|candidate| candidate.core == known[0].core);
    Absent::because(match (one_core, known.len() < usable) {
        (true, false) if usable == 2 => "both CPUs are threads of one core",
        (true, false) => "all CPUs that may be used are threads of one core",
        (true, true) => "the system does not report which CPUs are threads of one core",
        (false, _) => "the cores that may be used are all of different kinds",
    })
}

/// What matters about a CPU. Groups of CPUs are represented by their lowest member.
struct Candidate {
    id: usize,
    core: usize,
    cluster: Option<usize>,
    last_cache: Option<usize>,
    package: Option<i32>,
    kind: Option<CoreKind>,
    capacity: Option<u32>,
}

/// Cost of a pair of CPUs. Smaller is better, and earlier fields have priority.
type Cost = (bool, bool, bool, Reverse<u32>, bool, bool);

impl Candidate {
    /// Returns `None` if the threads of the CPU's core are not known.
    fn of(cpu: &Cpu) -> Option<Candidate> {
        let lowest = |cpus: &Reading<Vec<usize>>| cpus.as_ref().ok()?.iter().min().copied();
        Some(Candidate {
            id: cpu.id,
            core: lowest(&cpu.siblings)?,
            cluster: lowest(&cpu.cluster),
            last_cache: cpu.last_level_cache().ok().and_then(|cache| lowest(&cache.shared)),
            package: cpu.package_id.clone().ok(),
            kind: cpu.kind,
            capacity: cpu.capacity.clone().ok(),
        })
    }

    /// Returns the cost of this pair, or `None` if the two cannot run a duet.
    fn cost_with(&self, other: &Candidate) -> Option<Cost> {
        if self.core == other.core || !self.same_kind(other) {
            return None;
        }
        let differ = |one: Option<usize>, two: Option<usize>| one != two || one.is_none();
        let slower = self.capacity.min(other.capacity).unwrap_or(0);
        Some((
            self.package != other.package,
            differ(self.last_cache, other.last_cache),
            !differ(self.cluster, other.cluster),
            Reverse(slower),
            self.capacity != other.capacity,
            self.core == 0 || other.core == 0,
        ))
    }

    /// Compares the kernel's names of the kinds of core or, if there are none, the capacity ratings.
    fn same_kind(&self, other: &Candidate) -> bool {
        match (self.kind, other.kind) {
            (None, None) => self.capacity == other.capacity,
            (one, two) => one == two,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Root;
    use crate::topology::allowed_cpus;
    use crate::trees::{SOUND, tree};

    fn duet(name: &str, allowed: &[usize]) -> Reading<(usize, usize)> {
        Topology::probe(&tree(name)).unwrap().duet_cpus(allowed)
    }

    #[test]
    fn threads_of_one_core_are_not_a_duet() {
        assert_eq!(duet("laptop-smt", &[0, 1, 2, 3]), Ok((0, 1)), "the cores are {{0, 2}} and {{1, 3}}");
        assert_eq!(duet("laptop-smt", &[2, 3]), Ok((2, 3)));
        assert_eq!(duet("laptop-smt", &[0, 2]).unwrap_err().0, "both CPUs are threads of one core");
        assert_eq!(duet("laptop-smt", &[1]).unwrap_err().0, "only one CPU may be used");
        assert_eq!(duet("laptop-smt", &[1, 9]).unwrap_err().0, "only one CPU may be used");
        assert_eq!(duet("laptop-smt", &[]).unwrap_err().0, "no CPU may be used");
    }

    #[test]
    fn duets_are_on_cores_of_one_kind() {
        assert_eq!(
            duet("hybrid-intel", &[0, 1, 2, 3, 4, 5, 6, 7]),
            Ok((0, 2)),
            "the fast cores are {{0, 1}}, {{2, 3}}"
        );
        assert_eq!(duet("hybrid-intel", &[0, 1, 4, 5, 6, 7]), Ok((4, 5)), "only one fast core is allowed");
        assert!(duet("hybrid-intel", &[0, 4]).unwrap_err().0.contains("different kinds"));
        assert!(duet("no-psi", &[0, 2]).unwrap_err().0.contains("different kinds"), "Arm: by capacity");
        assert_eq!(duet("no-psi", &[0, 1, 2, 3]), Ok((2, 3)), "the fast cores are preferred");
    }

    #[test]
    fn pairs_stay_in_one_package_and_away_from_the_first_core() {
        assert_eq!(duet("container-v2", &(0..64).collect::<Vec<_>>()), Ok((1, 2)), "0 handles interrupts");
        assert_eq!(duet("container-v2", &[0, 1, 16]), Ok((0, 1)), "16 is in the other package");
        assert_eq!(duet("container-v2", &[1, 16]), Ok((1, 16)), "two packages are better than no duet");
        assert!(duet("container-v2", &[60, 61]).unwrap_err().0.contains("does not report"));
        assert!(duet("container-v2", &[0, 61]).unwrap_err().0.contains("does not report"));
    }

    #[test]
    fn this_machine_has_a_duet_or_a_reason() {
        let root = Root::default();
        let allowed = allowed_cpus(&root).unwrap();
        if let Ok((one, two)) = Topology::probe(&root).unwrap().duet_cpus(&allowed) {
            assert!(one != two && allowed.contains(&one) && allowed.contains(&two));
        }
    }

    proptest! {
        #[test]
        fn duets_are_of_allowed_cpus(
            name in proptest::sample::select(&SOUND[..]),
            allowed in proptest::collection::vec(0_usize..66, 0..9),
        ) {
            let topology = Topology::probe(&tree(name)).unwrap();
            if let Ok((one, two)) = topology.duet_cpus(&allowed) {
                prop_assert!(one < two && allowed.contains(&one) && allowed.contains(&two));
                prop_assert!(!topology.cpu(one).unwrap().siblings.as_ref().unwrap().contains(&two));
            }
        }
    }
}
