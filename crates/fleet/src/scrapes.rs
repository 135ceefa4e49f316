//! Finds the intervals between scrapes of a host's agent over which the increases of its counters are known.

use std::collections::BTreeMap;

use crate::FleetError;
use crate::answer::Series;
use crate::grid::Grid;

/// The largest distance of two successive scrapes, in blocks; otherwise scrapes between them are missing. Scrapes may
/// be early or late, so two successive ones may be two blocks apart on the grid.
const MOST_BLOCKS: f64 = 2.5;
/// The largest difference of the start times that the same agent reports, in seconds. Near a failed scrape,
/// VictoriaMetrics (1.79) changes the last digits of a constant value.
const SAME_START: f64 = 0.1;

/// The state of a host's agent at one point of the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct PointState {
    /// The time of the last scrape, in seconds since 1970.
    scraped: Option<f64>,
    /// The start time of the agent in that scrape, in seconds since 1970.
    started: Option<f64>,
    /// The number of agents with this host name.
    agents: u32,
}

/// Two successive scrapes of one agent, by the first points of the grid at which they are visible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// The first point with the earlier scrape.
    pub(crate) from: usize,
    /// The first point with the later scrape.
    pub(crate) to: usize,
    /// The time between the scrapes, in seconds.
    pub(crate) seconds: u32,
    /// Whether the values at its ends do not fit together, so that the interval must be left out.
    pub(crate) broken: bool,
}

/// The scrapes of one agent of a host. After a restart, another agent follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AgentScrapes {
    /// The first point of the grid with a scrape of this agent.
    pub(crate) first: usize,
    /// The last point of the grid with a scrape of this agent.
    pub(crate) last: usize,
    /// Whether the agent started in the window, so that its counters were 0 in the window.
    pub(crate) is_new: bool,
}

/// The intervals of one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Host {
    /// The agents of the host, one after the other.
    pub(crate) agents: Vec<AgentScrapes>,
    /// The intervals in which the agent did not restart and no scrape is missing.
    pub(crate) intervals: Vec<Interval>,
    /// The number of blocks of the grid that the host should have.
    pub(crate) expected: u64,
}

impl Host {
    /// Returns the number of blocks that are left out.
    pub(crate) fn left_out(&self) -> u64 {
        let usable = self.intervals.iter().filter(|interval| !interval.broken);
        let covered: u64 = usable.map(|interval| (interval.to - interval.from) as u64).sum();
        self.expected.saturating_sub(covered)
    }
}

/// The times of all scrapes on the grid, by host.
pub(crate) struct ScrapeTimes {
    grid: Grid,
    label: String,
    hosts: BTreeMap<String, Vec<PointState>>,
}

impl ScrapeTimes {
    /// Creates an empty collection; `label` is the label that identifies hosts.
    pub(crate) fn new(grid: Grid, label: &str) -> ScrapeTimes {
        ScrapeTimes { grid, label: label.to_owned(), hosts: BTreeMap::new() }
    }

    /// Adds the times of an agent's scrapes.
    pub(crate) fn add_scrape(&mut self, series: &Series) -> Result<(), FleetError> {
        self.add(series, |point, value| {
            point.scraped = Some(value);
            point.agents += 1;
        })
    }

    /// Adds the start times that an agent reported.
    pub(crate) fn add_start(&mut self, series: &Series) -> Result<(), FleetError> {
        self.add(series, |point, value| point.started = Some(value))
    }

    fn add(&mut self, series: &Series, mut add: impl FnMut(&mut PointState, f64)) -> Result<(), FleetError> {
        let host = host_of(series, &self.label)?;
        let length = self.grid.points;
        let points = self.hosts.entry(host.to_owned()).or_insert_with(|| vec![PointState::default(); length]);
        for sample in series.samples.iter().filter(|sample| sample.value.is_finite()) {
            if let Some(place) = self.grid.place(sample.at) {
                add(&mut points[place], sample.value);
            }
        }
        Ok(())
    }

