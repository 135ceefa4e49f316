//! Conditions that change the speed of a host and that no file can set.

use std::collections::BTreeMap;

use steady_model::{Absent, Condition, ConditionState, Nanos, Reading};

use crate::procfs::{self, number};
use crate::topology::{online_cpus, parse_cpu_list};
use crate::{Root, cgroup};

/// Programs that are known to wake up by themselves, with what they do. The kernel cuts their names to 15 bytes.
const WAKERS: [(&str, &str); 22] = [
    ("irqbalance", "moves interrupts"),
    ("tuned", "sets knobs"),
    ("power-profiles-", "sets knobs"),
    ("auto-cpufreq", "sets knobs"),
    ("tlp", "sets knobs"),
    ("thermald", "slows CPUs down"),
    ("cron", "starts programs"),
    ("crond", "starts programs"),
    ("anacron", "starts programs"),
    ("atd", "starts programs"),
    ("apt.systemd.dai", "updates"),
    ("apt-get", "updates"),
    ("dpkg", "updates"),
    ("unattended-upgr", "updates"),
    ("packagekitd", "updates"),
    ("snapd", "updates"),
    ("fwupd", "updates"),
    ("dnf", "updates"),
    ("updatedb", "reads all folders"),
    ("updatedb.mlocat", "reads all folders"),
    ("baloo_file", "reads all files"),
    ("tracker-miner-f", "reads all files"),
];

/// The share of CPU time from which on other processes disturb measurements.
const BUSY: f64 = 0.1;

/// The least number of CPUs that a named program keeps busy: less would be printed as 0.0.
const NAMED: f64 = 0.05;

/// CPU time of all processes until now.
#[derive(Clone, Debug)]
pub struct ProcessTimes {
    read_at: Nanos,
    /// Name and CPU time, by process number and start time since boot.
    of: BTreeMap<(i32, Nanos), (String, Nanos)>,
}

impl ProcessTimes {
    /// Reads the CPU time of all processes. `now` is the time of a monotonic clock.
    pub fn read(root: &Root, now: Nanos) -> Self {
        let processes = root.numbered("/proc").unwrap_or_default();
        // A process that ended during the loop has no usage.
        let usages = processes.into_iter().filter_map(|pid| Some((pid, procfs::process_usage(root, pid).ok()?)));
        let of = usages.map(|(pid, usage)| ((pid, usage.began), (usage.name, usage.user + usage.system))).collect();
        ProcessTimes { read_at: now, of }
    }

    /// Returns the names of the programs that have used most CPU time since `earlier`, with the number of CPUs that
    /// they kept busy, without the process `except`. Programs of the same name count together.
    pub fn busiest_since(&self, earlier: &ProcessTimes, except: i32) -> Vec<(String, f64)> {
        /// The most programs to return.
        const MOST: usize = 3;
        let elapsed = (self.read_at - earlier.read_at).seconds();
        let mut programs: BTreeMap<&str, f64> = BTreeMap::new();
        for (key, (name, time)) in self.of.iter().filter(|((pid, _), _)| *pid != except) {
            let before = earlier.of.get(key).map_or(Nanos::ZERO, |(_, time)| *time);
            *programs.entry(name).or_default() += (*time - before).seconds() / elapsed;
        }
        let mut programs: Vec<(String, f64)> = programs
            .into_iter()
            .filter(|(_, cpus)| *cpus >= NAMED)
            .map(|(name, cpus)| (name.to_owned(), cpus))
            .collect();
        programs.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        programs.truncate(MOST);
        programs
    }
}

/// Returns all conditions. The caller measures over time the shares of the CPU time that other processes (`busy`) and
/// other guests (`steal`) use, because no file has their current values, and which programs use most.
pub fn conditions(
    root: &Root,
    busy: Reading<f64>,
    busiest: &[(String, f64)],
    steal: Reading<f64>,
) -> Vec<ConditionState> {
    let state = |name, value: Reading<(String, bool)>| {
        let disturbs = value.as_ref().is_ok_and(|(_, disturbs)| *disturbs);
        ConditionState { name, value: value.map(|(text, _)| text), disturbs }
    };
    vec![
        state(Condition::Power, power(root)),
        state(Condition::Throttling, throttling(root)),
        state(Condition::IsolatedCpus, isolated(root)),
        state(Condition::BusyCpus, busy.map(|ratio| (busy_cpus(root, ratio, busiest), ratio >= BUSY))),
        state(Condition::Steal, steal.map(|ratio| (format!("{:.1} %", ratio * 100.0), ratio > 0.0005))),
        state(Condition::Wakers, wakers(root)),
        state(Condition::CpuQuota, quota(root)),
        state(Condition::Hypervisor, hypervisor(root)),
    ]
}

