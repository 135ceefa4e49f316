//! Made-up prices, counts and records, and helpers that read fields of reports.

use std::path::PathBuf;

use steady_compare::run::{CompareContext, compare};
use steady_costs::prices::{Price, Priced, Prices};
use steady_explain::*;
use steady_feature::attended::AttendedCommand;
use steady_model::*;
use steady_process::simulated::SimulatedMachine;

/// A plan for two commands with a budget of `seconds`.
pub(crate) fn plan(seconds: f64, seed: u64) -> Plan {
    let command = |index: usize| Command {
        name: format!("command {index}"),
        argv: vec!["x".to_owned()],
        program: PathBuf::from("/x"),
        ..Command::default()
    };
    Plan::new((0..2).map(command).collect(), Effort::Budget(Nanos::from_seconds(seconds)), Seed(seed))
}

/// The setting of an experiment on a simulated host.
pub(crate) fn setting() -> CompareContext {
    let host = Host {
        hostname: absent("simulated"),
        kernel: absent("simulated"),
        cpu_model: absent("simulated"),
        cpus_allowed: 2,
        cpus_online: 2,
        cpu_quota: Ok(None),
        memory: absent("simulated"),
        hypervisor: Ok(None),
    };
    CompareContext {
        host,
        duets: Ok(()),
        started: Timestamp(0),
        revision: absent("simulated"),
        counters: absent("simulated"),
        tick: absent("exact"),
        cold: None,
        one_look: false,
    }
}

/// Runs a comparison on a simulated machine.
pub(crate) fn measure(plan: &Plan, machine: &mut SimulatedMachine) -> Record {
    compare(plan, setting(), machine, &mut |_| {}).unwrap()
}

pub(crate) fn price(seconds: f64, share: f64) -> Price {
    Price { seconds, interval: Interval { low: seconds * (1.0 - share), high: seconds * (1.0 + share) } }
}

/// A clock rate with its interval, as the time of one step of arithmetic.
pub(crate) fn alu(seconds: f64, low: f64, high: f64) -> Reading<AluTime> {
    Ok(AluTime { seconds, interval: Interval { low, high }, readings: 20 })
}

/// Prices of all events, with intervals of this relative half-width.
pub(crate) fn prices(share: f64) -> Prices {
    let of = |priced: Priced, seconds: f64| (priced, Ok(price(seconds, share)));
    Prices {
        measured: Timestamp(0),
        kernel: Ok("Linux".into()),
        boot: Ok("boot".into()),
        alu: alu(2e-9, 2e-9, 2e-9),
        prices: vec![
            of(Priced::MinorFault, 0.5e-6),
            of(Priced::Switch, 1.5e-6),
            of(Priced::Fork, 60e-6),
            of(Priced::Thread, 8e-6),
            of(Priced::Exec, 300e-6),
            of(Priced::KernelEntry, 0.1e-6),
            of(Priced::Call(KernelCall::Read), 0.2e-6),
            of(Priced::Call(KernelCall::OpenatClose), 1.3e-6),
            of(Priced::Call(KernelCall::Futex), 0.15e-6),
            of(Priced::Call(KernelCall::RtSigprocmask), 0.12e-6),
        ],
    }
}

pub(crate) fn absent<T>(why: &str) -> Reading<T> {
    Err(Absent::because(why))
}

pub(crate) fn counts(by_name: &[(&str, u64)]) -> Counts {
    let calls: Vec<CallCount> =
        by_name.iter().map(|(name, count)| CallCount { name: (*name).to_owned(), count: *count }).collect();
    Counts {
        minor_faults: 0,
        major_faults: 0,
        voluntary_switches: Ok(0),
        involuntary_switches: Ok(0),
        forks: Ok(0),
        threads: Ok(0),
        execs: Ok(0),
        execs_at_least: false,
        calls: Ok(calls.iter().map(|call| call.count).sum()),
        calls_by_name: Ok(calls),
    }
}

pub(crate) fn record(user: Nanos, system: Nanos, counts: Counts) -> ExplainRecord {
    let wall = Nanos(2 * (user + system).0);
    let command = AttendedCommand { name: "x".to_owned(), argv: vec!["x".to_owned()], program: PathBuf::from("/x") };
    ExplainRecord {
        started: Timestamp(0),
        command,
        interpreter: None,
        trace: false,
        by_process: false,
        host: setting().host,
        revision: absent("none"),
        ended: Outcome::Exited(0),
        wall_seconds: wall,
        cpu_seconds: Nanos::ZERO,
        user_seconds: user,
        system_seconds: system,
        system_interval: absent("not judged"),
        tick_seconds: absent("exact"),
        thread_seconds: Ok(wall),
        waiting_seconds: Ok(Nanos(wall.0 / 8)),
        blocked_seconds: absent("not judged"),
        stopped_seconds: Nanos::ZERO,
        counts,
        parts: vec![],
        unexplained: absent("not judged"),
        missing: vec![],
        notes: vec![],
        sources: vec![],
        counting_cost_seconds: absent("nothing"),
        processes: absent("none"),
        processes_sampled: false,
        progress: vec![],
        activity: activity(),
        alu: alu(2e-9, 2e-9, 2e-9),
        left_behind: 0,
        prices: prices(0.02),
    }
}

/// A record of two commands without derived fields.
pub(crate) fn pair(record: Record, counted: [Reading<Vec<Counts>>; 2]) -> ExplainPairRecord {
    ExplainPairRecord {
        record,
        pairs: 0,
        confidence: 0.0,
        lines: vec![],
        missing: vec![],
        notes: vec![],
        sources: vec![],
        counted,
        alu: alu(2e-9, 2e-9, 2e-9),
        prices: prices(0.02),
    }
}

pub(crate) fn activity() -> Activity {
    Activity { busy_ratio: absent("x"), steal_ratio: absent("x"), pressure: absent("x"), throttled_ratio: absent("x") }
}

pub(crate) fn seconds_of(report: &ExplainRecord, name: &str) -> f64 {
    report.parts.iter().filter(|part| part.name == name).map(|part| part.seconds).sum()
}

pub(crate) fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1e-3)
}

pub(crate) fn line(report: &ExplainPairRecord, line: Line) -> &Difference {
    report.lines.iter().find(|one| one.line == line).unwrap()
}

pub(crate) fn mean_of(report: &ExplainPairRecord, of: Line) -> f64 {
    line(report, of).difference.as_ref().unwrap().0
}