    /// Returns the hosts with their intervals. No interval begins before second `from`.
    pub(crate) fn hosts(self, from: u64) -> Result<BTreeMap<String, Host>, FleetError> {
        for (host, points) in &self.hosts {
            let some = points.iter().filter(|point| point.agents > 0).count();
            let several = points.iter().filter(|point| point.agents > 1).count();
            if 2 * several > some {
                return Err(FleetError::Ambiguous { label: self.label, host: host.clone() });
            }
        }
        let hosts: BTreeMap<String, Vec<Option<(f64, f64)>>> = self
            .hosts
            .into_iter()
            .map(|(host, points)| (host, points.iter().map(|point| known(point, from as f64)).collect()))
            .collect();
        // Points after the last new scrape of any host are left out: the next scrapes may not have arrived yet.
        let end = hosts.values().filter_map(|points| last_new_scrape(points)).max().unwrap_or(0);
        let of = |points: &Vec<Option<(f64, f64)>>| of_host(&points[..=end], self.grid.step as f64, from as f64);
        Ok(hosts.iter().map(|(host, points)| (host.clone(), of(points))).collect())
    }
}

/// Returns the host name of a series.
pub(crate) fn host_of<'a>(series: &'a Series, label: &str) -> Result<&'a str, FleetError> {
    series.labels.get(label).map(String::as_str).ok_or_else(|| {
        let there = series.labels.keys().filter(|name| *name != "__name__").cloned().collect();
        FleetError::NoHostLabel { label: label.to_owned(), there }
    })
}

/// Returns the times of the scrape and of the agent's start, if exactly one agent was scraped at second `from` or
/// later.
fn known(point: &PointState, from: f64) -> Option<(f64, f64)> {
    let known = point.scraped.zip(point.started).filter(|_| point.agents == 1);
    known.filter(|(scraped, _)| *scraped >= from)
}

/// Returns the last point whose scrape differs from that of the point before it.
fn last_new_scrape(points: &[Option<(f64, f64)>]) -> Option<usize> {
    let scrape = |place: usize| points[place].map(|(scraped, _)| scraped);
    (0..points.len()).rev().find(|&place| points[place].is_some() && (place == 0 || scrape(place) != scrape(place - 1)))
}

/// Returns whether two start times are those of one agent.
fn is_same_agent(start: f64, other: f64) -> bool {
    (start - other).abs() < SAME_START
}

/// Returns the agents of one host. Those that follow another one started in the window, which begins at second `from`.
fn agents(points: &[Option<(f64, f64)>], from: f64) -> Vec<AgentScrapes> {
    let scrapes = points.iter().enumerate().filter_map(|(place, point)| point.map(|(_, started)| (place, started)));
    let scrapes: Vec<(usize, f64)> = scrapes.collect();
    let agents = scrapes.chunk_by(|(_, before), (_, started)| is_same_agent(*before, *started));
    let agents = agents.filter_map(|agent| agent.first().zip(agent.last())).enumerate();
    agents
        .map(|(number, (first, last))| AgentScrapes {
            first: first.0,
            last: last.0,
            is_new: number > 0 || first.1 >= from,
        })
        .collect()
}

/// Returns the intervals of one host; `step` is the length of a block in seconds, and `from` the first second of the
/// window.
fn of_host(points: &[Option<(f64, f64)>], step: f64, from: f64) -> Host {
    let Some(first) = points.iter().position(Option::is_some) else { return Host::default() };
    let expected = (points.len() - 1 - first) as u64;
    let mut host = Host { agents: agents(points, from), intervals: Vec::new(), expected };
    let mut last: Option<(usize, f64, f64)> = None;
    for (place, point) in points.iter().enumerate() {
        let Some((scraped, started)) = *point else {
            last = None;
            continue;
        };
        match last {
            Some((_, before, _)) if before == scraped => continue,
            Some((from, before, start_before))
                if is_same_agent(start_before, started)
                    && scraped > before
                    && scraped - before <= MOST_BLOCKS * step =>
            {
                let seconds = (scraped - before).round().max(1.0) as u32;
                host.intervals.push(Interval { from, to: place, seconds, broken: false });
            }
            _ => {}
        }
        last = Some((place, scraped, started));
    }
    // If only the last point has no new scrape, the next scrape may just not be due yet.
    if let Some((place, ..)) = last {
        let without_scrape = points.len() - 1 - place;
        host.expected -= if without_scrape == 1 { 1 } else { 0 };
    }
    host
}

