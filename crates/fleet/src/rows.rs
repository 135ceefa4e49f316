//! Converts the series of many hosts to rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use steady_model::{
    ALL_PROCESSES, Assignment, HostSecond, ProcessRow, ReleaseRow, ReleaseRows, ReleaseRulerRow, RequestRuler,
};

use crate::answer::Series;
use crate::differences::{Differences, total_increase, values};
use crate::grid::Grid;
use crate::metrics::{AGENT_RULERS, HOST, LEVELS, LOST, PROCESSES, REQUESTS, RULERS, assigned, is_counter};
use crate::scrapes::{Host, Interval, host_of};
use crate::{FleetError, sums};

/// Blocks of hosts that are not in the rows, because scrapes are missing, an agent restarted, or values do not fit
/// together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingIntervals {
    /// The number of missing blocks, over all hosts.
    pub intervals: u64,
    /// The number of blocks that the hosts should have.
    pub of: u64,
    /// The number of hosts with missing blocks.
    pub hosts: usize,
}

/// The key of sums of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RequestKey {
    host: u32,
    version: u32,
    route: u32,
    class: u32,
    /// How the version was decided; `None` if the requests were counted from outside.
    assignment: Option<Assignment>,
}

/// Names with numbers in the order of their first use.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<String, u32>,
    all: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        self.numbers.get(name).copied().unwrap_or_else(|| {
            let number = self.all.len() as u32;
            self.numbers.insert(name.to_owned(), number);
            self.all.push(name.to_owned());
            number
        })
    }
}

/// Collects the series of two versions of a service, and converts them to rows.
pub(crate) struct RowBuilder {
    grid: Grid,
    label: String,
    /// The names of the hosts, by number.
    names: Vec<String>,
    /// The numbers of the hosts, by name.
    numbers: HashMap<String, u32>,
    hosts: Vec<Host>,
    versions: [String; 2],
    routes: Names,
    /// The first name is empty and stands for requests without a class.
    classes: Names,
    requests: Differences<RequestKey, { REQUESTS.len() }>,
    levels: Differences<RequestKey, { LEVELS.len() }>,
    processes: Differences<(u32, Option<u32>), { PROCESSES.len() }>,
    rulers: Differences<(u32, u32, RequestRuler), { RULERS.len() }>,
    agent_rulers: Differences<(u32, RequestRuler), { AGENT_RULERS.len() }>,
    states: Differences<u32, { HOST.len() - 1 }>,
    cpus: BTreeMap<u32, Vec<Option<f64>>>,
    /// Lost lines and folded requests in the window.
    lost: [f64; LOST.len()],
}

impl RowBuilder {
    /// Creates a builder without series; `label` is the label that identifies hosts.
    pub(crate) fn new(grid: Grid, label: &str, versions: [&str; 2], hosts: BTreeMap<String, Host>) -> RowBuilder {
        let (names, hosts): (Vec<String>, Vec<Host>) = hosts.into_iter().unzip();
        let mut classes = Names::default();
        classes.number("");
        RowBuilder {
            grid,
            label: label.to_owned(),
            numbers: names.iter().cloned().zip(0..).collect(),
            names,
            hosts,
            versions: versions.map(str::to_owned),
            routes: Names::default(),
            classes,
            requests: Differences::new(),
            levels: Differences::new(),
            processes: Differences::new(),
            rulers: Differences::new(),
            agent_rulers: Differences::new(),
            states: Differences::new(),
            cpus: BTreeMap::new(),
            lost: [0.0; LOST.len()],
        }
    }

    /// Adds a series of a metric of requests.
    pub(crate) fn add_requests(&mut self, series: &Series) -> Result<(), FleetError> {
        if let (Some(which), Some(key)) = (place(&REQUESTS, text(series, "__name__")), self.request_key(series)?) {
            self.requests.add(key, which, &mut self.hosts[key.host as usize], &values(series, &self.grid));
        }
        Ok(())
    }

    /// Adds a series of a metric of sums in levels.
    pub(crate) fn add_levels(&mut self, series: &Series) -> Result<(), FleetError> {
        let name = text(series, "__name__");
        if let (Some(which), Some(key)) = (place(&LEVELS, name), self.request_key(series)?) {
            let (host, values) = (&mut self.hosts[key.host as usize], values(series, &self.grid));
            match is_counter(name) {
                true => self.levels.add(key, which, host, &values),
                false => self.levels.add_gauge(key, which, host, &values),
            }
        }
        Ok(())
    }

