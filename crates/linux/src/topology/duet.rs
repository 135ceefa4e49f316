//! Which two CPUs run the halves of a duet.

use std::cmp::Reverse;

use steady_model::{Absent, Reading};

use super::{CoreKind, Cpu, Topology};

impl Topology {
    /// The two CPUs of `allowed` on which two commands run side by side with the least that tells them apart: on two
    /// cores of one kind, in one package and behind one last-level cache where there are such.
    ///
    /// Of these, cores that share no cache below the last one come first, then fast ones, then equal ones, then
    /// those that leave alone the core of CPU 0, which interrupts prefer. Absent with the reason where there are no
    /// two such CPUs, or where which CPUs share a core is not known.
    pub fn duet_cpus(&self, allowed: &[usize]) -> Reading<(usize, usize)> {
        let usable: Vec<&Cpu> = self.cpus.iter().filter(|cpu| allowed.contains(&cpu.id)).collect();
        if usable.len() < 2 {
            return Err(Absent::because(if usable.is_empty() {
                "no CPU may be used"
            } else {
                "only one CPU may be used"
            }));
        }
        let known: Vec<Seat> = usable.iter().filter_map(|cpu| Seat::of(cpu)).collect();
        let pairs = || known.iter().enumerate().flat_map(|(at, one)| known[at + 1..].iter().map(move |two| (one, two)));
        let best = pairs().filter_map(|(one, two)| Some((one.beside(two)?, one.id, two.id))).min();
        best.map(|(_, one, two)| (one, two)).ok_or_else(|| reason(usable.len(), &known))
    }
}

fn reason(usable: usize, known: &[Seat]) -> Absent {
    if known.len() < 2 {
        return Absent::because("the system does not tell which CPUs are threads of one core");
    }
    let one_core = known.iter().all(|seat| seat.core == known[0].core);
    Absent::because(match (one_core, known.len() < usable) {
        (true, false) if usable == 2 => "both CPUs are threads of one core",
        (true, false) => "all CPUs that may be used are threads of one core",
        (true, true) => "the system does not tell which CPUs are threads of one core",
        (false, _) => "the cores that may be used are all of different kinds",
    })
}

/// What matters of a CPU: groups of CPUs are named by their lowest member.
struct Seat {
    id: usize,
    core: usize,
    cluster: Option<usize>,
    last_cache: Option<usize>,
    package: Option<i32>,
    kind: Option<CoreKind>,
    capacity: Option<u32>,
}

/// How little speaks for a pair of CPUs: the smaller, the better, the first field before the second and so on.
type Demerits = (bool, bool, bool, Reverse<u32>, bool, bool);

impl Seat {
    /// `None` where it is not known which CPUs are threads of the same core.
    fn of(cpu: &Cpu) -> Option<Seat> {
        let lowest = |cpus: &Reading<Vec<usize>>| cpus.as_ref().ok()?.iter().min().copied();
        Some(Seat {
            id: cpu.id,
            core: lowest(&cpu.siblings)?,
            cluster: lowest(&cpu.cluster),
            last_cache: cpu.last_level_cache().ok().and_then(|cache| lowest(&cache.shared)),
            package: cpu.package_id.clone().ok(),
            kind: cpu.kind,
            capacity: cpu.capacity.clone().ok(),
        })
    }

    /// What speaks against the pair; `None` where the two cannot play together.
    fn beside(&self, other: &Seat) -> Option<Demerits> {
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

    /// By the kernel's names of kinds; where it has none, by what it thinks that they can do.
    fn same_kind(&self, other: &Seat) -> bool {
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
    fn threads_of_one_core_are_no_duet() {
        assert_eq!(duet("laptop-smt", &[0, 1, 2, 3]), Ok((0, 1)), "the cores are {{0, 2}} and {{1, 3}}");
        assert_eq!(duet("laptop-smt", &[2, 3]), Ok((2, 3)));
        assert_eq!(duet("laptop-smt", &[0, 2]).unwrap_err().0, "both CPUs are threads of one core");
        assert_eq!(duet("laptop-smt", &[1]).unwrap_err().0, "only one CPU may be used");
        assert_eq!(duet("laptop-smt", &[1, 9]).unwrap_err().0, "only one CPU may be used");
        assert_eq!(duet("laptop-smt", &[]).unwrap_err().0, "no CPU may be used");
    }

    #[test]
    fn halves_play_on_cores_of_one_kind() {
        assert_eq!(
            duet("hybrid-intel", &[0, 1, 2, 3, 4, 5, 6, 7]),
            Ok((0, 2)),
            "the fast cores are {{0, 1}}, {{2, 3}}"
        );
        assert_eq!(duet("hybrid-intel", &[0, 1, 4, 5, 6, 7]), Ok((4, 5)), "of the fast cores there is but one");
        assert!(duet("hybrid-intel", &[0, 4]).unwrap_err().0.contains("different kinds"));
        assert!(duet("no-psi", &[0, 2]).unwrap_err().0.contains("different kinds"), "Arm: by capacity");
        assert_eq!(duet("no-psi", &[0, 1, 2, 3]), Ok((2, 3)), "the fast ones");
    }

    #[test]
    fn pairs_stay_in_one_package_and_away_from_the_first_core() {
        assert_eq!(duet("container-v2", &(0..64).collect::<Vec<_>>()), Ok((1, 2)), "0 is busy with interrupts");
        assert_eq!(duet("container-v2", &[0, 1, 16]), Ok((0, 1)), "16 is in the other package");
        assert_eq!(duet("container-v2", &[1, 16]), Ok((1, 16)), "rather than none");
        assert!(duet("container-v2", &[60, 61]).unwrap_err().0.contains("does not tell"));
        assert!(duet("container-v2", &[0, 61]).unwrap_err().0.contains("does not tell"));
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
