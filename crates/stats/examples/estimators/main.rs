//! Compares estimators on recorded pairs (testdata/pairs): half-widths and error rates, printed as Markdown.
//!
//! Each cell (work, load, layout) is resampled in contiguous runs of five seconds of measuring, which preserves the
//! autocorrelation of the load. In each pair, the labels are exchanged at random, together with the slots, so that the
//! true effect is zero. In half of the trials, a known effect is then added.
//!
//! With the arguments `looks [BUDGET [TRIALS [EFFECT]]]`, repeats whole comparisons with a budget in seconds instead, and
//! effects in multiples of the resolution.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod looks;
mod recipe;

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};
use steady_model::{Interval, Layout};
use steady_stats::{Pair, Paired, Slot};

const SECONDS: f64 = 5.0;
/// The trials of each cell, unless the first argument is a number.
const TRIALS: usize = 60;
const EFFECTS: [f64; 4] = [0.0, 0.0, 0.01, 0.2];

/// A recorded pair and its wall time in seconds.
#[derive(Clone, Copy)]
struct Recorded {
    pair: Pair,
    seconds: f64,
}

/// Segments of recorded pairs, by cell.
type Cells = BTreeMap<String, Vec<Vec<Recorded>>>;

fn main() {
    let cells = read();
    if std::env::args().nth(1).as_deref() == Some("looks") {
        let number = |place: usize| std::env::args().nth(place).map(|word| word.parse::<f64>().expect("a number"));
        let (budget, trials) = (number(2).unwrap_or(5.0), number(3).unwrap_or(4_000.0) as usize);
        let effects = number(4).map_or(looks::EFFECTS.to_vec(), |effect| vec![effect]);
        return looks::compare(&by_load(cells), budget, trials, &effects);
    }
    let trials = std::env::args().nth(1).map_or(TRIALS, |word| word.parse().expect("a number of trials"));
    let mut overall: Vec<Method> = METHODS.iter().map(|_| Method::default()).collect();
    println!("| cell | {} |\n|---|{}", METHODS.map(|(name, _)| name).join(" | "), "---|".repeat(METHODS.len()));
    for (name, segments) in &cells {
        let row = compare(name, segments, trials);
        let widths: Vec<String> = row.iter().map(|method| format!("{:.3}", method.half_width())).collect();
        println!("| {name} | {} |", widths.join(" | "));
        overall.iter_mut().zip(row).for_each(|(sum, method)| sum.add(&method));
    }
    let line = |what: &str, figure: &dyn Fn(&Method) -> String| {
        println!("| **{what}** | {} |", overall.iter().map(figure).collect::<Vec<String>>().join(" | "));
    };
    line("geometric mean", &|method| {
        format!("{:.3}", (method.cells.iter().sum::<f64>() / method.cells.len() as f64).exp())
    });
    line("error, % of trials", &|method| format!("{:.2}", 100.0 * method.missed as f64 / method.trials as f64));
    line("worst cell, misses", &|method| format!("{} of {}", method.worst, overall[0].trials / cells.len()));
    println!("\nHalf-width of the 95 % interval in %, {SECONDS} s of measuring, {trials} trials per cell.");
    let (count, milliseconds) = time_of_estimate(&cells);
    println!("Estimate and interval of {count} pairs: {milliseconds:.0} ms.");
}

/// Measures the time of an estimate with its interval over 100,000 pairs: the recorded ones, repeated.
#[allow(clippy::disallowed_methods, reason = "the time is only printed")]
fn time_of_estimate(cells: &Cells) -> (usize, f64) {
    let all = || cells.values().flatten().flatten().map(|recorded| recorded.pair);
    let pairs: Vec<Pair> = all().chain(all()).chain(all()).take(100_000).collect();
    let start = std::time::Instant::now();
    let paired = Paired::new(&pairs, 1e-6);
    std::hint::black_box(paired.interval(0.05));
    (pairs.len(), start.elapsed().as_secs_f64() * 1e3)
}

/// An estimator of the 95 % interval of the log ratio.
type Estimator = fn(&[Pair]) -> Interval;

const METHODS: [(&str, Estimator); 4] =
    [("mean + t", student), ("signed rank", signed_rank), ("recipe", recipe::interval), ("steady", steady)];

fn steady(pairs: &[Pair]) -> Interval {
    Paired::new(pairs, 1e-6).interval(0.05)
}

/// The interval of the mean difference by Student's t.
fn student(pairs: &[Pair]) -> Interval {
    let count = pairs.len() as f64;
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.new.ln() - pair.old.ln()).collect();
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let quantile = StudentsT::new(0.0, 1.0, count - 1.0).map_or(f64::INFINITY, |student| student.inverse_cdf(0.975));
    let half_width = quantile * (variance / count).sqrt();
    Interval { low: mean - half_width, high: mean + half_width }
}

