//! The caches of a CPU.

use steady_model::{Absent, Bytes, Reading};

use super::parse_cpu_list;
use crate::Root;
use crate::procfs::number;

/// What a cache stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// It stores only data.
    Data,
    /// It stores only instructions.
    Instruction,
    /// It stores data and instructions.
    Unified,
}

/// A cache of a CPU. The firmware or the hypervisor may leave fields unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Level of the cache; 1 is nearest to the CPU.
    pub level: u32,
    /// Kind of its content.
    pub kind: CacheKind,
    /// Capacity of the cache.
    pub size: Reading<Bytes>,
    /// Size of a cache line.
    pub line: Reading<Bytes>,
    /// CPUs that share the cache, including this one.
    pub shared: Reading<Vec<usize>>,
}

/// Returns the caches of CPU `cpu`, sorted by level. An error means that the system reports none.
///
/// Source: `/sys/devices/system/cpu/cpuN/cache`, `Documentation/ABI/testing/sysfs-devices-system-cpu`.
pub(super) fn caches(root: &Root, cpu: usize) -> Reading<Vec<Cache>> {
    let directory = |index: usize| format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
    let mut caches: Vec<Cache> = (0..MOST).map_while(|index| cache(root, &directory(index))).flatten().collect();
    if caches.is_empty() {
        return Err(Absent::because("the system does not report the CPU's caches"));
    }
    caches.sort_by_key(|cache| cache.level);
    Ok(caches)
}

/// Maximum number of caches to look for: more than any CPU has.
const MOST: usize = 16;

/// Reads the cache in one directory: `None` after the last directory, `Some(None)` for a malformed one.
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

/// Parses a cache size, such as `48K` or `32M`. A size of zero is an error.
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
    fn caches_are_sorted_by_level() {
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