    /// Adds a series of a metric of processes.
    pub(crate) fn add_process(&mut self, series: &Series) -> Result<(), FleetError> {
        let version = match text(series, "version") {
            "" => None,
            _ => match self.version(series) {
                Some(version) => Some(version),
                None => return Ok(()),
            },
        };
        if let (Some(which), Some(host)) = (place(&PROCESSES, text(series, "__name__")), self.host(series)?) {
            let values = values(series, &self.grid);
            self.processes.add((host, version), which, &mut self.hosts[host as usize], &values);
        }
        Ok(())
    }

    /// Returns the key of the requests of a series; `None` if its host is unknown or its version is not compared.
    fn request_key(&mut self, series: &Series) -> Result<Option<RequestKey>, FleetError> {
        let (Some(version), Some(host)) = (self.version(series), self.host(series)?) else { return Ok(None) };
        let label = text(series, "assigned");
        let assignment = assigned(label).ok_or_else(|| FleetError::UnknownAssignment(label.to_owned()))?;
        let (route, class) = (self.routes.number(text(series, "route")), self.classes.number(text(series, "class")));
        Ok(Some(RequestKey { host, version, route, class, assignment }))
    }

    /// Adds a series of a metric of rulers before requests.
    pub(crate) fn add_ruler(&mut self, series: &Series) -> Result<(), FleetError> {
        let known = (place(&RULERS, text(series, "__name__")), self.version(series), ruler(series));
        if let ((Some(which), Some(version), Some(ruler)), Some(host)) = (known, self.host(series)?) {
            let values = values(series, &self.grid);
            self.rulers.add((host, version, ruler), which, &mut self.hosts[host as usize], &values);
        }
        Ok(())
    }

    /// Adds a series of a metric of agents' own rulers.
    pub(crate) fn add_agent_ruler(&mut self, series: &Series) -> Result<(), FleetError> {
        let known = (place(&AGENT_RULERS, text(series, "__name__")), ruler(series));
        if let ((Some(which), Some(ruler)), Some(host)) = (known, self.host(series)?) {
            let values = values(series, &self.grid);
            self.agent_rulers.add((host, ruler), which, &mut self.hosts[host as usize], &values);
        }
        Ok(())
    }

    /// Adds a series of a metric of hosts.
    pub(crate) fn add_host(&mut self, series: &Series) -> Result<(), FleetError> {
        let (Some(which), Some(host)) = (place(&HOST, text(series, "__name__")), self.host(series)?) else {
            return Ok(());
        };
        let values = values(series, &self.grid);
        // The last metric, the number of CPUs, is not a counter.
        if which == HOST.len() - 1 {
            self.cpus.insert(host, values);
        } else {
            self.states.add(host, which, &mut self.hosts[host as usize], &values);
        }
        Ok(())
    }

    /// Adds a series of lost lines or folded requests.
    pub(crate) fn add_lost(&mut self, series: &Series) -> Result<(), FleetError> {
        if let (Some(which), Some(host)) = (place(&LOST, text(series, "__name__")), self.host(series)?) {
            self.lost[which] += total_increase(&self.hosts[host as usize].agents, &values(series, &self.grid));
        }
        Ok(())
    }

    /// Returns the number of the host of a series; `None` if its agent is not known.
    fn host(&self, series: &Series) -> Result<Option<u32>, FleetError> {
        Ok(self.numbers.get(host_of(series, &self.label)?).copied())
    }

    fn version(&self, series: &Series) -> Option<u32> {
        let name = text(series, "version");
        self.versions.iter().position(|version| version == name).map(|place| place as u32)
    }

    /// Returns all rows, and the intervals that are left out.
    pub(crate) fn finish(mut self, service: &str) -> (ReleaseRows, Option<MissingIntervals>) {
        let mut rows = ReleaseRows { service: service.to_owned(), ..ReleaseRows::default() };
        let requests = self.request_rows();
        let moment = |interval: &Interval| self.grid.moment(interval.from);
        rows.requests.extend(requests.into_iter().filter_map(|(place, mut row)| {
            let interval = self.hosts[row.host as usize].intervals.get(place).filter(|interval| !interval.broken)?;
            (row.second, row.span_seconds) = (moment(interval), interval.seconds);
            Some(row)
        }));
        rows.rulers = self.ruler_rows();
        rows.processes = self.process_rows();
        rows.seconds = self.host_rows();
        [rows.lost, rows.folded] = self.lost.map(|number| number as u64);
        let missing = self.missing();
        rows.routes = self.routes.all;
        if self.classes.all.len() > 1 {
            rows.classes = self.classes.all;
        }
        (rows.hosts, rows.versions) = (self.names, self.versions.into());
        (rows, missing)
    }

