//! Which CPUs probes are kept to.

use steady_linux::topology::Topology;
use steady_model::{Absent, Reading};

/// The CPU that all is measured on, and another for what needs two: on another core, of the same kind and near to it, where
/// there is such a one. `wanted` is one of `allowed`; without it, of the best two the one that interrupts prefer less. `None`
/// where no CPU may be used.
pub fn cpus(topology: &Reading<Topology>, allowed: &[usize], wanted: Option<usize>) -> Option<(usize, Reading<usize>)> {
    let pair = |of: &[usize]| topology.as_ref().ok().and_then(|topology| topology.duet_cpus(of).ok());
    let best = if wanted.is_none() { pair(allowed) } else { None };
    let first = wanted.or(best.map(|(one, two)| one.max(two))).or(allowed.iter().max().copied())?;
    let beside = |other: &usize| pair(&[first.min(*other), first.max(*other)]).is_some();
    let others: Vec<usize> = allowed.iter().copied().filter(|cpu| *cpu != first).collect();
    let second = best
        .map(|(one, two)| one.min(two))
        .or_else(|| others.iter().copied().find(|other| beside(other)))
        .or_else(|| others.first().copied());
    Some((first, second.ok_or_else(|| Absent::because("only one CPU may be used, and it takes two"))))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use steady_linux::Root;

    use super::*;

    fn of(tree: &str, allowed: &[usize], wanted: Option<usize>) -> Option<(usize, Option<usize>)> {
        let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trees");
        let topology = Topology::probe(&Root::at(trees.join(tree)));
        cpus(&topology, allowed, wanted).map(|(first, second)| (first, second.ok()))
    }

    #[test]
    fn the_other_cpu_is_on_another_core() {
        assert_eq!(of("vm", &[0, 1], None), Some((1, Some(0))));
        assert_eq!(of("vm", &[0, 1], Some(0)), Some((0, Some(1))));
        // CPUs 1 and 3 are threads of one core.
        assert_ne!(of("laptop-smt", &[0, 1, 2, 3], Some(1)), Some((1, Some(3))));
        assert_eq!(of("laptop-smt", &[1, 3], Some(1)), Some((1, Some(3))), "where there is none, it is a thread of it");
    }

    #[test]
    fn one_cpu_is_no_pair() {
        assert_eq!(of("vm", &[1], None), Some((1, None)));
        assert_eq!(of("vm", &[], None), None);
        assert_eq!(
            of("missing", &[2, 5], None),
            Some((5, Some(2))),
            "a machine that tells nothing has CPUs all the same"
        );
    }
}
