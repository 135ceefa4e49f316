//! Wall time of both versions, weighted to the same times and the same mix of routes if they served at the same time.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::record::{ReleaseDesign, ReleaseQuestion, ReleaseWall, WallBin, WallParts, WallQuantile, WallTimes};
use steady_model::{
    ALL_PROCESSES, Absent, Interval, Nanos, Reading, ReleaseRows, WALL_BUCKETS, WALL_SECONDS, WallRow,
    wall_bucket_middle,
};
use steady_render::letters::numbered;
use steady_render::units::{round_time_up, time_setting};
use steady_stats::release::{Estimated, relative};

use super::canary;
use super::design::versions_of_hosts;
use super::effect::nanos;
use super::facts::OUTSIDE;
use super::groups::Groups;
use super::window::{Line, Sides};

const MEDIAN: f64 = 0.5;
/// Quantiles that the report contains.
const SHARES: [f64; 5] = [MEDIAN, 0.75, 0.9, 0.95, 0.99];
/// Buckets per bin of the reported distribution, which gives eight bins per doubling of the time.
const TOGETHER: u16 = 2;
/// Number of groups of stretches that the jackknife leaves out in turn.
const GROUPS: usize = 20;
/// Fewest groups for which the jackknife estimates an error.
const LEAST_GROUPS: usize = 6;
/// Fewest requests of each version above a quantile that has an interval. With fewer, the buckets around the quantile
/// have too few requests for the jackknife.
const LEAST_ABOVE: f64 = 200.0;

/// Largest share of the requests in the bucket of a quantile. If it has more, the position of the quantile within the
/// bucket is hardly known, and the error of the jackknife does not include that.
const MOST_IN_BUCKET: f64 = 0.5;

/// Number of requests by bucket.
type Counts = BTreeMap<u16, f64>;

/// Counts of both versions: over all routes, and by route, host and stretch of time.
struct Walls {
    all: [Counts; 2],
    /// By route and host. If each host served one version, all hosts together are host 0.
    by_place: BTreeMap<(u32, u32), BTreeMap<u64, [Counts; 2]>>,
    /// Beginnings of all stretches.
    seconds: BTreeSet<u64>,
}

/// Returns the wall time of both versions on the routes that both served.
pub(crate) fn wall(
    question: &ReleaseQuestion,
    rows: &ReleaseRows,
    lines: &[Line],
    design: ReleaseDesign,
    alpha: f64,
    groups: &Groups,
) -> Reading<ReleaseWall> {
    if lines.iter().any(|line| line.row.process == 0) {
        return Err(Absent::because(OUTSIDE));
    }
    if rows.walls.is_empty() && lines.iter().any(|line| line.row.process == ALL_PROCESSES) {
        // The fleet's store has a histogram, but its buckets are wider than the changes of releases. It also has all
        // routes together, so a different mix of routes would look like an effect of the version.
        let coarse = Absent::because("a fleet's store has only buckets 41 % wide, over all routes together");
        return Ok(only_parts(lines, &coarse));
    }
    let walls = Walls::new(question, rows, lines, groups);
    if walls.all.iter().any(BTreeMap::is_empty) {
        return Err(Absent::because(
            "no wall times of both versions are stored for this time; they are stored for 10 seconds at a time",
        ));
    }
    // One after the other, the versions have no common times, so their counts are not weighted.
    let standardised = walls.standardised(None);
    let counts = match (design, &standardised) {
        (ReleaseDesign::OneAfterTheOther, _) => &walls.all,
        (_, Some(standardised)) => standardised,
        (_, None) => return Ok(only_parts(lines, &too_few())),
    };
    let jackknife = walls.jackknife(design);
    let interval = |share| -> Reading<Interval> {
        jackknife.as_ref().map_err(Clone::clone)?.interval(share, lines, design, alpha)
    };
    let quantile =
        |ratio| WallQuantile::new(ratio, [0, 1].map(|side| nanos(quantile(&counts[side], ratio))), interval(ratio));
    Ok(ReleaseWall {
        quantiles: SHARES.map(quantile).into(),
        covered: Some(question.whole_walls()),
        median_change: Ok(change(counts, MEDIAN).exp_m1()),
        low: Err(too_few()),
        high: Err(too_few()),
        watched: watched(lines),
        parts: parts(lines),
        distribution: distribution(counts),
    }
    .with_median_interval(interval(MEDIAN)))
}

