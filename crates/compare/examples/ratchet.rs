//! Simulated loops over many candidate changes, for the bench of `--ratchet`.
//!
//! ```text
//! ratchet FIRST LOOPS CANDIDATES [EFFECT AT]
//! ```
//!
//! Loops are numbered, and this many from FIRST on are simulated. Every candidate costs as much as the accepted command.
//! With EFFECT, candidate AT costs that share less or more. Noise is 3 % per run, and a comparison has up to about 100
//! pairs. Prints the number of loops that accepted anything, that accepted candidate AT, and the number of second
//! comparisons in all loops.
#![allow(clippy::print_stdout, reason = "this program prints its results")]

use std::convert::Infallible;

use steady_compare::judge;
use steady_compare::ratchet::{Outcome, Ratchet};
use steady_compare::run::{CompareContext, compare};
use steady_model::{Command, Effort, Nanos, Plan, Report, Seed};
use steady_process::simulated::{Conditions, SimulatedMachine};

const ERROR_RATE: f64 = 0.05;
const CONDITIONS: Conditions = Conditions { noise: 0.03, hit_per_mille: 5, ..Conditions::QUIET };

fn main() -> Result<(), String> {
    let words: Vec<f64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (first, loops, candidates, effect, at) = match words[..] {
        [first, loops, candidates] => (first as u64, loops as u64, candidates as u64, 0.0, 0),
        [first, loops, candidates, effect, at] => (first as u64, loops as u64, candidates as u64, effect, at as u64),
        _ => return Err("usage: ratchet FIRST LOOPS CANDIDATES [EFFECT AT]".to_owned()),
    };
    let (mut wrong, mut found, mut tests) = (0, 0, 0);
    for number in first..first + loops {
        let mut ratchet = Ratchet::new(ERROR_RATE);
        let (mut is_wrong, mut is_found) = (false, false);
        for candidate in 1..=candidates {
            let ratio = if candidate == at { 1.0 + effect } else { 1.0 };
            let plan = plan(number * candidates + candidate);
            let Ok(tried) = ratchet.try_next(&plan, |_, plan| Ok::<Report, Infallible>(simulated(plan, ratio)));
            let is_accepted = tried.outcome == Outcome::Accepted;
            is_wrong |= is_accepted && candidate != at;
            is_found |= is_accepted && candidate == at;
        }
        wrong += u64::from(is_wrong);
        found += u64::from(is_found);
        tests += ratchet.tests();
    }
    println!("loops {loops} wrong {wrong} found {found} tests {tests}");
    Ok(())
}

fn plan(seed: u64) -> Plan {
    let command =
        Command { name: "x".to_owned(), argv: vec!["x".to_owned()], program: "/x".into(), ..Command::default() };
    let plan = Plan::new(vec![command.clone(), command], Effort::Budget(Nanos::from_seconds(1.0)), Seed(2 * seed));
    Plan { confidence: 1.0 - ERROR_RATE, ..plan }
}

fn simulated(plan: &Plan, ratio: f64) -> Report {
    let mut machine = SimulatedMachine::new(&[0.005, 0.005 * ratio], CONDITIONS, plan.seed.0 ^ 0x5eed);
    match compare(plan, CompareContext::simulated(false), &mut machine, &mut |_| {}) {
        Ok(record) => judge(record),
        // The simulated machine has no failures.
        Err(error) => unreachable!("{error}"),
    }
}
