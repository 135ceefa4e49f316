//! Turns and duets, and the metric that decides, on simulated machines.

use steady_compare::judge;
use steady_compare::run::compare;
use steady_model::{Absent, Activity, Block, Hook, Layout, Metric, Moment, Nanos, Output, PerCommand, Plan};
use steady_process::runner::{BlockSpec, RunError, RunnableTime, Runner, Traits};
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::common::{plan, primary, report, setting};

#[test]
fn both_layouts_are_used_and_the_more_precise_one_gets_more_time() {
    let biased = Conditions { cpu_bias: (0.2, 0.05), ..Conditions::QUIET };
    let mut plan = plan(2, 10.0, 5);
    plan.resolution = 1e-5;
    let report = report(&plan, &[0.010, 0.010], biased);
    let [turns, duet] = Layout::ALL.map(|layout| report.blocks_of(layout));
    assert!(duet >= 12 && turns > 3 * duet, "{turns} turns, {duet} duets");
}

#[test]
fn scripts_around_runs_and_output_files_exclude_duets() {
    let change: [fn(&mut Plan); 3] = [
        |plan| plan.prepare = PerCommand(vec!["sync".to_owned()]),
        |plan| plan.conclude = PerCommand(vec!["sync".to_owned()]),
        |plan| plan.output = PerCommand(vec![Output::File("/x".into())]),
    ];
    for change in change {
        let mut plan = plan(2, 1.0, 6);
        change(&mut plan);
        let report = report(&plan, &[0.010, 0.020], Conditions::QUIET);
        assert_eq!(report.blocks_of(Layout::Duet), 0, "{:?}", report.record.left_out);
    }
}

#[test]
fn waiting_commands_are_compared_by_elapsed_time_in_turns() {
    let waiting = Conditions { cpu_share: 0.2, ..Conditions::QUIET };
    let report = report(&plan(2, 5.0, 12), &[0.002, 0.003], waiting);
    assert_eq!((primary(&report).metric, report.blocks_of(Layout::Duet)), (Metric::Elapsed, 0));
    assert!(
        report.judgements.iter().any(|judgement| judgement.metric == Metric::Cpu),
        "there is no verdict on CPU time"
    );
    let text = steady_render::markdown::text(&steady_compare::document(&report));
    let rows: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
    let elapsed = rows.iter().position(|row| row.replace('\u{a0}', " ") == "elapsed time").expect(&text);
    let after: Vec<&str> = rows[elapsed + 1..elapsed + 4].iter().map(|row| row.trim()).collect();
    assert_eq!(after, ["deviation", "median", "range"]);
}

/// A machine that stalls during one of the warm-up blocks in turns, or on which the commands have parallel threads.
struct Stalling {
    machine: SimulatedMachine,
    /// The number of the block, from 1.
    stalled: usize,
    probed: usize,
    runnable: RunnableTime,
}

impl Runner for Stalling {
    fn probe(&mut self, block: &BlockSpec) -> Result<(Block, Vec<Traits>), RunError> {
        let (mut block, mut traits) = self.machine.probe(block)?;
        self.probed += 1;
        if self.probed == 1 {
            traits.iter_mut().for_each(|traits| traits.runnable = self.runnable);
        }
        if self.probed == self.stalled {
            block.runs.iter_mut().for_each(|run| {
                run.wall += Nanos::from_seconds(0.05);
                run.voluntary_switches += 2;
            });
        }
        Ok((block, traits))
    }

    fn now(&self) -> Nanos {
        self.machine.now()
    }

    fn run(&mut self, blocks: &[BlockSpec], done: &mut dyn FnMut(Block)) -> Result<(), RunError> {
        self.machine.run(blocks, done)
    }

    fn draw(&mut self) -> Result<Nanos, RunError> {
        self.machine.draw()
    }

    fn hook(&mut self, hook: Hook, command: usize) -> Result<(), RunError> {
        self.machine.hook(hook, command)
    }

    fn activity(&self) -> Activity {
        self.machine.activity()
    }

    fn moment(&mut self) -> Moment {
        self.machine.moment()
    }
}

#[test]
fn a_stall_during_the_warm_up_does_not_change_the_metric() {
    for stalled in 1..=3 {
        let machine = SimulatedMachine::new(&[0.002, 0.003], Conditions::QUIET, 15);
        let mut machine = Stalling { machine, stalled, probed: 0, runnable: RunnableTime::default() };
        let report = judge(compare(&plan(2, 2.0, 15), setting(), &mut machine, &mut |_| {}).unwrap());
        assert_eq!(primary(&report).metric, Metric::Cpu, "block {stalled}");
        assert!(machine.probed >= 3 && report.blocks_of(Layout::Duet) > 0, "block {stalled}");
    }
}

#[test]
fn commands_on_several_cpus_exclude_duets() {
    let parallel = Conditions { cpu_share: 1.8, ..Conditions::QUIET };
    let report = report(&plan(2, 5.0, 13), &[0.010, 0.020], parallel);
    assert_eq!(report.blocks_of(Layout::Duet), 0);
    assert!(report.record.left_out[0].reason.contains("more than one CPU"));
}

/// On a busy machine, parallel threads may use less CPU time than wall time.
#[test]
fn commands_with_parallel_threads_exclude_duets() {
    let machine = SimulatedMachine::new(&[0.010, 0.020], Conditions { cpu_share: 0.5, ..Conditions::QUIET }, 13);
    let runnable = RunnableTime { any: Nanos(1_000_000), several: Nanos(100_000) };
    let mut machine = Stalling { machine, stalled: 0, probed: 0, runnable };
    let report = judge(compare(&plan(2, 5.0, 13), setting(), &mut machine, &mut |_| {}).unwrap());
    assert_eq!(report.blocks_of(Layout::Duet), 0);
    assert!(report.record.left_out[0].reason.contains("more than one CPU"));
}

#[test]
fn a_requested_layout_that_is_not_available_is_refused() {
    let mut setting = setting();
    setting.duets = Err(Absent::because("one CPU"));
    let mut machine = SimulatedMachine::new(&[0.01, 0.01], Conditions::QUIET, 14);
    let mut plan = plan(2, 1.0, 14);
    let report = judge(compare(&plan, setting.clone(), &mut machine, &mut |_| {}).unwrap());
    assert_eq!(report.blocks_of(Layout::Duet), 0);
    plan.layout = Some(Layout::Duet);
    let error = compare(&plan, setting, &mut machine, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("one CPU"), "{error}");
}