/// Returns the wall time if there are no quantiles: only the parts of the mean.
fn only_parts(lines: &[Line], why: &Absent) -> ReleaseWall {
    ReleaseWall {
        quantiles: Vec::new(),
        covered: None,
        median_change: Err(why.clone()),
        low: Err(why.clone()),
        high: Err(why.clone()),
        watched: watched(lines),
        parts: parts(lines),
        distribution: Vec::new(),
    }
}

fn too_few() -> Absent {
    Absent::because("there are too few requests on routes that both versions served")
}

/// Returns the distributions that lie completely within the window, with their sides. The design may leave out
/// requests, such as those before a coin chose the version, and then their distributions are left out too.
fn walls_of<'a>(
    question: &ReleaseQuestion,
    rows: &'a ReleaseRows,
    lines: &[Line],
) -> impl Iterator<Item = (usize, &'a WallRow)> {
    let WallTimes { from, to } = question.whole_walls();
    let stretch = |second: u64| second / WALL_SECONDS;
    let used: HashSet<(u32, usize, u64)> = lines
        .iter()
        .flat_map(|line| {
            let (first, last) = (stretch(line.row.second), stretch(line.end().saturating_sub(1)));
            (first..=last).map(|stretch| (line.row.host, line.side, stretch))
        })
        .collect();
    let sides = Sides::new(question, rows);
    rows.walls.iter().filter(move |row| (from..to).contains(&row.second)).filter_map(move |row| {
        let side = sides.of(row.version)?;
        used.contains(&(row.host, side, stretch(row.second))).then_some((side, row))
    })
}

impl Walls {
    fn new(question: &ReleaseQuestion, rows: &ReleaseRows, lines: &[Line], groups: &Groups) -> Walls {
        let mut served: BTreeMap<u32, [bool; 2]> = BTreeMap::new();
        // Routes on which the version influences the requests count as one.
        let of = |route: u32| if groups.is_pooled_route(route) { u32::MAX } else { route };
        lines.iter().for_each(|line| served.entry(of(line.row.route)).or_default()[line.side] = true);
        let shared: BTreeSet<u32> =
            served.into_iter().filter(|(_, sides)| sides[0] && sides[1]).map(|(route, _)| route).collect();
        let mut walls = Walls { all: Default::default(), by_place: BTreeMap::new(), seconds: BTreeSet::new() };
        // Hosts differ, so versions are compared within them, unless each host has one version.
        let is_within = versions_of_hosts(lines).values().any(|sides| *sides == [true, true]);
        let chosen = walls_of(question, rows, lines).filter(|(_, row)| shared.contains(&of(row.route)));
        for (side, row) in chosen {
            let host = if is_within { row.host } else { 0 };
            walls.seconds.insert(row.second);
            let place = (of(row.route), host);
            let stretch = &mut walls.by_place.entry(place).or_default().entry(row.second).or_default()[side];
            for &(bucket, count) in &row.counts {
                *stretch.entry(bucket).or_default() += f64::from(count);
                *walls.all[side].entry(bucket).or_default() += f64::from(count);
            }
        }
        walls
    }

    /// Returns counts weighted so that both versions have equally many requests in each stretch of time on each route and
    /// host. Then load and mix affect both equally. The weights are overlap weights (Li, Morgan and Zaslavsky 2018): a
    /// stretch in which one version served few requests counts little, instead of these few requests much. Leaves out the
    /// stretches of one group if `without` is given.
    fn standardised(&self, without: Option<usize>) -> Option<[Counts; 2]> {
        let mut all: [Counts; 2] = Default::default();
        let group: BTreeMap<u64, usize> =
            self.seconds.iter().enumerate().map(|(at, second)| (*second, at % GROUPS)).collect();
        for stretches in self.by_place.values() {
            let mut counts: [Counts; 2] = Default::default();
            for (_, sides) in stretches.iter().filter(|(second, _)| Some(group[*second]) != without) {
                for (side, own) in sides.iter().enumerate() {
                    own.iter().for_each(|(bucket, count)| *counts[side].entry(*bucket).or_default() += count);
                }
                // Stretches are merged until both versions have enough requests.
                let totals = [0, 1].map(|side| counts[side].values().sum::<f64>());
                if totals.iter().all(|&total| total >= LEAST) {
                    for (side, own) in std::mem::take(&mut counts).into_iter().enumerate() {
                        let weight = 2.0 * totals[1 - side] / (totals[0] + totals[1]);
                        own.into_iter()
                            .for_each(|(bucket, count)| *all[side].entry(bucket).or_default() += weight * count);
                    }
                }
            }
        }
        all.iter().all(|counts| !counts.is_empty()).then_some(all)
    }

