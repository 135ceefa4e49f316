//! Searches in simulated histories, for the bench of `bisect`.
//!
//! ```text
//! bisect HISTORIES COMMITS EFFECT BUDGET
//! ```
//!
//! In each history, the cost changes by EFFECT at one random commit; without an EFFECT (0) at none. Prints the number of
//! searches that named the commit, that named another one, and that named none, and the mean number of builds.
#![allow(clippy::print_stdout, reason = "this program prints its results")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::History;
use steady_bisect::BisectOutcome;

fn main() -> Result<(), String> {
    let words: Vec<f64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [histories, commits, effect, budget] = words[..] else {
        return Err("usage: bisect HISTORIES COMMITS EFFECT BUDGET".to_owned());
    };
    let (histories, commits) = (histories as u64, commits as usize);
    let (mut right, mut wrong, mut builds, mut seconds) = (0, 0, 0, 0.0);
    for seed in 0..histories {
        // Multiples of a large odd number visit all commits in an irregular order.
        let at = 1 + (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % commits;
        let mut history = History::new(commits, effect, at, seed);
        let record = history.searched(budget);
        if record.outcome == BisectOutcome::Found {
            let is_right = effect != 0.0 && record.candidates == [at];
            right += u64::from(is_right);
            wrong += u64::from(!is_right);
        }
        builds += history.built.len();
        seconds += record.measured().seconds();
    }
    let open = histories - right - wrong;
    let mean = |sum: f64| sum / histories as f64;
    println!(
        "histories {histories} right {right} wrong {wrong} open {open} builds {:.1} seconds {:.0}",
        mean(builds as f64),
        mean(seconds)
    );
    Ok(())
}
