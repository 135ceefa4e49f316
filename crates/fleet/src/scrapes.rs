//! Between which scrapes of a host's agent its counters can be held against each other.

use std::collections::BTreeMap;

use crate::FleetError;
use crate::answer::Series;
use crate::grid::Grid;

/// Scrapes that are further apart than so many blocks have others between them that are missing. Two of a block each
/// may be two blocks apart on the grid, for scrapes come somewhat early or late.
const FURTHEST: f64 = 2.5;
/// An agent is the same if it says to have begun within so many seconds of what it said before: beside a scrape that failed,
/// VictoriaMetrics (1.79) has changed the last digits of one that stays.
const SAME_BEGIN: f64 = 0.1;

/// What is seen of a host's agent at one point of the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sight {
    /// When it was scraped last, in seconds since 1970.
    scraped: Option<f64>,
    /// When it said then that it had begun.
    began: Option<f64>,
    /// How many agents there were.
    agents: u32,
}

/// Two scrapes of one agent, by the points of the grid that saw them first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// The point that saw the one.
    pub(crate) from: usize,
    /// The point that saw the other.
    pub(crate) to: usize,
    /// How much time lies between them.
    pub(crate) seconds: u32,
    /// Whether what was read at its ends does not fit together: nothing of it counts.
    pub(crate) broken: bool,
}

/// The intervals of one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Host {
    /// Those in which its agent did not begin anew, and between which no scrape is missing.
    pub(crate) intervals: Vec<Interval>,
    /// How many blocks of the grid were looked for.
    pub(crate) looked_for: u64,
}

impl Host {
    /// Blocks that are left out.
    pub(crate) fn left_out(&self) -> u64 {
        let whole = self.intervals.iter().filter(|interval| !interval.broken);
        let held: u64 = whole.map(|interval| (interval.to - interval.from) as u64).sum();
        self.looked_for.saturating_sub(held)
    }
}

/// All hosts' agents on the grid.
pub(crate) struct Sights {
    grid: Grid,
    label: String,
    hosts: BTreeMap<String, Vec<Sight>>,
}

impl Sights {
    /// Nothing is seen yet; `label` tells hosts.
    pub(crate) fn new(grid: Grid, label: &str) -> Sights {
        Sights { grid, label: label.to_owned(), hosts: BTreeMap::new() }
    }

    /// Adds when an agent was scraped.
    pub(crate) fn add_scraped(&mut self, series: &Series) -> Result<(), FleetError> {
        self.each(series, |sight, value| {
            sight.scraped = Some(value);
            sight.agents += 1;
        })
    }

    /// Adds when it said that it had begun.
    pub(crate) fn add_began(&mut self, series: &Series) -> Result<(), FleetError> {
        self.each(series, |sight, value| sight.began = Some(value))
    }

    fn each(&mut self, series: &Series, mut add: impl FnMut(&mut Sight, f64)) -> Result<(), FleetError> {
        let host = host_of(series, &self.label)?;
        let points = self.grid.points;
        let sights = self.hosts.entry(host.to_owned()).or_insert_with(|| vec![Sight::default(); points]);
        for sample in series.samples.iter().filter(|sample| sample.value.is_finite()) {
            if let Some(place) = self.grid.place(sample.at) {
                add(&mut sights[place], sample.value);
            }
        }
        Ok(())
    }

    /// The hosts with their intervals. What happened before second `from` is in none.
    pub(crate) fn hosts(self, from: u64) -> Result<BTreeMap<String, Host>, FleetError> {
        for (host, sights) in &self.hosts {
            let seen = sights.iter().filter(|sight| sight.agents > 0).count();
            let several = sights.iter().filter(|sight| sight.agents > 1).count();
            if 2 * several > seen {
                return Err(FleetError::Ambiguous { label: self.label, host: host.clone() });
            }
        }
        let hosts: BTreeMap<String, Vec<Option<(f64, f64)>>> = self
            .hosts
            .into_iter()
            .map(|(host, sights)| (host, sights.iter().map(|sight| known(sight, from as f64)).collect()))
            .collect();
        // The newest scrapes may not have arrived yet, of any host.
        let end = hosts.values().filter_map(|points| last_news(points)).max().unwrap_or(0);
        let of = |points: &Vec<Option<(f64, f64)>>| of_host(&points[..=end], self.grid.step as f64);
        Ok(hosts.iter().map(|(host, points)| (host.clone(), of(points))).collect())
    }
}

