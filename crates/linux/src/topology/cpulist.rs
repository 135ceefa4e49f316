//! Lists of CPUs as the kernel writes them.

use steady_model::{Absent, Reading};

use crate::procfs::{excerpt, number};

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