/// Power supply. Source: `Documentation/ABI/testing/sysfs-class-power`.
fn power(root: &Root) -> Reading<(String, bool)> {
    const SUPPLIES: &str = "/sys/class/power_supply";
    let (mut mains, mut battery, mut draining) = (None, false, false);
    for name in super::entries_of(root, SUPPLIES) {
        let line = |file: &str| root.read_line(&format!("{SUPPLIES}/{name}/{file}")).unwrap_or_default();
        match line("type").as_str() {
            "Mains" | "USB" if !line("online").is_empty() => {
                mains = Some(mains.unwrap_or(false) || line("online") != "0");
            }
            // Devices such as mice have batteries too.
            "Battery" if line("scope") != "Device" => {
                battery = true;
                draining |= line("status") == "Discharging";
            }
            _ => {}
        }
    }
    match (mains, draining) {
        (Some(true), _) => Ok(("mains".to_owned(), false)),
        (_, true) => Ok(("battery".to_owned(), true)),
        (Some(false), false) if battery => Ok(("no mains".to_owned(), true)),
        // Without a battery, a supply that is not in use is an unused port.
        (_, false) => Err(Absent::because("the kernel reports no power supply")),
    }
}

/// Thermal throttling. Source: `Documentation/ABI/testing/sysfs-devices-system-cpu`.
fn throttling(root: &Root) -> Reading<(String, bool)> {
    let mut counts = Vec::new();
    for name in super::entries_of(root, "/sys/devices/system/cpu") {
        let is_cpu = name.strip_prefix("cpu").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        let file = format!("/sys/devices/system/cpu/{name}/thermal_throttle/core_throttle_count");
        if is_cpu && root.has(&file) {
            counts.push(number::<u64>(Some(&root.read_line(&file)?), "core_throttle_count")?);
        }
    }
    let most = counts.into_iter().max().ok_or_else(|| Absent::because("these CPUs do not count throttling"))?;
    Ok(match most {
        0 => ("none since boot".to_owned(), false),
        1 => ("once since boot, on one core".to_owned(), true),
        most => (format!("{most} times since boot, on the core with the most"), true),
    })
}

fn isolated(root: &Root) -> Reading<(String, bool)> {
    let list = |name: &str| -> Reading<Option<String>> {
        let text = root.read(&format!("/sys/devices/system/cpu/{name}"))?;
        // Without the boot parameter nohz_full=, older kernels write "(null)".
        let text = text.trim();
        let none = text.is_empty() || text == "(null)";
        if none { Ok(None) } else { parse_cpu_list(text).map(|_| Some(text.to_owned())) }
    };
    let isolated = list("isolated")?;
    let tickless = list("nohz_full").unwrap_or_default();
    let parts = [isolated.map(|cpus| format!("CPUs {cpus}")), tickless.map(|cpus| format!("without tick: {cpus}"))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Ok((if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }, false))
}

/// CPU time of other processes, and the load average, which also shows what runs only now and then. `busiest` has no
/// programs that use little, no processes that ended, and none whose times cannot be read, so it may lack most of it.
fn busy_cpus(root: &Root, ratio: f64, busiest: &[(String, f64)]) -> String {
    let load = procfs::load_average(root);
    let load =
        load.map_or_else(|_| String::new(), |load| format!("; load average over a minute {:.2}", load.one_minute));
    let named: f64 = busiest.iter().map(|(_, cpus)| cpus).sum();
    let rest = online_cpus(root).map_or(0.0, |online| ratio * online.len() as f64 - named);
    let rest = (rest >= NAMED).then(|| ("other or short-lived processes".to_owned(), rest));
    let parts: Vec<String> =
        busiest.iter().chain(&rest).map(|(name, cpus)| format!("{name} ({cpus:.1} CPUs)")).collect();
    let parts = if busiest.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    format!("other processes use {:.0} % of the CPU time{parts}{load}", ratio * 100.0)
}