    /// Returns the rows of requests, each with the position of its interval among those of its host. If the metrics of
    /// a row do not fit together, its interval is marked as broken.
    fn request_rows(&mut self) -> Vec<(usize, ReleaseRow)> {
        let mut rows = Vec::new();
        for (&key, cells) in self.requests.cells() {
            let RequestKey { host, version, route, class, assignment } = key;
            let levels = self.levels.of(&key);
            for (place, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.is_known()) {
                let grown = cell.together();
                let sums = grown.and_then(|grown| sums::requests(grown, assignment.is_none())).and_then(|mut sums| {
                    if let Some(levels) = levels {
                        // Sums in levels that the store has only since this interval are not those of its requests.
                        sums.levels = sums::levels(&levels[place].with(cell.is_new[0]), &sums)?;
                    }
                    Some(sums)
                });
                let Some(sums) = sums else {
                    self.hosts[host as usize].intervals[place].broken = true;
                    continue;
                };
                if sums.requests + sums.first_requests > 0 {
                    let row = ReleaseRow {
                        second: 0,
                        host,
                        process: if assignment.is_none() { 0 } else { ALL_PROCESSES },
                        version,
                        route,
                        class,
                        assignment: assignment.unwrap_or(Assignment::None),
                        span_seconds: 0,
                        slot_seconds: 0,
                        second_of_pair: false,
                        sums,
                    };
                    rows.push((place, row));
                }
            }
        }
        rows
    }

    /// Returns the usable intervals of a host with their positions.
    fn intervals(&self, host: u32) -> impl Iterator<Item = (usize, &Interval)> {
        self.hosts[host as usize].intervals.iter().enumerate().filter(|(_, interval)| !interval.broken)
    }

    fn ruler_rows(&self) -> Vec<ReleaseRulerRow> {
        let workers = self.rulers.cells().map(|((host, version, ruler), cells)| (*host, Some(*version), *ruler, cells));
        let agents = self.agent_rulers.cells().map(|((host, ruler), cells)| (*host, None, *ruler, cells));
        let mut rows = Vec::new();
        for (host, version, ruler, cells) in workers.chain(agents) {
            rows.extend(self.intervals(host).filter_map(|(place, interval)| {
                let second = self.grid.moment(interval.from);
                let process = if version.is_some() { ALL_PROCESSES } else { 0 };
                let sums = sums::readings(cells[place].together()?)?;
                Some(ReleaseRulerRow { second, host, process, version, ruler, sums })
            }));
        }
        rows
    }

    fn process_rows(&self) -> Vec<ProcessRow> {
        let mut rows = Vec::new();
        for (&(host, version), cells) in self.processes.cells() {
            rows.extend(self.intervals(host).filter_map(|(place, interval)| {
                let second = self.grid.moment(interval.from);
                let [cpu, requests_cpu] = sums::process_cpu(cells[place].together()?)?;
                let process = ALL_PROCESSES;
                Some(ProcessRow { second, slot_seconds: 0, host, process, version, cpu, requests_cpu })
            }));
        }
        rows
    }

    fn host_rows(&self) -> Vec<HostSecond> {
        let mut rows = Vec::new();
        for (&host, cells) in self.states.cells() {
            rows.extend(self.intervals(host).filter_map(|(place, interval)| {
                let cpus = self.cpus.get(&host)?[interval.to]?;
                let grown = cells[place].together().copied().unwrap_or_default();
                Some(sums::host(&grown, cpus, self.grid.moment(interval.from), host))
            }));
        }
        rows
    }

    /// Returns the intervals that are left out, of the hosts that had requests of either version.
    fn missing(&self) -> Option<MissingIntervals> {
        let served: BTreeSet<u32> = self.requests.cells().map(|(key, _)| key.host).collect();
        let hosts: Vec<&Host> = served.iter().map(|host| &self.hosts[*host as usize]).collect();
        let intervals = hosts.iter().map(|host| host.left_out()).sum();
        (intervals > 0).then(|| MissingIntervals {
            intervals,
            of: hosts.iter().map(|host| host.expected).sum(),
            hosts: hosts.iter().filter(|host| host.left_out() > 0).count(),
        })
    }
}

fn text<'a>(series: &'a Series, label: &str) -> &'a str {
    series.labels.get(label).map_or("", String::as_str)
}

fn place(names: &[&str], name: &str) -> Option<usize> {
    names.iter().position(|one| *one == name)
}