/// Returns the median time between the samples of a series, in seconds; `None` if it has fewer than three samples.
pub(crate) fn median_gap(series: &Series) -> Option<f64> {
    let mut gaps: Vec<f64> = series.samples.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    gaps.retain(|gap| *gap > 0.0);
    gaps.sort_by(f64::total_cmp);
    (gaps.len() >= 2).then(|| gaps[gaps.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Sample;

    fn host(points: &[(f64, f64)], step: f64) -> Host {
        let points: Vec<_> = points.iter().map(|point| (point.0 > 0.0).then_some(*point)).collect();
        of_host(&points, step, 5.0)
    }

    fn places(host: &Host) -> Vec<(usize, usize, u32)> {
        host.intervals.iter().map(|one| (one.from, one.to, one.seconds)).collect()
    }

    #[test]
    fn intervals_lie_between_scrapes_of_one_agent() {
        let steady = host(&[(8.0, 1.0), (18.0, 1.0), (28.0, 1.0)], 10.0);
        assert_eq!((places(&steady), steady.left_out()), (vec![(0, 1, 10), (1, 2, 10)], 0));
        // The store rounds the start time from the second scrape on.
        let rounded = host(&[(8.0, 1e9 + 1.234_567), (18.0, 1e9 + 1.234_57), (28.0, 1e9 + 1.234_57)], 10.0);
        assert_eq!((places(&rounded), rounded.left_out()), (vec![(0, 1, 10), (1, 2, 10)], 0));
        // The agent restarted.
        let restarted = host(&[(8.0, 1.0), (18.0, 1.0), (28.0, 20.0), (38.0, 20.0)], 10.0);
        assert_eq!((places(&restarted), restarted.left_out()), (vec![(0, 1, 10), (2, 3, 10)], 1));
        // A scrape is missing.
        let interrupted = host(&[(0.0, 0.0), (8.0, 1.0), (18.0, 1.0), (0.0, 0.0), (38.0, 1.0), (48.0, 1.0)], 10.0);
        assert_eq!((places(&interrupted), interrupted.left_out()), (vec![(1, 2, 10), (4, 5, 10)], 2));
        // The last scrapes are missing.
        let gone = host(&[(8.0, 1.0), (18.0, 1.0), (0.0, 0.0), (0.0, 0.0)], 10.0);
        assert_eq!((places(&gone), gone.left_out()), (vec![(0, 1, 10)], 2));
        assert_eq!(host(&[(0.0, 0.0); 3], 10.0), Host::default());
    }

    #[test]
    fn an_agent_that_started_in_the_window_is_new() {
        let agents = |points: &[(f64, f64)]| -> Vec<(usize, usize, bool)> {
            host(points, 10.0).agents.iter().map(|agent| (agent.first, agent.last, agent.is_new)).collect()
        };
        assert_eq!(agents(&[(8.0, 1.0), (18.0, 1.0), (28.0, 20.0)]), [(0, 1, false), (2, 2, true)]);
        // A host that is added, and an agent whose scrapes are missing for a time.
        assert_eq!(agents(&[(0.0, 0.0), (18.0, 7.0), (28.0, 7.0)]), [(1, 2, true)]);
        assert_eq!(agents(&[(8.0, 1.0), (0.0, 0.0), (0.0, 0.0), (38.0, 1.0)]), [(0, 3, false)]);
        // The clock of the host is behind that of the store.
        assert_eq!(agents(&[(8.0, 1.0), (0.0, 0.0), (28.0, 4.0)]), [(0, 0, false), (2, 2, true)]);
    }

    #[test]
    fn a_scrape_at_two_points_gives_no_interval() {
        // The second scrape came just after the second point.
        let late = host(&[(9.9, 1.0), (9.9, 1.0), (29.9, 1.0), (39.9, 1.0)], 10.0);
        assert_eq!((places(&late), late.left_out()), (vec![(0, 2, 20), (2, 3, 10)], 0));
        // Two scrapes are missing.
        let missing = host(&[(9.0, 1.0), (9.0, 1.0), (9.0, 1.0), (39.0, 1.0), (49.0, 1.0)], 10.0);
        assert_eq!((places(&missing), missing.left_out()), (vec![(3, 4, 10)], 3));
    }

    fn series(labels: &[(&str, &str)], samples: &[(f64, f64)]) -> Series {
        Series {
            labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            samples: samples.iter().map(|&(at, value)| Sample { at, value }).collect(),
        }
    }

    #[test]
    fn points_after_the_last_new_scrape_of_all_hosts_are_left_out() {
        let grid = Grid { start: 10, step: 10, points: 5 };
        let mut times = ScrapeTimes::new(grid, "instance");
        let scrapes = [(10.0, 5.0), (20.0, 15.0), (30.0, 25.0), (40.0, 25.0), (50.0, 25.0)];
        let starts: Vec<(f64, f64)> = scrapes.iter().map(|(at, _)| (*at, 1.0)).collect();
        for host in ["a", "b"] {
            times.add_scrape(&series(&[("instance", host)], &scrapes)).unwrap();
            times.add_start(&series(&[("instance", host)], &starts)).unwrap();
        }
        let hosts = times.hosts(0).unwrap();
        assert_eq!((places(&hosts["b"]), hosts["b"].left_out()), (vec![(0, 1, 10), (1, 2, 10)], 0));
    }

    #[test]
    fn several_agents_of_a_host_and_missing_labels_are_errors() {
        let grid = Grid { start: 10, step: 10, points: 2 };
        let mut times = ScrapeTimes::new(grid, "instance");
        let two = [(10.0, 5.0), (20.0, 15.0)];
        times.add_scrape(&series(&[("instance", "a"), ("replica", "0")], &two)).unwrap();
        times.add_scrape(&series(&[("instance", "a"), ("replica", "1")], &two)).unwrap();
        assert!(times.hosts(0).is_err_and(|error| error.to_string().contains("'a' by the label 'instance'")));
        let nameless = ScrapeTimes::new(grid, "node").add_scrape(&series(&[("pod", "x"), ("job", "y")], &two));
        assert!(nameless.is_err_and(|error| error.to_string().ends_with("with --host-label: job, pod")));
    }

    #[test]
    fn no_interval_begins_with_a_scrape_before_the_window() {
        let mut times = ScrapeTimes::new(Grid { start: 10, step: 10, points: 3 }, "i");
        let scrapes = [(10.0, 5.0), (20.0, 15.0), (30.0, 25.0)];
        times.add_scrape(&series(&[("i", "a")], &scrapes)).unwrap();
        times.add_start(&series(&[("i", "a")], &scrapes.map(|(at, _)| (at, 1.0)))).unwrap();
        let hosts = times.hosts(6).unwrap();
        assert_eq!((places(&hosts["a"]), hosts["a"].left_out()), (vec![(1, 2, 10)], 0));
    }

    #[test]
    fn the_time_between_scrapes_is_the_median() {
        let gap = |times: &[f64]| {
            let samples: Vec<(f64, f64)> = times.iter().map(|&at| (at, 1.0)).collect();
            median_gap(&series(&[], &samples))
        };
        assert!(gap(&[1.0, 16.001, 31.0, 61.0, 76.0]).is_some_and(|gap| (gap - 15.0).abs() < 0.01));
        assert_eq!(gap(&[1.0, 2.0]), None);
    }
}
