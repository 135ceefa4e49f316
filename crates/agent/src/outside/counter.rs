//! Readings of a counter and of CPU time from outside an application, and their increases.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use steady_linux::cgroup::GroupUsage;
use steady_linux::{Root, procfs, tree};

use super::OutsidePlan;
use super::http::Client;

/// What was added between two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Increase {
    pub(super) version: String,
    pub(super) requests: u64,
    /// In nanoseconds.
    pub(super) cpu: u64,
}

/// What was read at one moment.
#[derive(Debug)]
struct Reading {
    /// Requests by version.
    counters: BTreeMap<String, f64>,
    /// CPU time in nanoseconds.
    cpu: u64,
}

/// Reads both, again and again.
pub(super) struct Counter {
    plan: OutsidePlan,
    client: Client,
    cpu: CpuReader,
    last: Option<Reading>,
}

impl Counter {
    /// Answers that take longer than `patience` are none.
    pub(super) fn new(plan: OutsidePlan, patience: Duration) -> Result<Self, String> {
        let cpu = CpuReader::new(&plan.cpu)?;
        Ok(Counter { plan, client: Client::new(patience), cpu, last: None })
    }

    /// What was added since it was read last; `None` where nothing was, or where this is the first reading.
    ///
    /// # Errors
    /// Why nothing can be said: then the next reading is a first one again.
    pub(super) fn read(&mut self) -> Result<Option<Increase>, String> {
        let last = self.last.take();
        let now = self.read_now()?;
        let increase = last.map_or(Ok(None), |last| increase(&last, &now));
        // After a reset too, the next is counted from here on.
        self.last = Some(now);
        increase
    }

    fn read_now(&mut self) -> Result<Reading, String> {
        let metric = &self.plan.requests;
        let page = self.client.get(&metric.endpoint).map_err(|why| format!("{}: {why}", metric.endpoint))?;
        // At once, so that both are of the same moment.
        let cpu = self.cpu.read()?;
        let label = self.plan.version_label.as_deref();
        let requests = metric.read(&page, label).map_err(|why| format!("{}: {why}", metric.endpoint))?;
        let version = self.plan.version.as_deref();
        let named = requests.into_iter().map(|(found, value)| (version.map_or(found, str::to_owned), value));
        let mut requests = BTreeMap::new();
        named.for_each(|(version, value)| *requests.entry(version).or_insert(0.0) += value);
        Ok(Reading { counters: requests, cpu })
    }
}

fn increase(last: &Reading, now: &Reading) -> Result<Option<Increase>, String> {
    let (before, after) = (&last.counters, &now.counters);
    let mut grown = Vec::new();
    for (version, &value) in after {
        let added = value - before.get(version).copied().unwrap_or(0.0);
        if added < 0.0 {
            return Err("the counter has gone back: the application was started anew".to_owned());
        }
        if added >= 1.0 {
            grown.push((version, added));
        }
    }
    if before.keys().any(|version| !after.contains_key(version)) {
        return Err("the counter has gone: the application was started anew".to_owned());
    }
    let Some(cpu) = now.cpu.checked_sub(last.cpu) else {
        return Err("CPU time has gone back: processes have ended that nobody waited for".to_owned());
    };
    match grown[..] {
        [] => Ok(None),
        [(version, requests)] => Ok(Some(Increase { version: version.clone(), requests: requests as u64, cpu })),
        _ => Err("two versions were served within a second, and CPU time does not tell whose it is".to_owned()),
    }
}

/// Whose CPU time is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuOf {
    /// The control group in this folder, those below it with it.
    Group(PathBuf),
    /// This process and all below it, and what they waited for.
    Tree(i32),
}

/// Reads it.
pub(super) enum CpuReader {
    Group(GroupUsage),
    Tree(Root, i32),
}

impl CpuReader {
    /// A reader, or why there is nothing to read.
    pub(super) fn new(of: &CpuOf) -> Result<Self, String> {
        let reader = match of {
            CpuOf::Group(folder) => CpuReader::Group(GroupUsage::open(folder).map_err(|absent| absent.0)?),
            CpuOf::Tree(pid) => CpuReader::Tree(Root::default(), *pid),
        };
        reader.read().map(|_| reader)
    }

    /// Nanoseconds so far.
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
        Reading { counters, cpu }
    }

    #[test]
    fn what_was_added_is_told_and_what_cannot_be_is_refused() {
        let before = reading(&[("v1", 100.0)], 5_000);
        let added = |after: &Reading| increase(&before, after);
        let increased = Increase { version: "v1".to_owned(), requests: 20, cpu: 4_000 };
        assert_eq!(added(&reading(&[("v1", 120.0)], 9_000)), Ok(Some(increased)));
        assert_eq!(added(&reading(&[("v1", 100.0)], 9_000)), Ok(None), "nothing was served");
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
