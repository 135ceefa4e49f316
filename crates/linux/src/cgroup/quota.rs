//! CPU quota, throttling and CPU time of control groups that this process did not create.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use steady_model::{Absent, Nanos, Quota, Reading};

use super::own::parse_usage;
use super::{Version, cpu_group};
use crate::Root;
use crate::procfs::number;

/// Returns the lowest CPU quota of this process's group and those above it.
///
/// Returns `None` if no quota is set, and an error if the groups cannot be found or read. Limits above the mounted part
/// of the hierarchy are not visible.
pub fn cpu_quota(root: &Root) -> Reading<Option<Quota>> {
    let quotas = quotas(root)?.into_iter().map(|(_, quota)| quota);
    Ok(quotas.min_by(|one, other| one.cpus().total_cmp(&other.cpus())))
}

/// Returns the groups that have a quota, each with its directory, this process's own first.
fn quotas(root: &Root) -> Reading<Vec<(String, Quota)>> {
    let group = cpu_group(root)?;
    let mut found = Vec::new();
    for directory in group.directories {
        let quota = match group.version {
            Version::V1 => quota_v1(root, &directory)?,
            Version::V2 => quota_v2(root, &directory)?,
        };
        found.extend(quota.map(|quota| (directory, quota)));
    }
    Ok(found)
}

/// Returns the quota of a group of version 2. Without the file (the root group, or the controller is off) there is
/// none.
fn quota_v2(root: &Root, directory: &str) -> Reading<Option<Quota>> {
    let file = format!("{directory}/cpu.max");
    if root.has(&file) { parse_cpu_max(&root.read(&file)?) } else { Ok(None) }
}

/// Returns the quota of a group of version 1. Without the file (no CONFIG_CFS_BANDWIDTH) there is none.
fn quota_v1(root: &Root, directory: &str) -> Reading<Option<Quota>> {
    let file = format!("{directory}/cpu.cfs_quota_us");
    if !root.has(&file) {
        return Ok(None);
    }
    let quota = root.read_line(&file)?;
    if number::<i64>(Some(&quota), "CPU quota")? < 0 {
        return Ok(None);
    }
    quota_of(Some(&quota), Some(&root.read_line(&format!("{directory}/cpu.cfs_period_us"))?))
}

/// Parses the text of `cpu.max`: quota (or `max`) and period, in microseconds.
pub fn parse_cpu_max(text: &str) -> Reading<Option<Quota>> {
    let mut fields = text.split_ascii_whitespace();
    let quota = fields.next();
    if quota == Some("max") { Ok(None) } else { quota_of(quota, fields.next()) }
}

fn quota_of(quota: Option<&str>, period: Option<&str>) -> Reading<Option<Quota>> {
    let micros = |text, what| number(text, what).map(|micros: u64| Nanos(micros.saturating_mul(1_000)));
    let (quota, period) = (micros(quota, "CPU quota")?, micros(period, "period of the CPU quota")?);
    if quota == Nanos::ZERO || period == Nanos::ZERO {
        return Err(Absent::because("the CPU quota or its period is zero in the control group"));
    }
    Ok(Some(Quota { quota, period }))
}

/// Throttling by the quotas of this process's groups, since the groups were created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which the groups had something to run.
    pub periods: u64,
    /// Periods in which a quota was used up.
    pub throttled_periods: u64,
    /// Time in which runnable tasks were throttled, summed over the CPUs. It can be longer than the wall time.
    pub throttled_time: Nanos,
    /// Total length of all throttled periods: an upper bound of the wall time in which tasks were throttled.
    pub throttled_span: Nanos,
}

impl Throttling {
    fn plus(self, other: Throttling) -> Throttling {
        Throttling {
            periods: self.periods.saturating_add(other.periods),
            throttled_periods: self.throttled_periods.saturating_add(other.throttled_periods),
            throttled_time: Nanos(self.throttled_time.0.saturating_add(other.throttled_time.0)),
            throttled_span: Nanos(self.throttled_span.0.saturating_add(other.throttled_span.0)),
        }
    }
}

/// Returns the throttling of this process's group and those above it, summed over the groups that have a quota.
///
/// All values are zero without a quota, because nothing can be throttled then. Source: `cpu.stat`.
pub fn throttled(root: &Root) -> Reading<Throttling> {
    let mut sum = Throttling::default();
    for (directory, quota) in quotas(root)? {
        let text = root.read(&format!("{directory}/cpu.stat"))?;
        sum = sum.plus(parse_throttling(&text, quota.period)?);
    }
    Ok(sum)
}

/// Parses the text of a group's `cpu.stat`, of either version. `period` is the period of the group's quota.
pub fn parse_throttling(text: &str, period: Nanos) -> Reading<Throttling> {
    let field = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|&(name, _)| name == key).map(|(_, value)| value)
    };
    let throttled_periods: u64 = number(field("nr_throttled"), "nr_throttled in cpu.stat")?;
    let throttled_time = match field("throttled_usec") {
        Some(micros) => number::<u64>(Some(micros), "throttled_usec in cpu.stat")?.saturating_mul(1_000),
        None => number(field("throttled_time"), "throttled_time in cpu.stat")?,
    };
    Ok(Throttling {
        periods: number(field("nr_periods"), "nr_periods in cpu.stat")?,
        throttled_periods,
        throttled_time: Nanos(throttled_time),
        throttled_span: Nanos(throttled_periods.saturating_mul(period.0)),
    })
}

/// Reads the CPU time of all processes that were ever in a group or in groups below it.
#[derive(Debug)]
pub struct GroupUsage {
    version: Version,
    file: PathBuf,
}

