//! Whole experiments on two commands on a simulated machine: pairs, counted runs, and interruptions.

use steady_costs::prices::Priced;
use steady_explain::*;
use steady_model::*;
use steady_process::runner::RunError;
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::made_up::{absent, counts, line, plan, prices, setting};

/// Counts that differ from run to run: the number of runs so far, and after how many runs it is interrupted.
struct Counting(u64, Option<u64>);

impl Counter for Counting {
    fn count(&mut self, command: usize) -> Result<Reading<Counts>, RunError> {
        self.0 += 1;
        match self.1 {
            Some(most) if self.0 > most => Err(RunError::Interrupted),
            _ => Ok(Ok(counts(&[("read", 10 * (command as u64 + 1) + self.0)]))),
        }
    }

    fn sources(&self) -> Vec<String> {
        vec!["made up".to_owned()]
    }
}

fn run_pair(counter: Reading<&mut dyn Counter>, interrupt_after: Option<u64>) -> ExplainPairRecord {
    let mut machine = SimulatedMachine::new(&[0.005, 0.006], Conditions::QUIET, 5);
    machine.interrupt_after = interrupt_after;
    on(&mut machine, counter)
}

fn on(machine: &mut SimulatedMachine, counter: Reading<&mut dyn Counter>) -> ExplainPairRecord {
    explained(&plan(1.0, 7), machine, counter, &mut |_| {})
}

fn explained(
    plan: &Plan,
    machine: &mut SimulatedMachine,
    counter: Reading<&mut dyn Counter>,
    steps: &mut dyn FnMut(Step),
) -> ExplainPairRecord {
    let means = Means { prices: prices(0.02), ruler: || 2e-9 };
    explain_pair(plan, setting(), means, machine, counter, steps).unwrap()
}

#[test]
fn intervals_of_whole_experiments_contain_the_true_difference() {
    // Multiplicative noise adds more to NEW, which costs more, so with bursts the commands cost the same.
    let trials = 200;
    let bursty = Conditions { bursts: Some((0.1, 0.3, 1.5)), hit_per_mille: 20, ..Conditions::QUIET };
    for (conditions, more) in [(Conditions::QUIET, 0.001), (bursty, 0.0)] {
        let missed = (0..trials).filter(|seed| {
            let mut machine = SimulatedMachine::new(&[0.005, 0.005 + more], conditions, *seed);
            let report = on(&mut machine, absent("not counted"));
            !line(&report, Line::Cpu).difference.as_ref().unwrap().1.holds(more)
        });
        let missed = missed.count();
        // 99.9 % quantile of the number of misses at an error rate of 5 %.
        assert!(missed <= 21, "{missed} of {trials}, {conditions:?}");
    }
}

#[test]
fn pairs_use_the_whole_budget_and_one_look() {
    let record = run_pair(Ok(&mut Counting(0, None)), None);
    assert_eq!(record.record.looks.len(), 1);
    assert_eq!(record.record.ending, Ending::Spent);
    assert!(record.record.elapsed > Nanos::from_seconds(0.97), "{:?}", record.record.elapsed);
    assert!(record.record.blocks.iter().all(|block| block.layout == Layout::Turns));
    assert!(record.notes.iter().any(|note| note.contains("read (11 to 15 in 3 runs of OLD")), "{:?}", record.notes);
    let reads = line(&record, Line::Part(Priced::Call(KernelCall::Read)));
    assert!(reads.more.unwrap().1.half_width() > 0.0, "{reads:?}");
}

#[test]
fn no_runs_are_counted_without_enough_pairs_for_an_interval() {
    let counting = |pairs: u64| {
        let mut machine = SimulatedMachine::new(&[0.005, 0.006], Conditions::QUIET, 5);
        let (mut counter, mut steps) = (Counting(0, None), Vec::new());
        let plan = Plan { effort: Effort::Pairs(pairs), ..plan(1.0, 7) };
        let record = explained(&plan, &mut machine, Ok(&mut counter), &mut |step| {
            if let Step::Counting { ended } = step {
                steps.push(ended);
            }
        });
        (record, counter.0, steps)
    };
    let (record, counted, steps) = counting(5);
    assert!(record.pairs == 5 && counted == 0 && steps.is_empty(), "{} pairs, {counted} counted", record.pairs);
    assert!(record.missing.iter().any(|one| one.why.contains("too few pairs")), "{:?}", record.missing);
    let (record, counted, steps) = counting(6);
    assert!(record.pairs == 6 && counted == 6, "{} pairs, {counted} counted", record.pairs);
    assert_eq!(steps, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn pairs_are_reported_if_counting_is_interrupted() {
    let record = run_pair(Ok(&mut Counting(0, Some(3))), None);
    assert!(record.counted[0].is_err() && record.record.ending == Ending::Spent);
    let record = run_pair(Ok(&mut Counting(0, None)), Some(20));
    assert_eq!(record.record.ending, Ending::Interrupted);
    assert!(record.counted[1].is_err() && record.pairs > 6);
    let record = run_pair(Err(Absent::because("ptrace is not allowed")), None);
    assert_eq!(record.counted[0], absent("ptrace is not allowed"));
}

#[test]
fn the_clock_rate_is_read_between_pairs() {
    let record = run_pair(absent("not counted"), None);
    let rate = record.alu.unwrap();
    assert!((rate.seconds - 2e-9).abs() < 1e-18 && rate.readings >= 16, "{rate:?}");
}
