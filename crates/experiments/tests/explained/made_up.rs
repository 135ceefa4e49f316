//! Prices, counts and records that are made up, and what is looked for in reports.

use steady_model::*;

use crate::common::setting;

pub(crate) fn price(seconds: f64, share: f64) -> Price {
    Price { seconds, interval: Interval { low: seconds * (1.0 - share), high: seconds * (1.0 + share) } }
}

/// A rate of the clock, and where it lies.
pub(crate) fn alu(seconds: f64, low: f64, high: f64) -> Reading<AluTime> {
    Ok(AluTime { seconds, interval: Interval { low, high }, readings: 20 })
}

/// Prices of everything, each known to this share of it.
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
        calls: Ok(calls.iter().map(|call| call.count).sum()),
        calls_by_name: Ok(calls),
    }
}

pub(crate) fn record(user: Nanos, system: Nanos, counts: Counts) -> ExplainRecord {
    let wall = Nanos(2 * (user + system).0);
    ExplainRecord {
        plan: ExplainPlan { command: Command::default(), trace: false, by_process: false },
        started: Timestamp(0),
        host: setting().host,
        revision: absent("none"),
        ended: Outcome::Exited(0),
        wall,
        user,
        system,
        tick: None,
        thread_time: Ok(wall),
        waiting: Ok(Nanos(wall.0 / 8)),
        stopped: Nanos::ZERO,
        counts,
        sources: vec![],
        counting_cost: absent("nothing"),
        processes: absent("none"),
        progress: vec![],
        activity: activity(),
        left_behind: 0,
        alu: alu(2e-9, 2e-9, 2e-9),
        prices: prices(0.02),
    }
}

pub(crate) fn activity() -> Activity {
    Activity { busy_ratio: absent("x"), steal_ratio: absent("x"), pressure: absent("x"), throttled_ratio: absent("x") }
}

pub(crate) fn seconds_of(report: &ExplainReport, name: &str) -> f64 {
    report.parts.iter().filter(|part| part.name == name).map(|part| part.seconds).sum()
}

pub(crate) fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1e-3)
}

pub(crate) fn line(report: &ExplainPairReport, line: Line) -> &Difference {
    report.lines.iter().find(|one| one.line == line).unwrap()
}

pub(crate) fn mean_of(report: &ExplainPairReport, of: Line) -> f64 {
    line(report, of).difference.as_ref().unwrap().0
}
