//! Reads an application's counter of requests and its CPU time, and computes their increases.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use steady_linux::cgroup::GroupUsage;
use steady_linux::{Root, clock, procfs, tree};
use steady_model::Nanos;

use super::OutsidePlan;
use super::http::Client;

/// The increase between two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Increase {
    pub(super) version: String,
    pub(super) requests: u64,
    /// CPU time in nanoseconds.
    pub(super) cpu: u64,
}

/// The values at one moment.
#[derive(Debug)]
struct Reading {
    /// Requests since the application started, by version.
    counters: BTreeMap<String, f64>,
    /// CPU time since the application started, in nanoseconds.
    cpu: u64,
    /// The time on the monotonic clock.
    at: Nanos,
}

/// The longest time whose CPU time counts for the next requests that end.
const LONGEST_WAIT: Nanos = Nanos(60_000_000_000);

/// Reads the counter and the CPU time, and remembers the last reading.
pub(super) struct Counter {
    plan: OutsidePlan,
    client: Client,
    cpu: CpuReader,
    last: Option<Reading>,
}

impl Counter {
    /// Creates a counter. A page that takes longer than `timeout` is a failed reading.
    pub(super) fn new(plan: OutsidePlan, timeout: Duration) -> Result<Self, String> {
        let cpu = CpuReader::new(&plan.cpu)?;
        Ok(Counter { plan, client: Client::new(timeout), cpu, last: None })
    }

    /// Reads both, and returns the increase since the last requests: `None` if there was no request since, or if this is
    /// the first reading.
    ///
    /// # Errors
    /// The reason why the increase is not known. After a failed reading, the next one starts the count again.
    pub(super) fn read(&mut self) -> Result<Option<Increase>, String> {
        let last = self.last.take();
        let now = self.read_now()?;
        let increase = last.as_ref().map_or(Ok(None), |last| increase(last, &now));
        // Requests that have not ended yet used the CPU too. After a reset of the counter, the next increase starts from
        // this reading.
        let goes_on = |last: &Reading| increase == Ok(None) && now.at - last.at < LONGEST_WAIT;
        self.last = last.filter(goes_on).or(Some(now));
        increase
    }

    fn read_now(&mut self) -> Result<Reading, String> {
        let metric = &self.plan.requests;
        let page = self.client.get(&metric.endpoint).map_err(|why| format!("{}: {why}", metric.endpoint))?;
        // Read directly after the page, so that both values belong to nearly the same moment.
        let cpu = self.cpu.read()?;
        let label = self.plan.version_label.as_deref();
        let requests = metric.read(&page, label).map_err(|why| format!("{}: {why}", metric.endpoint))?;
        let version = self.plan.version.as_deref();
        let named = requests.into_iter().map(|(found, value)| (version.map_or(found, str::to_owned), value));
        let mut requests = BTreeMap::new();
        named.for_each(|(version, value)| *requests.entry(version).or_insert(0.0) += value);
        Ok(Reading { counters: requests, cpu, at: clock::monotonic() })
    }
}

fn increase(last: &Reading, now: &Reading) -> Result<Option<Increase>, String> {
    let (before, after) = (&last.counters, &now.counters);
    let mut grown = Vec::new();
    for (version, &value) in after {
        let added = value - before.get(version).copied().unwrap_or(0.0);
        if added < 0.0 {
            return Err("the counter went back: the application was restarted".to_owned());
        }
        if added >= 1.0 {
            grown.push((version, added));
        }
    }
    if before.keys().any(|version| !after.contains_key(version)) {
        return Err("a series of the counter disappeared: the application was restarted".to_owned());
    }
    let Some(cpu) = now.cpu.checked_sub(last.cpu) else {
        let why = "CPU time went back: the service was restarted, or a parent did not wait for a process that ended \
                   (wait(2))";
        return Err(why.to_owned());
    };
    match grown[..] {
        [] => Ok(None),
        [(version, requests)] => Ok(Some(Increase { version: version.clone(), requests: requests as u64, cpu })),
        _ => {
            Err("several versions answered requests within a second, and their CPU time cannot be separated".to_owned())
        }
    }
}

/// The processes whose CPU time is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuOf {
    /// The processes of the control group at this path and of the groups below it.
    Group(PathBuf),
    /// The process with this ID and its descendants, with the children that they have waited for.
    Tree(i32),
}

/// Reads the CPU time of [`CpuOf`].
pub(super) enum CpuReader {
    Group(GroupUsage),
    Tree(Root, i32),
}

impl CpuReader {
    /// Creates a reader. Returns an error if the CPU time cannot be read now.
    pub(super) fn new(of: &CpuOf) -> Result<Self, String> {
        let reader = match of {
            CpuOf::Group(folder) => CpuReader::Group(GroupUsage::open(folder).map_err(|absent| absent.0)?),
            CpuOf::Tree(pid) => CpuReader::Tree(Root::default(), *pid),
        };
        reader.read().map(|_| reader)
    }

    /// Reads the CPU time so far, in nanoseconds.
    pub(super) fn read(&self) -> Result<u64, String> {
        match self {
            CpuReader::Group(usage) => usage.cpu_time().map(|time| time.0).map_err(|error| error.to_string()),
            CpuReader::Tree(root, pid) => {
                if tree::own_cpu_time(*pid).is_err() {
                    return Err(format!("there is no process {pid}"));
                }
                let mut processes = procfs::descendants(root, *pid).map_err(|absent| absent.0)?;
                processes.push(*pid);
                Ok(tree::cpu_time(root, &processes).0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(requests: &[(&str, f64)], cpu: u64) -> Reading {
        let counters = requests.iter().map(|(version, value)| ((*version).to_owned(), *value)).collect();
        Reading { counters, cpu, at: Nanos::ZERO }
    }

    #[test]
    fn increases_are_computed_and_resets_are_refused() {
        let before = reading(&[("v1", 100.0)], 5_000);
        let added = |after: &Reading| increase(&before, after);
        let increased = Increase { version: "v1".to_owned(), requests: 20, cpu: 4_000 };
        assert_eq!(added(&reading(&[("v1", 120.0)], 9_000)), Ok(Some(increased)));
        assert_eq!(added(&reading(&[("v1", 100.0)], 9_000)), Ok(None), "no request was answered");
        let other = Increase { version: "v2".to_owned(), requests: 7, cpu: 1 };
        assert_eq!(added(&reading(&[("v1", 100.0), ("v2", 7.0)], 5_001)), Ok(Some(other)));
        for refused in [
            reading(&[("v1", 3.0)], 9_000),
            reading(&[("v2", 3.0)], 9_000),
            reading(&[("v1", 120.0)], 4_000),
            reading(&[("v1", 120.0), ("v2", 3.0)], 9_000),
        ] {
            assert!(added(&refused).is_err(), "{refused:?}");
        }
    }
}