    /// Leaves out groups of stretches in turn.
    fn jackknife(&self, design: ReleaseDesign) -> Reading<Jackknife> {
        if design == ReleaseDesign::OneAfterTheOther {
            return Err(Absent::because("wall time cannot be adjusted for load"));
        }
        let groups = GROUPS.min(self.seconds.len());
        if groups < LEAST_GROUPS {
            return Err(Absent(format!(
                "wall times of at least {LEAST_GROUPS} whole stretches of {WALL_SECONDS} seconds are needed"
            )));
        }
        let whole = self.standardised(None).ok_or_else(too_few)?;
        let without: Option<Vec<_>> = (0..groups).map(|group| self.standardised(Some(group))).collect();
        let requests = [0, 1].map(|side| self.all[side].values().sum());
        Ok(Jackknife { whole, without: without.ok_or_else(too_few)?, requests })
    }
}

/// The weighted counts of both versions, and those without each group of stretches of time (delete-a-group jackknife,
/// Kott 2001).
struct Jackknife {
    whole: [Counts; 2],
    without: Vec<[Counts; 2]>,
    /// The numbers of requests, without weights.
    requests: [f64; 2],
}

impl Jackknife {
    /// Returns the interval of the change of a quantile.
    ///
    /// Distributions are stored by host. How much processes of a canary differ is therefore estimated from the means of
    /// their logarithms, and added to the error of the median. It says nothing about other quantiles.
    fn interval(&self, share: f64, lines: &[Line], design: ReleaseDesign, alpha: f64) -> Reading<Interval> {
        let of_processes = match design {
            ReleaseDesign::Canary if share != MEDIAN => {
                return Err(Absent::because("it is not known how much this quantile differs between processes"));
            }
            ReleaseDesign::Canary => {
                let found = canary::wall(lines)
                    .ok_or_else(|| Absent::because("it is not known how much the wall time of processes differs"))?;
                Some(Estimated { effect: 0.0, ..found })
            }
            _ => None,
        };
        let in_time = self.change(share)?;
        let both = Estimated::weighted([in_time].into_iter().chain(of_processes).map(|part| (1.0, part)));
        Ok(relative(&both.ok_or_else(too_few)?.interval(alpha)))
    }

    /// Returns the change of a quantile as a logarithm, with its error over stretches of time.
    fn change(&self, share: f64) -> Reading<Estimated> {
        if share > MEDIAN && self.requests.iter().any(|requests| (1.0 - share) * requests < LEAST_ABOVE) {
            return Err(Absent(format!("fewer than {LEAST_ABOVE} requests of a version are above this quantile")));
        }
        if self.whole.iter().any(|counts| share_of_bucket(counts, share) > MOST_IN_BUCKET) {
            return Err(Absent::because(
                "most requests have nearly the same wall time, which is stored to within 4.4 %",
            ));
        }
        let left_out: Vec<f64> = self.without.iter().map(|counts| change(counts, share)).collect();
        let count = left_out.len() as f64;
        let mean = left_out.iter().sum::<f64>() / count;
        let squares: f64 = left_out.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = (count - 1.0) / count * squares;
        Ok(Estimated { effect: change(&self.whole, share), variance, freedom: count - 1.0 })
    }
}

/// Returns the change of a quantile, as a logarithm.
fn change(counts: &[Counts; 2], share: f64) -> f64 {
    quantile(&counts[1], share).ln() - quantile(&counts[0], share).ln()
}

fn distribution(all: &[Counts; 2]) -> Vec<WallBin> {
    let totals = [0, 1].map(|side| all[side].values().sum::<f64>());
    let mut shares: BTreeMap<u16, [f64; 2]> = BTreeMap::new();
    for (side, counts) in all.iter().enumerate() {
        for (bucket, count) in counts {
            shares.entry(bucket / TOGETHER).or_default()[side] += count / totals[side];
        }
    }
    let range = shares.keys().next().copied().unwrap_or(0)..=shares.keys().last().copied().unwrap_or(0);
    let upper = |group: u16| nanos(upper_end(((group + 1) * TOGETHER - 1).min(WALL_BUCKETS - 1)));
    let bin = |group: u16| WallBin { below: upper(group), shares: shares.get(&group).copied().unwrap_or_default() };
    range.map(bin).collect()
}

/// Fewest requests of each version on a route in one or more consecutive stretches that are weighted together.
const LEAST: f64 = 20.0;

