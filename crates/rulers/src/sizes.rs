//! Sizes of the rulers' working sets, from the caches of the CPUs.

use steady_linux::topology::{Cache, CacheKind, Cpu, Topology};
use steady_model::{Absent, Bytes, Reading};

/// Maximal working set for private caches, because a reading warms and walks all of it.
const LARGEST_PRIVATE: u64 = 4 << 20;
/// Maximal working set for the shared cache.
const LARGEST_SHARED: u64 = 8 << 20;
/// The shared working set is this multiple of the private levels. With one line of each page, half of the lines fit
/// into the private levels. In a cyclic walk, each line has been evicted when it is needed again.
const BEYOND_PRIVATE: u64 = 2;
/// From this level on, a cache counts as shared even if only one CPU is listed. A machine with one CPU is a guest on a
/// larger one.
const SHARED_ON_ANY_MACHINE: u32 = 3;

/// Sizes of working sets. A size is absent if the cache level does not exist or its size is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Half of the first-level data cache.
    pub l1: Reading<Bytes>,
    /// Half of the last cache level that no other core shares.
    pub l2: Reading<Bytes>,
    /// Twice that level, or half of the first shared level if that is less.
    pub shared: Reading<Bytes>,
}

impl Sizes {
    /// Computes the sizes for a thread that may run on any of `cpus`. Private sizes are the smallest among them, and
    /// the shared size is the largest.
    pub fn of(topology: &Reading<Topology>, cpus: &[usize]) -> Sizes {
        let each: Vec<Sizes> = match topology {
            Ok(topology) => cpus.iter().filter_map(|id| topology.cpu(*id)).map(of_cpu).collect(),
            Err(absent) => vec![without(absent)],
        };
        let nothing = || without(&Absent::because("the system does not describe the CPU's caches"));
        each.into_iter().reduce(Sizes::with).unwrap_or_else(nothing)
    }

    fn with(self, other: Sizes) -> Sizes {
        Sizes {
            l1: both(self.l1, other.l1, Bytes::min),
            l2: both(self.l2, other.l2, Bytes::min),
            shared: both(self.shared, other.shared, Bytes::max),
        }
    }
}

fn both(one: Reading<Bytes>, two: Reading<Bytes>, choose: fn(Bytes, Bytes) -> Bytes) -> Reading<Bytes> {
    Ok(choose(one?, two?))
}

fn without(absent: &Absent) -> Sizes {
    let reason = || Err(absent.clone());
    Sizes { l1: reason(), l2: reason(), shared: reason() }
}

fn of_cpu(cpu: &Cpu) -> Sizes {
    let caches: Vec<&Cache> = match &cpu.caches {
        Ok(caches) => caches.iter().filter(|cache| cache.kind != CacheKind::Instruction).collect(),
        Err(absent) => return without(absent),
    };
    let (private, shared) = match split(cpu, &caches) {
        Ok(parts) => parts,
        Err(absent) => return Sizes { l1: first_level(&caches), ..without(&absent) },
    };
    Sizes { l1: first_level(&caches), l2: last_private(private), shared: first_shared(private, shared) }
}

/// The last cache level that only this CPU's core has, and the first level that other cores share.
type Levels<'a> = (Option<&'a Cache>, Option<&'a Cache>);

fn split<'a>(cpu: &Cpu, caches: &[&'a Cache]) -> Reading<Levels<'a>> {
    let own = match &cpu.siblings {
        Ok(siblings) => siblings.clone(),
        Err(_) => vec![cpu.id],
    };
    let mut private = None;
    for cache in caches {
        let sharers = cache.shared.as_ref().map_err(|absent| {
            Absent::because(format!("the CPUs that share the cache of level {} are not known: {absent}", cache.level))
        })?;
        let alone = sharers.iter().all(|sharer| own.contains(sharer));
        if !alone || cache.level >= SHARED_ON_ANY_MACHINE {
            return Ok((private, Some(cache)));
        }
        private = Some(*cache);
    }
    Ok((private, None))
}

fn first_level(caches: &[&Cache]) -> Reading<Bytes> {
    let first = caches.iter().find(|cache| cache.level == 1);
    let size =
        &first.ok_or_else(|| Absent::because("the system does not describe the first level of data cache"))?.size;
    size.clone().map(|size| Bytes(size.0 / 2))
}

fn last_private(private: Option<&Cache>) -> Reading<Bytes> {
    match private {
        Some(cache) if cache.level > 1 => cache.size.clone().map(|size| Bytes((size.0 / 2).min(LARGEST_PRIVATE))),
        _ => Err(Absent::because("as far as the system describes, only the first cache level is private to a core")),
    }
}

fn first_shared(private: Option<&Cache>, shared: Option<&Cache>) -> Reading<Bytes> {
    let shared = shared.ok_or_else(|| Absent::because("no level of cache is shared between cores"))?;
    let half = shared.size.clone()?.0 / 2;
    let Some(private) = private else { return Ok(Bytes(half.min(LARGEST_SHARED))) };
    let private = private.size.clone()?.0;
    let size = half.min(BEYOND_PRIVATE * private).min(LARGEST_SHARED);
    if size <= private {
        return Err(Absent::because("the shared cache level is hardly larger than the private one"));
    }
    Ok(Bytes(size))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use steady_linux::Root;

    use super::*;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;

    fn sizes(tree: &str, cpus: &[usize]) -> Sizes {
        let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trees");
        Sizes::of(&Topology::probe(&Root::at(trees.join(tree))), cpus)
    }

    #[test]
    fn levels_are_private_or_shared_by_their_list_of_cpus() {
        let vm = sizes("vm", &[0, 1]);
        assert_eq!((vm.l1, vm.l2, vm.shared), (Ok(Bytes(24 * KIB)), Ok(Bytes(MIB)), Ok(Bytes(4 * MIB))));
        let laptop = sizes("laptop-smt", &[0, 1, 2, 3]);
        assert_eq!(
            (laptop.l2, laptop.shared),
            (Ok(Bytes(128 * KIB)), Ok(Bytes(512 * KIB))),
            "threads of a core share its private caches"
        );
        let server = sizes("container-v2", &[0]);
        assert_eq!((server.l2, server.shared), (Ok(Bytes(256 * KIB)), Ok(Bytes(MIB))));
    }

    #[test]
    fn a_level_shared_by_a_cluster_is_the_shared_level() {
        let efficient = sizes("hybrid-intel", &[4]);
        assert_eq!(efficient.shared, Ok(Bytes(MIB)), "half of the cluster's second level");
        assert!(efficient.l2.is_err());
    }

    #[test]
    fn threads_that_may_move_have_the_smaller_private_and_the_larger_shared_size() {
        assert_eq!(sizes("hybrid-intel", &[0, 2]).shared, Ok(Bytes(2560 * KIB)));
        assert!(sizes("hybrid-intel", &[0, 4]).l2.is_err());
    }

    #[test]
    fn unknown_sizes_are_absent() {
        assert!(sizes("cgroup-v1", &[0]).l1.unwrap_err().0.contains("first level"));
        assert!(sizes("cgroup-v1", &[0]).l2.is_err());
        for (tree, cpus) in
            [("broken", &[0][..]), ("missing", &[0]), ("vm", &[]), ("vm", &[7]), ("container-v2", &[63])]
        {
            let none = sizes(tree, cpus);
            assert!(none.l1.is_err() && none.l2.is_err() && none.shared.is_err(), "{tree}: {none:?}");
        }
    }
}
