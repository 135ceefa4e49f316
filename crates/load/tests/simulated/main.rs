//! Load experiments on a simulated machine, and their logs.

mod log;

use steady_load::run::{Event, LoadContext, LoadError, LoadRunner, Measured, SimulatedMachine, measure};
use steady_load::{LoadPlan, LoadRow, LoadWork};
use steady_model::{Absent, Ending, Host, Machine, Nanos, Outcome, Seed, Timestamp};

const SECOND: Nanos = Nanos(1_000_000_000);

fn plan(work: LoadWork) -> LoadPlan {
    LoadPlan { work, procs: (1..=16).collect(), cpus: None }
}

fn hash(poll: Option<Nanos>) -> LoadWork {
    LoadWork::Hash { cpu_time: Nanos(5 * SECOND.0), poll }
}

fn context() -> LoadContext {
    let absent = || Absent::because("the machine is simulated");
    LoadContext {
        host: Host {
            hostname: Err(absent()),
            kernel: Err(absent()),
            cpu_model: Err(absent()),
            cpus_allowed: 8,
            cpus_online: 8,
            cpu_quota: Ok(None),
            memory: Err(absent()),
            hypervisor: Err(absent()),
        },
        machine: Machine {
            online: (0..8).collect(),
            offline: Ok(vec![]),
            allowed: (0..8).collect(),
            cores: Err(absent()),
            packages: Err(absent()),
            kinds: vec![],
            quota: Ok(None),
        },
        started: Timestamp(1),
        revision: Err(absent()),
    }
}

fn run(plan: &LoadPlan, runner: &mut SimulatedMachine) -> (Measured, Vec<Event>) {
    let mut events = Vec::new();
    let measured = measure(plan, Seed(3), context(), runner, &mut |event| events.push(event));
    (measured, events)
}

fn ended(events: &[Event]) -> Vec<&LoadRow> {
    events.iter().filter_map(|event| if let Event::RowEnded(row) = event { Some(&**row) } else { None }).collect()
}

#[test]
fn all_rows_are_measured_once_and_reported() {
    let plan = plan(hash(None));
    let (measured, events) = run(&plan, &mut SimulatedMachine::new(plan.work.clone()));
    let record = measured.record;
    assert_eq!((measured.stopped, record.ending, record.failure.as_deref()), (None, Ending::Spent, None));
    let order: Vec<u32> = ended(&events).iter().map(|row| row.procs).collect();
    assert_eq!(record.rows.iter().map(|row| row.procs).collect::<Vec<_>>(), plan.procs);
    assert_ne!(order, plan.procs, "the order is not random");
    assert!(record.rows.iter().all(|row| row == ended(&events)[row.order]));
    assert!(matches!(&events[0], Event::Begun(begun) if begun.rows.is_empty() && begun.plan == plan));
    assert_eq!(events.len(), 1 + 2 * plan.procs.len());
    assert_eq!(record.elapsed, record.rows.iter().map(|row| row.elapsed).sum());
    assert!(record.poll_cost.unwrap_err().0.contains("polls"));
}

#[test]
fn a_polled_limit_overshoots_and_its_cost_is_reported() {
    let plan = plan(hash(Some(Nanos(3 * SECOND.0))));
    let record = run(&plan, &mut SimulatedMachine::new(plan.work.clone())).0.record;
    assert!(record.poll_cost.unwrap() > 0.0);
    let alone = record.rows.iter().find(|row| row.procs == 1).unwrap();
    assert_eq!(alone.runs[0].overshoot, Ok(SECOND), "polls at 3 s and 6 s, with a limit of 5 s");
}

#[test]
fn an_interruption_keeps_the_complete_rows() {
    let plan = plan(LoadWork::Sum { work: 1_000 });
    let mut runner = SimulatedMachine::new(plan.work.clone());
    runner.interrupt_after = Some(3);
    let (measured, _) = run(&plan, &mut runner);
    assert_eq!(measured.stopped, Some(LoadError::Interrupted));
    assert_eq!((measured.record.rows.len(), measured.record.ending), (3, Ending::Interrupted));
    assert_eq!(measured.record.failure, None, "an interruption is not a failure");
}

#[test]
fn an_error_ends_the_experiment_and_is_in_the_record() {
    let plan = plan(LoadWork::Sum { work: 1_000 });
    for error in [
        LoadError::Refused { procs: 9, started: 7, reason: "no more".to_owned() },
        LoadError::WorkerLost { procs: 9, outcome: Outcome::Signalled(9) },
    ] {
        let mut runner = SimulatedMachine::new(plan.work.clone());
        runner.fails = Some((9, error.clone()));
        let (measured, events) = run(&plan, &mut runner);
        assert!(measured.record.rows.iter().all(|row| row.procs < 9));
        assert_eq!(measured.record.rows.len(), ended(&events).len());
        assert_eq!(measured.record.failure, Some(error.to_string()));
        assert_eq!((measured.stopped, measured.record.ending), (Some(error), Ending::Interrupted));
    }
}

#[test]
fn the_simulated_machine_has_the_given_speed() {
    let mut machine = SimulatedMachine::new(hash(None));
    let mut rate = |procs| {
        let row = machine.row(procs, &mut |_| {}).unwrap();
        row.runs[0].work as f64 / row.runs[0].cpu_time().seconds() / 1e6
    };
    let near = |one: f64, other: f64| (one - other).abs() < 1e-6;
    assert!(near(rate(1), 1.0) && near(rate(4), 1.0));
    assert!(near(rate(6), (2.0 + 4.0 * 0.6) / 6.0), "two processes have their own core, four share two cores");
    assert!(near(rate(8), 0.6) && near(rate(16), 0.6));
}
