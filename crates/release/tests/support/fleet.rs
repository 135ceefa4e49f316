//! Simulates fleets with known effects, in the form of a store of scrapes: rows of an interval, summed over all
//! processes of a host.
//!
//! Each host replays a random part of the recording under a load of its own. The load changes each second and makes
//! requests more expensive, like hyper-threads do. The versions of the requests of an interval are not drawn one by
//! one: their sums are drawn from normal distributions with the recorded moments.

use std::collections::BTreeMap;
use std::path::Path;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use steady_model::{
    ALL_PROCESSES, Assignment, ProcessRow, ReleaseRow, ReleaseRows, ReleaseRulerRow, RequestRuler, RequestSums,
    RulerSums,
};

use super::made;
use super::simulated::{BEGIN, normal};
use super::trials::{Source, Way};

/// Number of processes per host in the recording.
pub(crate) const PROCESSES: f64 = 2.0;
/// Share of the effect of hyper-threads on a request that rulers before it measure.
const SEEN: f64 = 0.9;
/// Length of the simulated load, in seconds. Each host uses a part of it.
const LOAD_SECONDS: usize = 20_000;

/// Parameters of a simulated fleet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fleet {
    pub(crate) hosts: u32,
    pub(crate) intervals: u64,
    /// Time between two scrapes, in seconds.
    pub(crate) span: u64,
    pub(crate) design: Design,
    /// True change, NEW / OLD - 1.
    pub(crate) effect: f64,
    /// Spread of the cost between hosts (standard deviation of logarithms).
    pub(crate) level_spread: f64,
    /// Spread of the effect between hosts (standard deviation of logarithms).
    pub(crate) effect_spread: f64,
}

/// How the versions of requests are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Design {
    /// A coin for each request.
    Coin,
    /// A coin for each pair of slots of a second.
    Slots,
    /// Half of the hosts, chosen at random.
    Hosts,
}

impl Fleet {
    /// Creates a fleet with five minutes of scrapes.
    pub(crate) fn of(hosts: u32, design: Design, effect: f64) -> Fleet {
        let level_spread = 0.025 / PROCESSES.sqrt();
        Fleet { hosts, intervals: 20, span: 15, design, effect, level_spread, effect_spread: 0.001 }
    }

    /// Returns the first second and the end (excluded).
    pub(crate) fn ends(&self) -> (u64, u64) {
        (BEGIN, BEGIN + self.span * self.intervals)
    }
}

/// Sums over requests of one or more seconds of the recording. Logarithms are relative to the mean of the route.
#[derive(Clone, Copy, Debug, Default)]
struct SecondSums {
    n: f64,
    y: f64,
    yy: f64,
    b: f64,
    bb: f64,
    by: f64,
    cpu: f64,
    cpu_squared: f64,
    rulers: [(f64, f64); 4],
}

impl SecondSums {
    fn add(&mut self, other: &SecondSums) {
        self.n += other.n;
        self.y += other.y;
        self.yy += other.yy;
        self.b += other.b;
        self.bb += other.bb;
        self.by += other.by;
        self.cpu += other.cpu;
        self.cpu_squared += other.cpu_squared;
        self.rulers.iter_mut().zip(other.rulers).for_each(|(sum, own)| *sum = (sum.0 + own.0, sum.1 + own.1));
    }

    /// Returns the sums of the same requests if each is more expensive by the factor exp(`by`).
    fn scaled(&self, by: f64) -> SecondSums {
        let factor = by.exp();
        SecondSums {
            y: self.y + by * self.n,
            yy: self.yy + 2.0 * by * self.y + by * by * self.n,
            by: self.by + by * self.b,
            cpu: self.cpu * factor,
            cpu_squared: self.cpu_squared * factor * factor,
            ..*self
        }
    }

