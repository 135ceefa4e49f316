//! Comparisons from snapshots or with linked programs on simulated machines, where each snapshot or memory layout changes
//! the cost of its runs by a random factor. The error rate holds because a draw is one unit of the test. It would not hold if pairs were the units.

use steady_compare::judge;
use steady_compare::run::compare;
use steady_model::{Cold, Interval, PerCommand, Plan, Record, Report, Verdict, Warning};
use steady_process::simulated::{Conditions, SimulatedMachine, Snapshots};

use crate::common::{measure, plan, repeated, setting};

const LUCK: f64 = 0.03;
const START_UP: f64 = 500e-6;
const SECONDS: f64 = 200e-6;

fn machine(costs: &[f64], seed: u64) -> SimulatedMachine {
    let mut machine = SimulatedMachine::new(costs, Conditions { hit_per_mille: 5, ..Conditions::QUIET }, seed ^ 0x5eed);
    machine.snapshots = Some(Snapshots { luck: LUCK, start_up: START_UP, drawing: 5e-3 });
    machine
}

fn warm(commands: usize, seed: u64) -> Plan {
    Plan { warm: true, ..plan(commands, 1.0, seed) }
}

fn record(costs: &[f64], seed: u64) -> Record {
    measure(&warm(costs.len(), seed), &mut machine(costs, seed)).unwrap()
}

/// The same record with its pairs as independent units.
fn as_pairs(record: &Record) -> Record {
    let mut record = Record { usual: vec![], ..record.clone() };
    record.plan.warm = false;
    record.blocks.iter_mut().for_each(|block| block.draw = None);
    record
}

fn rejects(report: &Report) -> bool {
    report.primary().any(|judgement| matches!(judgement.verdict, Verdict::Faster | Verdict::Slower))
}

/// The largest plausible number of errors in `trials` at an error rate of 5 %: the mean plus three standard errors.
fn most(trials: u64) -> f64 {
    let mean = 0.05 * trials as f64;
    mean + 3.0 * (mean * 0.95).sqrt()
}

#[test]
fn the_error_rate_holds_with_draws_as_units_and_not_with_pairs() {
    let trials = repeated(160);
    let (mut wrong, mut wrong_by_pairs) = (0, 0);
    for seed in 0..trials {
        let record = record(&[SECONDS, SECONDS], seed);
        wrong_by_pairs += u32::from(seed % 2 == 0 && rejects(&judge(as_pairs(&record))));
        wrong += u32::from(rejects(&judge(record)));
    }
    assert!(f64::from(wrong) <= most(trials), "{wrong} of {trials}");
    assert!(
        f64::from(wrong_by_pairs) > 4.0 * most(trials / 2),
        "{wrong_by_pairs} of {}: pairs as units would do as well",
        trials / 2
    );
}

#[test]
fn intervals_hold_the_effect_and_the_start_up() {
    let trials = repeated(50);
    let (mut missed, mut missed_start_up, mut far) = (0, 0, 0_u64);
    for seed in 1_000..1_000 + trials {
        let report = judge(record(&[SECONDS, 1.02 * SECONDS], seed));
        let holds = |interval: &Interval| interval.holds(0.02);
        let judgement = report.primary().next().unwrap();
        missed += u32::from(!judgement.interval.as_ref().is_ok_and(holds));
        for startup in &report.startups {
            // Noise multiplies the whole run, and disturbances lengthen it by a share.
            let interval = startup.interval.as_ref().unwrap();
            missed_start_up += u32::from(!interval.holds(START_UP));
            far += u64::from(interval.half_width() > 0.1 * START_UP);
        }
    }
    assert!(f64::from(missed) <= most(trials), "{missed} of {trials}");
    assert!(f64::from(missed_start_up) <= most(2 * trials), "{missed_start_up} of {}", 2 * trials);
    assert!(far < trials / 10, "{far} of {}", 2 * trials);
}

#[test]
fn a_draw_has_one_layout_and_usual_runs_that_do_not_affect_verdicts() {
    let record = record(&[SECONDS, SECONDS, 1.5 * SECONDS], 7);
    assert!(record.draws() > 20, "{}", record.draws());
    let draws: Vec<u64> = record.blocks.iter().map(|block| block.draw.unwrap()).collect();
    assert!(draws.is_sorted());
    for draw in 0..record.draws() as u64 {
        let of = |blocks: &[steady_model::Block]| blocks.iter().filter(|block| block.draw == Some(draw)).count();
        let first = record.blocks.iter().find(|block| block.draw == Some(draw)).unwrap();
        let same = record.blocks.iter().chain(&record.usual).filter(|block| block.draw == Some(draw));
        assert!(same.clone().all(|block| block.layout == first.layout));
        assert!(of(&record.usual) >= 1 && of(&record.usual) < of(&record.blocks), "{draw}");
    }
    // Without the usual runs the verdicts are the same, but the cost of start-up is not known.
    let without = judge(Record { usual: vec![], ..record.clone() });
    let report = judge(record);
    assert_eq!(report.judgements, without.judgements);
    assert_eq!(report.startups.len(), 3);
    assert!(without.startups.iter().all(|startup| startup.mean.is_err()));
}