/// Known programs that run now, and enabled systemd timers.
fn wakers(root: &Root) -> Reading<(String, bool)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for process in root.numbered("/proc")? {
        // A process that ended during the loop has no name.
        let Ok(name) = root.read_line(&format!("/proc/{process}/comm")) else { continue };
        let known = WAKERS.iter().find(|(known, _)| *known == name);
        found.extend(known.filter(|one| !found.contains(one)).copied().into_iter().collect::<Vec<_>>());
    }
    found.sort_unstable();
    let mut parts: Vec<String> = found.iter().map(|(name, does)| format!("{name} ({does})")).collect();
    let timers = timers(root);
    if !timers.is_empty() {
        parts.push(format!("timers {}", timers.join(", ")));
    }
    Ok(if parts.is_empty() { ("no known program runs".to_owned(), false) } else { (parts.join(", "), true) })
}

/// Returns whether a program with this name runs.
pub fn runs(root: &Root, name: &str) -> bool {
    let processes = root.numbered("/proc").unwrap_or_default();
    processes.iter().any(|process| root.read_line(&format!("/proc/{process}/comm")).is_ok_and(|comm| comm == name))
}

/// Returns the timers that systemd starts, if it runs: the links in the directories of its timers target.
fn timers(root: &Root) -> Vec<String> {
    if !root.has("/run/systemd/system") {
        return Vec::new();
    }
    let folders = ["/etc/systemd/system/timers.target.wants", "/usr/lib/systemd/system/timers.target.wants"];
    let names = folders.into_iter().flat_map(|folder| super::entries_of(root, folder));
    let mut names: Vec<String> = names.filter_map(|name| name.strip_suffix(".timer").map(str::to_owned)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn quota(root: &Root) -> Reading<(String, bool)> {
    Ok(match cgroup::cpu_quota(root)? {
        None => ("none".to_owned(), false),
        Some(quota) => (format!("{:.2} CPUs", quota.cpus()), true),
    })
}

fn hypervisor(root: &Root) -> Reading<(String, bool)> {
    Ok(match procfs::hypervisor(root)? {
        None => ("none".to_owned(), false),
        Some(name) => (format!("{name}: the load of other guests on its host is not visible"), true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_that_use_most_are_named() {
        let times = |read_at: u64, of: &[(i32, u64, &str, u64)]| {
            let one = |&(pid, began, name, used): &(i32, u64, &str, u64)| {
                ((pid, Nanos(began)), (name.to_owned(), Nanos(used * 1_000_000)))
            };
            ProcessTimes { read_at: Nanos(read_at * 1_000_000), of: of.iter().map(one).collect() }
        };
        let before = times(1_000, &[(1, 0, "init", 90), (7, 5, "cc1", 400), (8, 5, "spin", 0), (9, 5, "steady", 0)]);
        let after = times(
            1_500,
            &[
                (1, 0, "init", 100),
                // Another process with the number of one that ended.
                (7, 900, "cc1", 100),
                (8, 5, "spin", 500),
                (10, 950, "cc1", 200),
                (9, 5, "steady", 450),
            ],
        );
        let found = after.busiest_since(&before, 9);
        let found: Vec<String> = found.iter().map(|(name, cpus)| format!("{name} {cpus:.2}")).collect();
        assert_eq!(found, ["spin 1.00", "cc1 0.60"]);
    }

    #[test]
    fn cpu_time_that_no_named_program_used_is_stated() {
        let root = crate::trees::tree("affinity");
        let shown = |busiest: &[(String, f64)]| busy_cpus(&root, 0.9, busiest);
        let named = [("python3".to_owned(), 0.1), ("cc1".to_owned(), 1.0)];
        let expected = "other processes use 90 % of the CPU time: python3 (0.1 CPUs), cc1 (1.0 CPUs), other or \
                        short-lived processes (6.1 CPUs)";
        assert_eq!(shown(&named), expected);
        assert_eq!(shown(&[("cc1".to_owned(), 7.2)]), "other processes use 90 % of the CPU time: cc1 (7.2 CPUs)");
        assert_eq!(shown(&[]), "other processes use 90 % of the CPU time");
    }
}