/// The name of the host that a series is of.
pub(crate) fn host_of<'a>(series: &'a Series, label: &str) -> Result<&'a str, FleetError> {
    series.labels.get(label).map(String::as_str).ok_or_else(|| {
        let there = series.labels.keys().filter(|name| *name != "__name__").cloned().collect();
        FleetError::NoHostLabel { label: label.to_owned(), there }
    })
}

/// The scrape and the agent's beginning, where both are known of one agent and within the window.
fn known(sight: &Sight, from: f64) -> Option<(f64, f64)> {
    let known = sight.scraped.zip(sight.began).filter(|_| sight.agents == 1);
    known.filter(|(scraped, _)| *scraped >= from)
}

/// The last point that saw another scrape than the point before it.
fn last_news(points: &[Option<(f64, f64)>]) -> Option<usize> {
    let scrape = |place: usize| points[place].map(|(scraped, _)| scraped);
    (0..points.len()).rev().find(|&place| points[place].is_some() && (place == 0 || scrape(place) != scrape(place - 1)))
}

/// The intervals of one host, whose blocks are `step` seconds long.
fn of_host(points: &[Option<(f64, f64)>], step: f64) -> Host {
    let Some(first) = points.iter().position(Option::is_some) else { return Host::default() };
    let mut host = Host { intervals: Vec::new(), looked_for: (points.len() - 1 - first) as u64 };
    let mut last: Option<(usize, f64, f64)> = None;
    for (place, point) in points.iter().enumerate() {
        let Some((scraped, began)) = *point else {
            last = None;
            continue;
        };
        match last {
            Some((_, before, _)) if before == scraped => continue,
            Some((from, before, begun))
                if (begun - began).abs() < SAME_BEGIN && scraped > before && scraped - before <= FURTHEST * step =>
            {
                let seconds = (scraped - before).round().max(1.0) as u32;
                host.intervals.push(Interval { from, to: place, seconds, broken: false });
            }
            _ => {}
        }
        last = Some((place, scraped, began));
    }
    // Its next scrape may be due only now.
    if let Some((place, ..)) = last {
        let waited = points.len() - 1 - place;
        host.looked_for -= if waited == 1 { 1 } else { 0 };
    }
    host
}