#[test]
fn a_seed_repeats_its_draws() {
    assert_eq!(record(&[SECONDS, SECONDS], 3), record(&[SECONDS, SECONDS], 3));
}

#[test]
fn exchanged_labels_change_only_the_sign() {
    let record = record(&[SECONDS, 1.02 * SECONDS], 11);
    let mut swapped = record.clone();
    for run in swapped.blocks.iter_mut().flat_map(|block| &mut block.runs) {
        run.command = 1 - run.command;
    }
    let verdict = |record: Record| {
        let report = judge(record);
        let judgement = report.primary().next().unwrap().clone();
        let interval = judgement.verdict_interval.clone().unwrap();
        (judgement.pairs, interval.low.ln_1p(), interval.high.ln_1p())
    };
    let (one, other) = (verdict(record), verdict(swapped));
    assert_eq!(one.0, other.0);
    assert!((one.1 + other.2).abs() < 1e-6 && (one.2 + other.1).abs() < 1e-6, "{one:?} {other:?}");
}

#[test]
fn an_incomplete_draw_counts_with_its_pairs() {
    let mut machine = machine(&[SECONDS, SECONDS], 5);
    machine.interrupt_after = Some(500);
    let record = measure(&warm(2, 5), &mut machine).unwrap();
    let last = record.blocks.last().unwrap().draw.unwrap();
    let report = judge(record);
    assert_eq!(report.primary().next().unwrap().pairs, last as usize + 1);
}

#[test]
fn without_snapshots_runs_start_as_usual_with_a_warning() {
    let cold = Cold { command: Some(1), reason: "it is static".to_owned() };
    let setting = steady_compare::run::CompareContext { cold: Some(cold), ..setting() };
    // This machine has no snapshots, and would return an error if one was requested.
    let mut machine = SimulatedMachine::new(&[SECONDS, SECONDS], Conditions::QUIET, 9);
    let record = compare(&warm(2, 9), setting, &mut machine, &mut |_| {}).unwrap();
    assert!(!record.is_warm() && record.usual.is_empty() && record.blocks.iter().all(|block| block.draw.is_none()));
    let report = judge(record);
    assert!(report.startups.is_empty());
    assert!(report.warnings.iter().any(|warning| matches!(warning, Warning::Cold { command: Some(1), .. })));
}

fn relinked(costs: &[f64], seed: u64) -> Record {
    let plan = Plan { relink: PerCommand(vec!["link".to_owned()]), ..plan(costs.len(), 2.0, seed) };
    let mut machine = SimulatedMachine::new(costs, Conditions { hit_per_mille: 5, ..Conditions::QUIET }, seed ^ 0x5eed);
    machine.layouts = Some((LUCK, 5e-3));
    measure(&plan, &mut machine).unwrap()
}

#[test]
fn the_error_rate_holds_with_layouts_as_units_and_not_with_pairs() {
    let trials = repeated(80);
    let (mut wrong, mut wrong_by_pairs) = (0, 0);
    for seed in 0..trials {
        let record = relinked(&[10.0 * SECONDS, 10.0 * SECONDS], seed);
        let mut as_pairs = as_pairs(&record);
        as_pairs.plan.relink = PerCommand::NONE;
        wrong_by_pairs += u32::from(rejects(&judge(as_pairs)));
        wrong += u32::from(rejects(&judge(record)));
    }
    assert!(f64::from(wrong) <= most(trials), "{wrong} of {trials}");
    assert!(f64::from(wrong_by_pairs) > 2.0 * most(trials), "{wrong_by_pairs} of {trials}: pairs would do as well");
}

#[test]
fn a_difference_is_found_over_all_layouts() {
    let report = judge(relinked(&[10.0 * SECONDS, 11.0 * SECONDS], 5));
    let judgement = report.primary().next().unwrap();
    assert!(judgement.verdict == Verdict::Slower && judgement.interval.as_ref().unwrap().holds(0.1), "{judgement:?}");
    assert!(report.record.usual.is_empty() && report.record.blocks.iter().all(|block| block.draw.is_some()));
    assert_eq!(judgement.pairs, report.record.draws());
}