impl GroupUsage {
    /// Opens the group in `folder`, of version 1 (`cpuacct.usage`) or 2 (`cpu.stat`).
    pub fn open(folder: &Path) -> Reading<Self> {
        let shown = folder.display();
        let (of_v1, of_v2) = (folder.join("cpuacct.usage"), folder.join("cpu.stat"));
        let usage = match File::open(&of_v1) {
            Ok(_) => GroupUsage { version: Version::V1, file: of_v1 },
            Err(_) => {
                let absent =
                    |error| Absent::because(format!("'{shown}' has neither cpuacct.usage nor cpu.stat ({error})"));
                File::open(&of_v2).map_err(absent)?;
                GroupUsage { version: Version::V2, file: of_v2 }
            }
        };
        // Groups of version 1 can have a cpu.stat too, without the CPU time in it.
        usage.cpu_time().map_err(|error| Absent::because(error.to_string()))?;
        Ok(usage)
    }

    /// CPU time so far. The time of a process that runs now is as of the last tick of its CPU. A group that was removed
    /// and created again, as when a service is restarted, begins at zero.
    ///
    /// # Errors
    /// The error of open(2) or read(2): ENOENT or ENODEV if the group was removed.
    pub fn cpu_time(&self) -> io::Result<Nanos> {
        self.read().map_err(|error| io::Error::new(error.kind(), format!("'{}': {error}", self.file.display())))
    }

    fn read(&self) -> io::Result<Nanos> {
        let mut bytes = [0_u8; 512];
        let length = File::open(&self.file)?.read(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes[..length]);
        let read = match self.version {
            Version::V1 => number(Some(&text), "cpuacct.usage").map(Nanos),
            Version::V2 => parse_usage(&text),
        };
        read.map_err(|absent| io::Error::other(absent.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::{SOUND, UNSOUND, tree};

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn a_group_that_is_created_again_is_read_again() {
        let folder = std::env::temp_dir().join(format!("steady-group-{}", std::process::id()));
        let begin = |usage: &str| {
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("cpu.stat"), format!("usage_usec {usage}\nuser_usec 1\n")).unwrap();
        };
        begin("5000");
        let usage = GroupUsage::open(&folder).unwrap();
        assert_eq!(usage.cpu_time().unwrap(), Nanos(5 * MILLISECOND));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(usage.cpu_time().unwrap_err().to_string().contains("cpu.stat"));
        begin("3000");
        assert_eq!(usage.cpu_time().unwrap(), Nanos(3 * MILLISECOND));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_lowest_quota_counts() {
        let cpus = |name| cpu_quota(&tree(name)).unwrap().map(|quota| quota.cpus());
        assert_eq!(cpus("vm"), None);
        assert_eq!(cpus("laptop-smt"), None);
        assert_eq!(cpus("container-v2"), Some(1.5));
        assert_eq!(cpus("cgroup-v1"), Some(0.5), "the group's own quota is lower than the container's 2 CPUs");
        assert_eq!(cpus("cgroup-hybrid"), Some(1.25), "the slice's quota is lower than the service's 3 CPUs");
    }

    #[test]
    fn throttling_is_parsed_in_both_units() {
        let v2 = throttled(&tree("container-v2")).unwrap();
        assert_eq!((v2.periods, v2.throttled_periods), (1_000, 40));
        assert_eq!(v2.throttled_time, Nanos(2_500 * MILLISECOND));
        assert_eq!(v2.throttled_span, Nanos(40 * 100 * MILLISECOND));
        let v1 = throttled(&tree("cgroup-v1")).unwrap();
        assert_eq!((v1.periods, v1.throttled_periods), (500 + 700, 12 + 3), "the sum of both groups with a quota");
        assert_eq!(v1.throttled_time, Nanos(600 * MILLISECOND + 7));
        assert_eq!(throttled(&tree("vm")), Ok(Throttling::default()));
    }

    #[test]
    fn trees_have_quotas_or_reasons() {
        for sound in SOUND {
            assert!(cpu_quota(&tree(sound)).is_ok() && throttled(&tree(sound)).is_ok(), "{sound}");
        }
        for unsound in UNSOUND {
            assert!(cpu_quota(&tree(unsound)).is_err() && throttled(&tree(unsound)).is_err(), "{unsound}");
        }
    }

    #[test]
    fn cpu_max_is_parsed() {
        assert_eq!(parse_cpu_max("max 100000\n"), Ok(None));
        let quota = Quota { quota: Nanos(150 * MILLISECOND), period: Nanos(100 * MILLISECOND) };
        assert_eq!(parse_cpu_max("150000 100000\n"), Ok(Some(quota)));
        for broken in ["", "150000", "0 100000", "1 0", "-1 100000", "x y"] {
            assert!(parse_cpu_max(broken).is_err(), "{broken}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "(\\PC|[0-9 \n]|nr_throttled |nr_periods |throttled_usec )*") {
            let _ = parse_cpu_max(&text);
            if let Ok(read) = parse_throttling(&text, Nanos(u64::MAX)) {
                let _ = read.plus(read);
            }
        }
    }

    #[test]
    fn usage_of_both_versions_is_read() {
        let folder = std::env::temp_dir().join(format!("steady-group-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(GroupUsage::open(&folder).unwrap_err().0.contains("neither"));
        std::fs::write(folder.join("cpu.stat"), "nr_periods 0\n").unwrap();
        assert!(GroupUsage::open(&folder).unwrap_err().0.contains("usage_usec"));
        std::fs::write(folder.join("cpu.stat"), "usage_usec 12\nuser_usec 3\n").unwrap();
        assert_eq!(GroupUsage::open(&folder).unwrap().cpu_time().unwrap(), Nanos(12_000));
        std::fs::write(folder.join("cpuacct.usage"), "777\n").unwrap();
        assert_eq!(GroupUsage::open(&folder).unwrap().cpu_time().unwrap(), Nanos(777));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