/// The median of what lies between a series' samples, in seconds; `None` of fewer than three samples.
pub(crate) fn usual_gap(series: &Series) -> Option<f64> {
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
        of_host(&points, step)
    }

    fn places(host: &Host) -> Vec<(usize, usize, u32)> {
        host.intervals.iter().map(|one| (one.from, one.to, one.seconds)).collect()
    }

    #[test]
    fn intervals_lie_between_scrapes_of_one_agent() {
        let steady = host(&[(8.0, 1.0), (18.0, 1.0), (28.0, 1.0)], 10.0);
        assert_eq!((places(&steady), steady.left_out()), (vec![(0, 1, 10), (1, 2, 10)], 0));
        // It is kept with fewer digits from some moment on.
        let rounded = host(&[(8.0, 1e9 + 1.234_567), (18.0, 1e9 + 1.234_57), (28.0, 1e9 + 1.234_57)], 10.0);
        assert_eq!((places(&rounded), rounded.left_out()), (vec![(0, 1, 10), (1, 2, 10)], 0));
        // It began anew.
        let anew = host(&[(8.0, 1.0), (18.0, 1.0), (28.0, 20.0), (38.0, 20.0)], 10.0);
        assert_eq!((places(&anew), anew.left_out()), (vec![(0, 1, 10), (2, 3, 10)], 1));
        // It was not there for a while, and later no more.
        let away = host(&[(0.0, 0.0), (8.0, 1.0), (18.0, 1.0), (0.0, 0.0), (38.0, 1.0), (48.0, 1.0)], 10.0);
        assert_eq!((places(&away), away.left_out()), (vec![(1, 2, 10), (4, 5, 10)], 2));
        let gone = host(&[(8.0, 1.0), (18.0, 1.0), (0.0, 0.0), (0.0, 0.0)], 10.0);
        assert_eq!((places(&gone), gone.left_out()), (vec![(0, 1, 10)], 2));
        assert_eq!(host(&[(0.0, 0.0); 3], 10.0), Host::default());
    }

    #[test]
    fn a_scrape_that_is_seen_twice_is_no_interval() {
        // It came just behind the second point.
        let late = host(&[(9.9, 1.0), (9.9, 1.0), (29.9, 1.0), (39.9, 1.0)], 10.0);
        assert_eq!((places(&late), late.left_out()), (vec![(0, 2, 20), (2, 3, 10)], 0));
        // Nothing came for long.
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
    fn points_that_saw_nothing_new_of_anybody_are_not_over_yet() {
        let grid = Grid { start: 10, step: 10, points: 5 };
        let mut sights = Sights::new(grid, "instance");
        let times = [(10.0, 5.0), (20.0, 15.0), (30.0, 25.0), (40.0, 25.0), (50.0, 25.0)];
        let began: Vec<(f64, f64)> = times.iter().map(|(at, _)| (*at, 1.0)).collect();
        for host in ["a", "b"] {
            sights.add_scraped(&series(&[("instance", host)], &times)).unwrap();
            sights.add_began(&series(&[("instance", host)], &began)).unwrap();
        }
        let hosts = sights.hosts(0).unwrap();
        assert_eq!((places(&hosts["b"]), hosts["b"].left_out()), (vec![(0, 1, 10), (1, 2, 10)], 0));
    }

    #[test]
    fn hosts_have_one_agent_and_a_label() {
        let grid = Grid { start: 10, step: 10, points: 2 };
        let mut sights = Sights::new(grid, "instance");
        let two = [(10.0, 5.0), (20.0, 15.0)];
        sights.add_scraped(&series(&[("instance", "a"), ("replica", "0")], &two)).unwrap();
        sights.add_scraped(&series(&[("instance", "a"), ("replica", "1")], &two)).unwrap();
        assert!(sights.hosts(0).is_err_and(|error| error.to_string().contains("'a' by the label 'instance'")));
        let nameless = Sights::new(grid, "node").add_scraped(&series(&[("pod", "x"), ("job", "y")], &two));
        assert!(nameless.is_err_and(|error| error.to_string().ends_with("one of job, pod")));
    }

    #[test]
    fn what_was_scraped_before_the_window_begins_nothing() {
        let mut sights = Sights::new(Grid { start: 10, step: 10, points: 3 }, "i");
        let times = [(10.0, 5.0), (20.0, 15.0), (30.0, 25.0)];
        sights.add_scraped(&series(&[("i", "a")], &times)).unwrap();
        sights.add_began(&series(&[("i", "a")], &times.map(|(at, _)| (at, 1.0)))).unwrap();
        let hosts = sights.hosts(6).unwrap();
        assert_eq!((places(&hosts["a"]), hosts["a"].left_out()), (vec![(1, 2, 10)], 0));
    }

    #[test]
    fn the_usual_gap_is_the_median() {
        let gap = |times: &[f64]| {
            let samples: Vec<(f64, f64)> = times.iter().map(|&at| (at, 1.0)).collect();
            usual_gap(&series(&[], &samples))
        };
        assert!(gap(&[1.0, 16.001, 31.0, 61.0, 76.0]).is_some_and(|gap| (gap - 15.0).abs() < 0.01));
        assert_eq!(gap(&[1.0, 2.0]), None);
    }
}