    /// Splits the requests at random between OLD and NEW.
    fn split(&self, coin: &mut ChaCha8Rng) -> [SecondSums; 2] {
        let n = self.n;
        let old = (n / 2.0 + (n / 4.0).sqrt() * normal(coin)).round().clamp(1.0, n - 1.0);
        let (y, b, cpu) = (self.y / n, self.b / n, self.cpu / n);
        let (vary, varb, cov) = (self.yy / n - y * y, self.bb / n - b * b, self.by / n - y * b);
        let deviation = vary.max(0.0).sqrt();
        let slope = if deviation > 0.0 { cov / deviation } else { 0.0 };
        let (one, other) = (normal(coin), normal(coin));
        // Sampling without replacement: what OLD has above the mean, NEW has below it.
        let unit = ((n - old) / (n * old)).sqrt();
        let away = (unit * deviation * one, unit * (slope * one + (varb - slope * slope).max(0.0).sqrt() * other));
        let part = |n: f64, (dy, db): (f64, f64)| {
            let (y, b, cpu) = (y + dy, b + db, cpu * (1.0 + dy));
            SecondSums {
                n,
                y: n * y,
                yy: n * (vary + y * y),
                b: n * b,
                bb: n * (varb + b * b),
                by: n * (cov + y * b),
                cpu: n * cpu,
                cpu_squared: n * self.cpu_squared / self.n * (1.0 + dy).powi(2),
                rulers: [(0.0, 0.0); 4],
            }
        };
        let ratio = old / (n - old);
        [part(old, away), part(n - old, (-ratio * away.0, -ratio * away.1))]
    }
}

/// Sums of the recording by second, and a simulated load.
pub(crate) struct Played {
    seconds: Vec<SecondSums>,
    /// Effect of the load on the cost of requests in each second, as logarithms.
    load: Vec<f64>,
}

impl Played {
    /// Creates the sums from a recording, and a load from published measurements of hyper-threads.
    pub(crate) fn new(source: &Source, coin: &mut ChaCha8Rng) -> Played {
        let (first, last) = source.ends();
        let rows = source.window(first, last, Way::Coin(0.0), 0.0, coin);
        Played { seconds: seconds(&rows, first, last), load: load(coin) }
    }

    /// Returns a copy without load.
    pub(crate) fn unloaded(&self) -> Played {
        Played { seconds: self.seconds.clone(), load: vec![0.0] }
    }

    /// Simulates the rows of a fleet.
    pub(crate) fn rows(&self, fleet: &Fleet, coin: &mut ChaCha8Rng) -> ReleaseRows {
        let mut order: Vec<u32> = (0..fleet.hosts).collect();
        (1..order.len()).rev().for_each(|at| order.swap(at, coin.random_range(0..=at)));
        let mut rows = ReleaseRows {
            service: "shop".into(),
            hosts: (0..fleet.hosts).map(|host| format!("web-{host}")).collect(),
            versions: vec!["v1".into(), "v2".into()],
            routes: vec!["page".into()],
            ..ReleaseRows::default()
        };
        for host in 0..fleet.hosts {
            self.host(fleet, host, order[host as usize] % 2 == 1, coin, &mut rows);
        }
        rows
    }

    fn host(&self, fleet: &Fleet, host: u32, is_new: bool, coin: &mut ChaCha8Rng, rows: &mut ReleaseRows) {
        let from = coin.random_range(0..self.seconds.len());
        let load_from = coin.random_range(0..self.load.len());
        let level = fleet.level_spread * normal(coin);
        let effect = fleet.effect.ln_1p() + fleet.effect_spread * normal(coin);
        let mut first_is_new = false;
        for interval in 0..fleet.intervals {
            let mut sides = [SecondSums::default(); 2];
            for second in interval * fleet.span..(interval + 1) * fleet.span {
                let at = second as usize;
                let load = self.load[(load_from + at) % self.load.len()];
                let mut own = self.seconds[(from + at) % self.seconds.len()].scaled(level + load);
                own.rulers.iter_mut().for_each(|(readings, log)| *log += SEEN * load * *readings);
                if second % 2 == 0 {
                    first_is_new = coin.random();
                }
                let side = match fleet.design {
                    Design::Coin => 0,
                    Design::Slots => usize::from(first_is_new ^ (second % 2 == 1)),
                    Design::Hosts => usize::from(is_new),
                };
                sides[side].add(&own);
            }
            if fleet.design == Design::Coin {
                sides = sides[0].split(coin);
            }
            sides[1] = sides[1].scaled(effect);
            push(fleet, host, interval, &sides, rows);
        }
    }
}

