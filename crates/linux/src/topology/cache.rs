//! The caches that a CPU looks through on its way to memory.

use steady_model::{Absent, Bytes, Reading};

use super::parse_cpu_list;
use crate::Root;
use crate::procfs::number;

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// Data alone.
    Data,
    /// Instructions alone.
    Instruction,
    /// Both.
    Unified,
}

/// A cache of a CPU. Fields that firmware or hypervisor do not state are absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 for the one nearest to the CPU.
    pub level: u32,
    /// What it holds.
    pub kind: CacheKind,
    /// How much it holds.
    pub size: Reading<Bytes>,
    /// What it fetches at once.
    pub line: Reading<Bytes>,
    /// The CPUs that share it, itself included.
    pub shared: Reading<Vec<usize>>,
}

/// The caches of CPU `cpu` by level; absent where the system names none.
///
/// Source: `/sys/devices/system/cpu/cpuN/cache`, `Documentation/ABI/testing/sysfs-devices-system-cpu`.
pub(super) fn caches(root: &Root, cpu: usize) -> Reading<Vec<Cache>> {
    let directory = |index: usize| format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
    let mut caches: Vec<Cache> = (0..MOST).map_while(|index| cache(root, &directory(index))).flatten().collect();
    if caches.is_empty() {
        return Err(Absent::because("the system does not tell the CPU's caches"));
    }
    caches.sort_by_key(|cache| cache.level);
    Ok(caches)
}

/// More caches than any CPU has.
const MOST: usize = 16;

/// The cache of one directory: `None` after the last, `Some(None)` for one that makes no sense.
fn cache(root: &Root, directory: &str) -> Option<Option<Cache>> {
    if !root.has(directory) {
        return None;
    }
    let read = |file: &str| root.read_line(&format!("{directory}/{file}"));
    let kind = match read("type").as_deref() {
        Ok("Data") => CacheKind::Data,
        Ok("Instruction") => CacheKind::Instruction,
        Ok("Unified") => CacheKind::Unified,
        _ => return Some(None),
    };
    let Ok(level) = read("level").and_then(|text| number(Some(&text), "cache level")) else { return Some(None) };
    let line = read("coherency_line_size").and_then(|text| number(Some(&text), "cache line size")).map(Bytes);
    let size = read("size").and_then(|text| parse_size(&text));
    let shared = read("shared_cpu_list").and_then(|text| parse_cpu_list(&text));
    Some(Some(Cache { level, kind, size, line, shared }))
}

/// Reads a cache's size, such as `48K` or `32M`. A size of nothing is no size.
fn parse_size(text: &str) -> Reading<Bytes> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1_u64),
    };
    match number::<u64>(Some(digits), "cache size")? {
        0 => Err(Absent::because("the system states a cache size of zero")),
        size => Ok(Bytes(size.saturating_mul(unit))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::tree;

    #[test]
    fn caches_are_read_by_level() {
        let caches = caches(&tree("vm"), 0).unwrap();
        assert_eq!(caches.iter().map(|cache| cache.level).collect::<Vec<_>>(), [1, 1, 2, 3]);
        assert_eq!(caches[0].size, Ok(Bytes(48 << 10)));
        assert_eq!(caches[1].kind, CacheKind::Instruction);
        assert_eq!(caches[3].shared, Ok(vec![0, 1]));
        assert_eq!(caches[3].line, Ok(Bytes(64)));
        assert!(super::caches(&tree("no-psi"), 0).is_err());
        assert!(super::caches(&tree("broken"), 0).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\PC|[0-9KM])*") {
            let _ = parse_size(&text);
        }
    }
}
