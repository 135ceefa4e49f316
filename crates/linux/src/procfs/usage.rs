//! Resource usage of a process so far, which `/proc` has until the process is reaped.

use steady_model::{Absent, Nanos, Reading};

use super::{number, value_of};
use crate::Root;

/// Resource usage of a process, without its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Name: the first 15 bytes of its program's name, unless it has set another one.
    pub name: String,
    /// The process that created or adopted it.
    pub parent: i32,
    /// Page faults served without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// User time, in whole ticks (100 per second).
    pub user: Nanos,
    /// System time, in whole ticks.
    pub system: Nanos,
    /// User time of the children that it has waited for, including their own such children.
    pub user_of_children: Nanos,
    /// Number of its threads.
    pub threads: u32,
    /// Start time since boot, in whole ticks.
    pub began: Nanos,
}

/// Parses the text of `/proc/PID/stat`. `tick` is the length of its ticks.
pub fn parse_process_usage(text: &str, tick: Nanos) -> Reading<ProcessUsage> {
    let nameless = || Absent::because("process status has no name in it");
    let (before, after) = text.rsplit_once(')').ok_or_else(nameless)?;
    let (_, name) = before.split_once('(').ok_or_else(nameless)?;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    // The first field after the name is number 3.
    let field = |place: usize| fields.get(place - 3).copied();
    let ticks =
        |place: usize, what: &str| number::<u64>(field(place), what).map(|ticks| Nanos(ticks.saturating_mul(tick.0)));
    Ok(ProcessUsage {
        name: name.to_owned(),
        parent: number(field(4), "parent in process status")?,
        minor_faults: number(field(10), "minor faults in process status")?,
        major_faults: number(field(12), "major faults in process status")?,
        user: ticks(14, "user time in process status")?,
        system: ticks(15, "system time in process status")?,
        user_of_children: ticks(16, "user time of children in process status")?,
        threads: number(field(20), "threads in process status")?,
        began: ticks(22, "start in process status")?,
    })
}

/// Reads the usage of process `pid`. A reaped process is an error. Source: `/proc/PID/stat`.
pub fn process_usage(root: &Root, pid: i32) -> Reading<ProcessUsage> {
    let tick = Nanos(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1));
    parse_process_usage(&root.read(&format!("/proc/{pid}/stat"))?, tick)
}

/// Context switches of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Switches in which the thread gave up its CPU to wait.
    pub voluntary: u64,
    /// Switches in which the thread was preempted.
    pub involuntary: u64,
}

/// Parses the text of `/proc/PID/status`.
pub fn parse_switches(text: &str) -> Reading<Switches> {
    let count = |key: &str| number(value_of(text, key), key);
    Ok(Switches { voluntary: count("voluntary_ctxt_switches")?, involuntary: count("nonvoluntary_ctxt_switches")? })
}

/// Reads the switches of the living threads of process `pid`. A reaped process is an error. Source:
/// `/proc/PID/task/TID/status`.
pub fn switches(root: &Root, pid: i32) -> Reading<Switches> {
    let threads = root.numbered(&format!("/proc/{pid}/task"))?;
    let each = threads.into_iter().map(|thread| root.read(&format!("/proc/{pid}/task/{thread}/status")));
    // Skip threads that end during the call.
    let each = each.filter_map(|text| parse_switches(&text.ok()?).ok());
    Ok(each.fold(Switches::default(), |sum, one| Switches {
        voluntary: sum.voluntary.saturating_add(one.voluntary),
        involuntary: sum.involuntary.saturating_add(one.involuntary),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str = "100 (a) (b) S 7 1 1 0 -1 4194304 105 9 3 8 11 12 13 14 20 0 5 0 89344 3133440 416";

    #[test]
    fn fields_are_counted_from_the_last_parenthesis() {
        let read = parse_process_usage(STAT, Nanos(10)).unwrap();
        assert_eq!((read.name.as_str(), read.parent, read.threads), ("a) (b", 7, 5));
        assert_eq!((read.minor_faults, read.major_faults), (105, 3));
        assert_eq!((read.user, read.system, read.user_of_children), (Nanos(110), Nanos(120), Nanos(130)));
        assert_eq!(read.began, Nanos(893_440));
        for broken in ["", "1 a S 1", "1 (a", "1 (a) S 7 1 1", &STAT.replace("105", "x")] {
            assert!(parse_process_usage(broken, Nanos(10)).is_err(), "{broken}");
        }
    }

    #[test]
    fn switches_are_parsed_by_name() {
        let text = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(parse_switches(text), Ok(Switches { voluntary: 12, involuntary: 3 }));
        assert!(parse_switches("voluntary_ctxt_switches:\t12\n").is_err());
    }

    #[test]
    fn this_process_has_usage() {
        let own = std::process::id() as i32;
        let read = process_usage(&Root::default(), own).unwrap();
        assert!(read.threads >= 1 && read.minor_faults > 0, "{read:?}");
        assert!(switches(&Root::default(), own).is_ok());
        assert!(process_usage(&Root::default(), i32::MAX >> 4).is_err());
        assert!(switches(&Root::default(), i32::MAX >> 4).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "(\\PC|[0-9 ():\n]|voluntary_ctxt_switches: )*") {
            let _ = parse_process_usage(&text, Nanos(10_000_000));
            let _ = parse_switches(&text);
        }
    }
}