fn push(fleet: &Fleet, host: u32, interval: u64, sides: &[SecondSums; 2], rows: &mut ReleaseRows) {
    let second = BEGIN + interval * fleet.span;
    let assignment = match fleet.design {
        Design::Coin => Assignment::Random,
        Design::Slots => Assignment::Slot,
        Design::Hosts => Assignment::Canary,
    };
    for (version, own) in (0..).zip(sides).filter(|(_, own)| own.n > 0.0) {
        let sums = RequestSums {
            requests: own.n as u64,
            cpu: own.cpu,
            cpu_squared: own.cpu_squared,
            log: own.y,
            log_squared: own.yy,
            before: own.b,
            before_squared: own.bb,
            before_log: own.by,
            wall: 2.0 * own.cpu,
            ..RequestSums::default()
        };
        rows.requests.push(ReleaseRow {
            second,
            host,
            process: ALL_PROCESSES,
            version,
            route: 0,
            class: 0,
            assignment,
            span_seconds: fleet.span as u32,
            slot_seconds: 0,
            second_of_pair: false,
            sums,
        });
        for (ruler, (readings, log)) in RequestRuler::ALL.into_iter().zip(own.rulers).filter(|(_, one)| one.0 > 0.0) {
            let sums = RulerSums { readings: readings as u64, log, log_squared: 0.0 };
            let version = Some(version);
            rows.rulers.push(ReleaseRulerRow { second, host, process: ALL_PROCESSES, version, ruler, sums });
        }
    }
}

/// Sums the rows by second, all routes together.
fn seconds(rows: &ReleaseRows, first: u64, last: u64) -> Vec<SecondSums> {
    let mut means: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let mut all = (0.0, 0.0);
    for row in &rows.requests {
        let mean = means.entry(row.route).or_default();
        for sum in [mean, &mut all] {
            sum.0 += row.sums.log;
            sum.1 += row.sums.requests as f64;
        }
    }
    let mut seconds = vec![SecondSums::default(); (last - first) as usize];
    for row in &rows.requests {
        let (log, requests) = means[&row.route];
        let sums = &row.sums;
        let own = SecondSums {
            n: sums.requests as f64,
            y: sums.log,
            yy: sums.log_squared,
            b: sums.before,
            bb: sums.before_squared,
            by: sums.before_log,
            cpu: sums.cpu,
            cpu_squared: sums.cpu_squared,
            rulers: [(0.0, 0.0); 4],
        };
        seconds[(row.second - first) as usize].add(&own.scaled(all.0 / all.1 - log / requests));
    }
    for row in rows.rulers.iter().filter(|row| row.version.is_some()) {
        let own = &mut seconds[(row.second - first) as usize].rulers[row.ruler.index()];
        *own = (own.0 + row.sums.readings as f64, own.1 + row.sums.log);
    }
    seconds
}

/// Simulates the effect of the load in each second, as logarithms.
///
/// The utilisation varies slowly (standard deviation 0.08) and from second to second (0.04). Its effect on CPU time is
/// that published for eight cores with two threads each.
fn load(coin: &mut ChaCha8Rng) -> Vec<f64> {
    let costs = published();
    let (mut slow, mut fast) = (0.0, 0.0);
    let second = |_| {
        slow = 0.99 * slow + 0.08 * (1.0_f64 - 0.99 * 0.99).sqrt() * normal(coin);
        fast = 0.5 * fast + 0.04 * normal(coin);
        let busy = (0.5 + slow + fast).clamp(0.0, 1.0) * (costs.len() - 1) as f64;
        let (below, part) = (busy.floor() as usize, busy.fract());
        costs[below] + part * (costs[(below + 1).min(costs.len() - 1)] - costs[below])
    };
    (0..LOAD_SECONDS).map(second).collect()
}