fn ruler(series: &Series) -> Option<RequestRuler> {
    RequestRuler::ALL.into_iter().find(|ruler| ruler.name() == text(series, "ruler"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Sample;
    use crate::scrapes::AgentScrapes;

    fn series(labels: &[(&str, &str)], values: &[f64]) -> Series {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let sample = |(place, value): (usize, &f64)| Sample { at: (10 * (place + 1)) as f64, value: *value };
        Series { labels, samples: values.iter().enumerate().map(sample).collect() }
    }

    /// A builder with two hosts that have four scrapes each.
    fn builder() -> RowBuilder {
        let interval = |from| Interval { from, to: from + 1, seconds: 10, broken: false };
        let agents = vec![AgentScrapes { first: 0, last: 3, is_new: false }];
        let host = Host { agents, intervals: (0..3).map(interval).collect(), expected: 3 };
        let hosts = [("a", host.clone()), ("b", host)].map(|(name, host)| (name.to_owned(), host));
        RowBuilder::new(Grid { start: 10, step: 10, points: 4 }, "instance", ["v1", "v2"], hosts.into())
    }

    /// Adds all metrics of requests; `step` returns the increases of the metric at a position between the four scrapes.
    fn add(builder: &mut RowBuilder, host: &str, assigned: &str, step: impl Fn(usize) -> [f64; 3]) {
        for (which, name) in REQUESTS.iter().enumerate() {
            let mut sum = 100.0;
            let values: Vec<f64> = std::iter::once(0.0)
                .chain(step(which))
                .map(|grown| {
                    sum += grown;
                    sum
                })
                .collect();
            let labels =
                [("__name__", *name), ("instance", host), ("version", "v2"), ("route", "/"), ("assigned", assigned)];
            builder.add_requests(&series(&labels, &values)).unwrap();
        }
    }

    #[test]
    fn rows_need_metrics_that_fit_together() {
        let mut builder = builder();
        add(&mut builder, "a", "random", |_| [2.0, 3.0, 4.0]);
        // In the second interval, the number of requests is of another scrape than the other metrics.
        add(&mut builder, "b", "slot", |which| if which == 0 { [2.0, 0.0, 4.0] } else { [2.0, 3.0, 4.0] });
        let (rows, missing) = builder.finish("shop");
        let found: Vec<_> =
            rows.requests.iter().map(|row| (row.host, row.second, row.span_seconds, row.sums.requests)).collect();
        assert_eq!(found, [(0, 10, 10, 2), (0, 20, 10, 3), (0, 30, 10, 4), (1, 10, 10, 2), (1, 30, 10, 4)]);
        assert!(rows.requests.iter().all(|row| row.process == ALL_PROCESSES && row.version == 1));
        assert_eq!([rows.requests[0].assignment, rows.requests[4].assignment], [Assignment::Random, Assignment::Slot]);
        assert_eq!(missing, Some(MissingIntervals { intervals: 1, of: 6, hosts: 1 }));
    }

    #[test]
    fn rulers_and_hosts_use_the_intervals_of_requests_and_losses_the_window() {
        let mut builder = builder();
        add(&mut builder, "a", "random", |_| [2.0, -3.0, 4.0]);
        let grows = [0.0, 5.0, 10.0, 15.0];
        for name in AGENT_RULERS {
            builder
                .add_agent_ruler(&series(&[("__name__", name), ("instance", "a"), ("ruler", "alu")], &grows))
                .unwrap();
        }
        for name in RULERS {
            let labels = [("__name__", name), ("instance", "a"), ("ruler", "alu"), ("version", "v1")];
            builder.add_ruler(&series(&labels, &grows)).unwrap();
        }
        for name in HOST {
            builder.add_host(&series(&[("__name__", name), ("instance", "a")], &grows)).unwrap();
        }
        builder.add_lost(&series(&[("__name__", LOST[0]), ("instance", "a")], &grows)).unwrap();
        let (rows, _) = builder.finish("shop");
        // A counter decreased in the second interval.
        let seconds: Vec<u64> = rows.seconds.iter().map(|host| host.second).collect();
        assert_eq!((seconds, rows.seconds[0].cpus, rows.seconds[0].busy), (vec![10, 30], 5, Some(1.0)));
        let rulers: Vec<_> = rows.rulers.iter().map(|row| (row.process, row.version, row.sums.readings)).collect();
        assert_eq!(rulers, [(ALL_PROCESSES, Some(0), 5), (ALL_PROCESSES, Some(0), 5), (0, None, 5), (0, None, 5)]);
        assert_eq!((rows.requests.len(), rows.lost, rows.folded), (2, 15, 0));
    }

    #[test]
    fn sums_in_levels_have_a_class_and_give_no_rows_alone() {
        let mut builder = builder();
        add(&mut builder, "a", "random", |_| [2.0, 3.0, 4.0]);
        add(&mut builder, "b", "random", |_| [2.0, 3.0, 4.0]);
        let labels = |name, host, class| {
            let of =
                [("__name__", name), ("instance", host), ("version", "v2"), ("route", "/"), ("assigned", "random")];
            [of.as_slice(), &[("class", class)]].concat()
        };
        for (which, name) in REQUESTS.iter().enumerate() {
            let each = [5.0, 0.0, 0.0, 9.0, 17.0, 60.0].get(which).copied().unwrap_or(100.0);
            let values: Vec<f64> = (0..4).map(|scrape| each * f64::from(scrape)).collect();
            builder.add_requests(&series(&labels(name, "a", "hit"), &values)).unwrap();
        }
        for (which, name) in LEVELS.iter().enumerate() {
            // A covariate of host a decreases; a metric of the excess of host b is missing at its last scrape.
            let each = [1.0, 2.0, 3.0, 2.0, -0.5].get(which).copied().unwrap_or(0.25);
            let values: Vec<f64> = (0..4).map(|scrape| each * f64::from(scrape)).collect();
            builder.add_levels(&series(&labels(name, "a", "hit"), &values)).unwrap();
            let values = if which == 1 { [0.0, 1.0, 1.0].as_slice() } else { &[0.0, 1.0, 1.0, 1.0] };
            builder.add_levels(&series(&labels(name, "b", ""), values)).unwrap();
            builder.add_levels(&series(&labels(name, "b", "alone"), &[0.0, 1.0, 2.0, 3.0])).unwrap();
        }
        let (rows, missing) = builder.finish("shop");
        assert_eq!(rows.classes, ["", "hit", "alone"]);
        let of = |host, class: &str| {
            let of = |row: &&ReleaseRow| row.host == host && rows.classes[row.class as usize] == class;
            rows.requests.iter().filter(of).map(|row| (row.sums.requests, row.sums.levels)).collect::<Vec<_>>()
        };
        assert!(
            of(0, "").iter().all(|(_, levels)| *levels == steady_model::LevelSums::default()),
            "no sums in levels are published"
        );
        let hits = of(0, "hit");
        assert_eq!(hits.len(), 3);
        for (requests, levels) in hits {
            assert_eq!((requests, levels.requests, levels.exceeding), (5, 5, 1));
            assert_eq!((levels.base, levels.excess, levels.recent), (7e9, 2e9, -5e8));
            assert_eq!((levels.base_squared, levels.recent_ruler), (10e18, 2.5e17));
        }
        let requests: Vec<u64> = of(1, "").iter().map(|(requests, _)| *requests).collect();
        assert_eq!((requests, of(1, "alone").len()), (vec![2, 3], 0));
        assert_eq!(missing, Some(MissingIntervals { intervals: 1, of: 6, hosts: 1 }));
    }

    #[test]
    fn cpu_time_of_processes_may_have_a_version() {
        let mut builder = builder();
        for (name, each) in PROCESSES.into_iter().zip([2.0, 1.5]) {
            let values = [each, 2.0 * each, 3.0 * each, 4.0 * each];
            for version in ["v1", "", "v0"] {
                let labels = [("__name__", name), ("instance", "a"), ("version", version)];
                builder.add_process(&series(&labels[..if version.is_empty() { 2 } else { 3 }], &values)).unwrap();
            }
        }
        let (rows, _) = builder.finish("shop");
        let found: Vec<_> =
            rows.processes.iter().map(|row| (row.version, row.second, row.cpu, row.requests_cpu)).collect();
        let of = |version| [10, 20, 30].map(|second| (version, second, 2e9, 1.5e9));
        assert_eq!(found, [of(None), of(Some(0))].concat());
        assert!(rows.processes.iter().all(|row| row.process == ALL_PROCESSES && row.slot_seconds == 0));
    }

    #[test]
    fn unknown_assignments_are_errors() {
        let labels = [("__name__", REQUESTS[0]), ("instance", "a"), ("version", "v1"), ("assigned", "moon")];
        assert!(builder().add_requests(&series(&labels, &[1.0])).is_err_and(|why| why.to_string().contains("'moon'")));
    }
}