/// The inverted signed-rank test of Wilcoxon: order statistics of the Walsh averages, by bisection on their count.
fn signed_rank(pairs: &[Pair]) -> Interval {
    let mut sorted: Vec<f64> = pairs.iter().map(|pair| pair.new.ln() - pair.old.ln()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let averages = count * (count + 1.0) / 2.0;
    let reach = 1.96 * (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
    let walsh = |rank: f64| {
        let (mut low, mut high) = (sorted[0], sorted[sorted.len() - 1]);
        for _ in 0..45 {
            let middle = (low + high) / 2.0;
            let mut other = sorted.len();
            let mut below = 0;
            for (i, value) in sorted.iter().enumerate() {
                while other > 0 && (value + sorted[other - 1]) / 2.0 > middle {
                    other -= 1;
                }
                below += other.saturating_sub(i);
            }
            if (below as f64) < rank { low = middle } else { high = middle }
        }
        high
    };
    Interval { low: walsh((averages / 2.0 - reach).floor()), high: walsh((averages / 2.0 + reach).ceil() + 1.0) }
}

/// The results of a method over the trials of a cell, or over cells.
#[derive(Default)]
struct Method {
    trials: usize,
    missed: usize,
    worst: usize,
    widths: f64,
    cells: Vec<f64>,
}

impl Method {
    fn half_width(&self) -> f64 {
        (self.widths / self.trials as f64).exp()
    }

    fn add(&mut self, cell: &Method) {
        self.trials += cell.trials;
        self.missed += cell.missed;
        self.worst = self.worst.max(cell.missed);
        self.cells.push(cell.half_width().ln());
    }
}

/// Applies all methods to the same resamples of one cell.
fn compare(name: &str, segments: &[Vec<Recorded>], trials: usize) -> Vec<Method> {
    let mut methods: Vec<Method> = METHODS.iter().map(|_| Method::default()).collect();
    let seed = name.bytes().fold(7, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte));
    let mut coin = ChaCha8Rng::seed_from_u64(seed);
    for trial in 0..trials {
        let theta = EFFECTS[trial % EFFECTS.len()].ln_1p();
        let pairs = resample(segments, theta, &mut coin);
        for (method, (_, estimator)) in methods.iter_mut().zip(METHODS) {
            let interval = estimator(&pairs);
            method.trials += 1;
            method.missed += usize::from(!interval.holds(theta));
            method.widths += (100.0 * interval.half_width()).ln();
        }
    }
    methods
}

/// Returns a contiguous run of pairs with newly drawn labels and an effect of known size.
fn resample(segments: &[Vec<Recorded>], theta: f64, coin: &mut ChaCha8Rng) -> Vec<Pair> {
    let segment = &segments[coin.random_range(0..segments.len())];
    let total: f64 = segment.iter().map(|recorded| recorded.seconds).sum();
    let per_pair = total / segment.len() as f64;
    let count = ((SECONDS / per_pair) as usize).clamp(1, segment.len());
    let start = coin.random_range(0..=segment.len() - count);
    let flip = |recorded: &Recorded| {
        let pair = if coin.random::<bool>() { recorded.pair.swapped() } else { recorded.pair };
        Pair { new: pair.new * theta.exp(), ..pair }
    };
    segment[start..start + count].iter().map(flip).collect()
}

/// Returns for each work and load one segment of each layout.
fn by_load(cells: Cells) -> Vec<(String, Vec<Vec<Recorded>>)> {
    let mut loads: BTreeMap<String, Vec<Vec<Recorded>>> = BTreeMap::new();
    for (name, segments) in cells {
        let (load, layout) = name.rsplit_once(' ').expect("a cell is a work, a load and a layout");
        if layout != "duet-launchers" {
            loads.entry(load.to_owned()).or_default().push(segments.concat());
        }
    }
    loads.into_iter().collect()
}

/// Reads the recorded pairs of identical commands.
fn read() -> Cells {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pairs/pairs.tsv.gz");
    let file = std::fs::File::open(path).expect("testdata/pairs/pairs.tsv.gz is part of the repository");
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("the file is gzip");
    let mut cells: BTreeMap<String, BTreeMap<String, Vec<Recorded>>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let column: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| column[index].parse::<f64>().expect("a number");
        if column[2] != "0" {
            continue;
        }
        let sign = |up: bool| if up { 1 } else { -1 };
        let layout = if column[4] == "turns" { Layout::Turns } else { Layout::Duet };
        let cpu = if layout == Layout::Duet { sign(column[8] == "0") } else { 0 };
        // Column 7 contains whether B started first.
        let slot = Slot { order: sign(column[7] == "0"), cpu };
        let pair = Pair { layout, slot, old: number(10), new: number(19) };
        let cell = cells.entry(format!("{} {} {}", column[0], column[1], column[4])).or_default();
        cell.entry(column[3].to_owned()).or_default().push(Recorded { pair, seconds: number(6) });
    }
    cells.into_iter().map(|(name, segments)| (name, segments.into_values().collect())).collect()
}
