//! Measures simulated suites, for the bench of suites.
//!
//! ```text
//! suites SUITES BENCHMARKS SECONDS EFFECT [discovery]
//! ```
//!
//! In each suite, one benchmark costs EFFECT more in the new build; with 0 none does. Prints the number of suites in which
//! that benchmark was found, in which another one was reported, and the share of intervals that contain the truth.
#![allow(clippy::print_stdout, reason = "this program prints its results")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{LOADED, SimulatedSuite, record};
use steady_bench::{ErrorRate, SuiteRecord};

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let error = if words.iter().any(|word| word == "discovery") { ErrorRate::Discovery } else { ErrorRate::Family };
    let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let [suites, benchmarks, seconds, effect] = numbers[..] else {
        return Err("usage: suites SUITES BENCHMARKS SECONDS EFFECT [discovery]".to_owned());
    };
    let benchmarks = benchmarks as usize;
    let (mut found, mut others, mut decided, mut covered, mut intervals) = (0, 0, 0, 0, 0);
    for seed in 0..suites as u64 {
        // Multiples of a large odd number visit all benchmarks in an irregular order.
        let changed = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % benchmarks;
        let mut suite = SimulatedSuite::new(benchmarks, LOADED, seed);
        suite.factors[changed] = 1.0 + effect;
        let record = SuiteRecord { error, ..record(benchmarks, seconds, seed) };
        let record = suite.measured(&record).map_err(|failure| failure.to_string())?;
        let is_changed = |name: &str| effect != 0.0 && name == format!("benchmark {changed}");
        let differing = || record.benchmarks.iter().filter(|one| one.verdict.is_difference());
        found += u64::from(differing().any(|one| is_changed(&one.name)));
        others += u64::from(differing().any(|one| !is_changed(&one.name)));
        for one in &record.benchmarks {
            decided += u64::from(one.verdict != steady_model::Verdict::Undecided);
            let truth = if is_changed(&one.name) { effect } else { 0.0 };
            if let Ok(interval) = &one.interval {
                intervals += 1;
                covered += u64::from(interval.holds(truth));
            }
        }
    }
    println!("suites {suites} found {found} others {others} decided {decided} covered {covered} intervals {intervals}");
    Ok(())
}