/// Returns the upper end of a bucket in nanoseconds, half a bucket above its middle.
fn upper_end(bucket: u16) -> f64 {
    wall_bucket_middle(bucket) * (0.5_f64 / 16.0).exp2()
}

/// Returns the bucket of a quantile, its count and the count of all buckets below it.
fn bucket_of(counts: &Counts, share: f64) -> Option<(u16, f64, f64)> {
    let wanted = share * counts.values().sum::<f64>();
    let mut below = 0.0;
    for (&bucket, &count) in counts {
        if below + count >= wanted {
            return Some((bucket, count, below));
        }
        below += count;
    }
    None
}

/// Returns the quantile of the wall time, in nanoseconds. Within a bucket, logarithms are interpolated linearly.
fn quantile(counts: &Counts, share: f64) -> f64 {
    match bucket_of(counts, share) {
        Some((bucket, count, below)) => {
            let within = ((share * counts.values().sum::<f64>() - below) / count).clamp(0.0, 1.0);
            wall_bucket_middle(bucket) * ((within - 0.5) / 16.0).exp2()
        }
        None => counts.keys().last().map_or(0.0, |&bucket| upper_end(bucket)),
    }
}

/// Returns the share of all requests that is in the bucket of a quantile.
fn share_of_bucket(counts: &Counts, share: f64) -> f64 {
    bucket_of(counts, share).map_or(0.0, |(_, count, _)| count / counts.values().sum::<f64>())
}

/// Returns the numbers of requests whose time waiting for a CPU is known.
fn watched(lines: &[Line]) -> [u64; 2] {
    let mut watched = [0; 2];
    lines.iter().for_each(|line| watched[line.side] += line.row.sums.watched);
    watched
}

/// Returns the mean time on a CPU, waiting and blocked, over the requests whose parts are all known.
fn parts(lines: &[Line]) -> Reading<WallParts> {
    /// Fewest requests of each version. If the standard deviation of times equals their mean, the change of the means
    /// of 1,000 requests has a standard error of 4.5 %.
    const LEAST_WATCHED: u64 = 1_000;
    let watched = watched(lines);
    if watched == [0; 2] {
        return Err(Absent::because(
            "the time waiting for a CPU is not known for any request in the window; a service reports it for some of \
             its requests, or for none",
        ));
    }
    if watched.iter().any(|n| *n < LEAST_WATCHED) {
        let [old, new] = watched;
        let minutes = super::span(lines) / 60.0 * LEAST_WATCHED as f64 / old.min(new) as f64;
        let rate = match minutes.is_finite() {
            true => format!(", about {} at this rate", time_setting(round_time_up(60.0 * minutes))),
            false => String::new(),
        };
        return Err(Absent(format!(
            "the time waiting for a CPU is known for {} of OLD and {new} of NEW; {LEAST_WATCHED} of each are \
             needed{rate}",
            numbered(old, "request", "requests")
        )));
    }
    let mut sums = [[0.0; 4]; 2];
    for line in lines {
        let row = &line.row.sums;
        let own = [row.watched as f64, row.watched_cpu, row.watched_delay, row.watched_wall];
        sums[line.side].iter_mut().zip(own).for_each(|(sum, value)| *sum += value);
    }
    let blocked = |[n, cpu, delay, wall]: [f64; 4]| (wall - cpu - delay).max(0.0) / n;
    Ok(WallParts {
        cpu: sums.map(|sum| nanos(sum[1] / sum[0])),
        waiting: sums.map(|sum| nanos(sum[2] / sum[0])),
        blocked: sums.map(|sum| nanos(blocked(sum))),
    })
}

/// Returns the median wall time of each route that both versions served, of OLD and NEW.
pub(crate) fn medians(question: &ReleaseQuestion, rows: &ReleaseRows, lines: &[Line]) -> BTreeMap<u32, [Nanos; 2]> {
    let mut counts: BTreeMap<u32, [Counts; 2]> = BTreeMap::new();
    for (side, row) in walls_of(question, rows, lines) {
        let own = &mut counts.entry(row.route).or_default()[side];
        row.counts.iter().for_each(|&(bucket, count)| *own.entry(bucket).or_default() += f64::from(count));
    }
    let both = counts.into_iter().filter(|(_, sides)| sides.iter().all(|counts| !counts.is_empty()));
    both.map(|(route, sides)| (route, sides.map(|counts| nanos(quantile(&counts, 0.5))))).collect()
}