/// Returns the published increase of cost with 0 to 16 of 16 threads busy, as logarithms.
fn published() -> Vec<f64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/published_load.tsv");
    let text = std::fs::read_to_string(path).expect("the published measurements");
    let fields = text.lines().filter(|line| line.starts_with("hash8")).map(|line| line.split('\t').collect::<Vec<_>>());
    let rates: Vec<f64> = fields.take(16).map(|fields| fields[5].parse().expect("hashes per CPU ms")).collect();
    std::iter::once(0.0).chain(rates.iter().map(|rate: &f64| (rates[0] / rate).ln())).collect()
}

/// Converts rows to the form of a store with a scrape every `span` seconds, which does not distinguish processes, slots
/// and seconds.
pub(crate) fn scraped(rows: &ReleaseRows, span: u32) -> ReleaseRows {
    let grid = |second: u64| second / u64::from(span) * u64::from(span);
    let whole = |process: u64| if process == 0 { 0 } else { ALL_PROCESSES };
    let mut requests: BTreeMap<_, ReleaseRow> = BTreeMap::new();
    for row in &rows.requests {
        let (second, process) = (grid(row.second), whole(row.process));
        let empty = RequestSums::default();
        let like = ReleaseRow {
            second,
            process,
            span_seconds: span,
            slot_seconds: 0,
            second_of_pair: false,
            sums: empty,
            ..*row
        };
        let key = (second, row.host, process, row.version, row.route, row.assignment);
        requests.entry(key).or_insert(like).sums += row.sums;
    }
    let mut rulers: BTreeMap<_, ReleaseRulerRow> = BTreeMap::new();
    for row in &rows.rulers {
        let (second, process) = (grid(row.second), whole(row.process));
        let like = ReleaseRulerRow { second, process, sums: RulerSums::default(), ..*row };
        rulers.entry((second, row.host, process, row.version, row.ruler)).or_insert(like).sums += row.sums;
    }
    let seconds = rows.seconds.iter().filter(|row| grid(row.second) == row.second).copied().collect();
    let process = |row: &ProcessRow| ProcessRow {
        second: grid(row.second),
        slot_seconds: 0,
        process: whole(row.process),
        ..*row
    };
    ReleaseRows {
        processes: rows.processes.iter().map(process).collect(),
        requests: requests.into_values().collect(),
        rulers: rulers.into_values().collect(),
        seconds,
        walls: Vec::new(),
        ..rows.clone()
    }
}

/// Simulates a fleet with a coin for each recorded request. [`Played`] must agree with it.
pub(crate) fn by_requests(source: &Source, fleet: &Fleet, coin: &mut ChaCha8Rng) -> ReleaseRows {
    let (first, last) = source.ends();
    let (from, to) = fleet.ends();
    let mut all = Vec::new();
    for host in 0..fleet.hosts {
        let begin = coin.random_range(first..last - (to - from));
        let stretch = made::within(&source.requests, begin, begin + (to - from), |request| request.end);
        let moved = (from as i64 - begin as i64) * 1_000_000_000;
        all.extend(stretch.iter().map(|request| {
            let end = request.end.checked_add_signed(moved).expect("a time");
            super::recording::Recorded { end, host, number: request.number.max(151), ..*request }
        }));
    }
    let label = |request: &super::recording::Recorded| {
        let is_new: bool = coin.random();
        let factor = if request.version == 2 { 0.0 } else { 1.0 };
        let factor = factor * if is_new { 1.0 + fleet.effect } else { 1.0 };
        made::Label { version: u32::from(is_new), assignment: Assignment::Random, slot_seconds: 0, factor, class: 0 }
    };
    scraped(&made::rows(&all, &[], label), fleet.span as u32)
}
