//! Tests of the parts of the CPU time of one command.

use proptest::prelude::*;
use steady_costs::prices::Priced;
use steady_explain::*;
use steady_model::*;

use crate::made_up::{absent, alu, close, counts, price, record, seconds_of};

#[test]
fn calls_that_create_processes_are_priced_with_the_process_only() {
    // A shell that starts 10 programs and reads.
    let made = [
        ("clone", 10),
        ("exit_group", 11),
        ("wait4", 13),
        ("execve", 10),
        ("read", 100),
        ("openat", 7),
        ("close", 12),
        ("getppid", 5),
    ];
    let counts = Counts { forks: Ok(10), execs: Ok(10), ..counts(&made) };
    let report = judged(record(Nanos(3_000_000), Nanos(4_000_000), counts));
    let expected = [
        ("forks", 10.0 * 60e-6),
        ("execs", 10.0 * 300e-6),
        ("read", 100.0 * 0.2e-6),
        ("openat, close", 7.0 * 1.3e-6),
        // Calls beyond the pairs, and calls that no process includes, are priced as an entry into the kernel.
        ("close", 5.0 * 0.1e-6),
        ("wait4", 3.0 * 0.1e-6),
        ("exit_group", 0.1e-6),
        ("getppid", 5.0 * 0.1e-6),
        ("clone", 0.0),
        ("execve", 0.0),
        ("openat", 0.0),
    ];
    for (name, seconds) in expected {
        assert!(close(seconds_of(&report, name), seconds), "{name}: {}", seconds_of(&report, name));
    }
    assert!(close(report.parts.iter().map(|part| part.seconds).sum(), expected.iter().map(|(_, one)| one).sum()));
    let at_least: Vec<&str> =
        report.parts.iter().filter(|part| !part.at_least).map(|part| part.name.as_str()).collect();
    assert_eq!(at_least, ["execs", "forks"]);
}

/// Exit records show at most one exec of each process, so `sh -c 'exec env true'` has none that they show.
#[test]
fn execs_from_exit_records_are_a_lower_bound() {
    let report = |execs| {
        let counts = Counts { forks: Ok(2), execs: Ok(execs), execs_at_least: true, ..counts(&[]) };
        judged(record(Nanos(3_000_000), Nanos(4_000_000), counts))
    };
    let some = report(2);
    assert!(some.parts.iter().any(|part| part.name == "execs" && part.at_least), "{:?}", some.parts);
    // The source of the count says so, even if it is zero.
    assert!(report(0).missing.is_empty() && report(0).counts.execs_at_least);
}

#[test]
fn calls_without_names_are_priced_as_kernel_entries() {
    let counts = Counts { forks: Ok(10), execs: Ok(10), calls_by_name: absent("no tracer"), ..counts(&[("x", 1_000)]) };
    let report = judged(record(Nanos(3_000_000), Nanos(4_000_000), counts));
    let calls = report.parts.iter().find(|part| part.name == "system calls").unwrap();
    assert_eq!((calls.count, calls.at_least), (1_000.0 - 3.0 * 10.0 - 10.0, true));
    assert!(report.missing.is_empty());
}

#[test]
fn processes_without_a_price_include_no_calls() {
    let mut record = record(Nanos(3_000_000), Nanos(4_000_000), Counts { forks: Ok(10), ..counts(&[("clone", 10)]) });
    record.prices.prices.retain(|(priced, _)| *priced != Priced::Fork);
    let report = judged(record);
    assert!(close(seconds_of(&report, "clone"), 10.0 * 0.1e-6));
    let missing = Missing { what: "the price of forks".to_owned(), why: "it was not measured".to_owned() };
    assert_eq!(report.missing, [missing]);
}

#[test]
fn the_interval_of_forks_reaches_down_to_the_price_of_vfork() {
    let mut record = record(Nanos(300_000), Nanos(100_000), Counts { forks: Ok(10), ..counts(&[]) });
    record.prices.prices.push((Priced::Vfork, Ok(price(30e-6, 0.1))));
    let report = judged(record);
    let forks = &report.parts[0];
    assert!(close(forks.seconds, 600e-6) && close(forks.interval.low, 0.7 * 270e-6), "{forks:?}");
    // The parts exceed the whole, but their interval does not exclude it.
    assert!(report.unexplained.unwrap().0 < 0.0);
    assert!(report.notes.is_empty());
}

#[test]
fn missing_counts_are_reported_with_a_reason() {
    let counts = Counts {
        voluntary_switches: absent("a tracer"),
        forks: absent("no tracefs"),
        calls: absent("no tracefs"),
        calls_by_name: absent("no tracer"),
        ..counts(&[])
    };
    let report = judged(record(Nanos(1_000_000), Nanos::ZERO, counts));
    let missing: Vec<&str> = report.missing.iter().map(|missing| missing.what.as_str()).collect();
    assert_eq!(missing, ["switches", "forks", "system calls"]);
    assert_eq!(report.unexplained.unwrap().0, 1e-3);
}

#[test]
fn a_note_says_that_the_parts_exceed_the_whole() {
    let counts = Counts { minor_faults: 10_000, ..counts(&[]) };
    let expensive = judged(record(Nanos(1_000_000), Nanos(1_000_000), counts.clone()));
    let (left, interval) = expensive.unexplained.unwrap();
    assert!(close(left, 0.002 - 0.005) && interval.high < 0.0);
    assert!(
        expensive.notes.iter().any(|note| note.contains("3.00\u{a0}ms more") && note.contains("page faults")),
        "{:?}",
        expensive.notes
    );
    let within = judged(record(Nanos(4_000_000), Nanos(950_000), counts));
    assert!(within.unexplained.unwrap().1.holds(0.0) && within.notes.is_empty());
}

#[test]
fn ticks_give_an_interval_of_the_system_time() {
    let of = |cpu: f64, share: f64, forks: u64| {
        let system = Nanos::from_seconds(cpu * share);
        let counts = Counts { forks: Ok(forks), ..counts(&[]) };
        let record = record(Nanos::from_seconds(cpu) - system, system, counts);
        judged(ExplainRecord { tick_seconds: Ok(Nanos(4_000_000)), ..record }).system_interval
    };
    // A thousand ticks: two standard errors of the share are 3 %.
    let wide = of(4.0, 0.25, 0).unwrap();
    assert!(wide.holds(1.0) && (wide.half_width() / 4.0 - 0.0268).abs() < 0.001, "{wide:?}");
    assert!(of(0.04, 0.0, 0).unwrap().high > 0.005, "ten ticks without a hit exclude little");
    assert!(of(4.0, 0.25, 1_000).is_err(), "processes of a tick each");
    let uncounted = Counts { forks: absent("not allowed"), ..counts(&[]) };
    let uncounted = record(Nanos(3_000_000_000), Nanos(1_000_000_000), uncounted);
    let of = |waiting_seconds| {
        let tick_seconds = Ok(Nanos(4_000_000));
        judged(ExplainRecord { tick_seconds, waiting_seconds, ..uncounted.clone() }).system_interval
    };
    assert!(of(Ok(Nanos::ZERO)).is_ok(), "the waiting is known because there was one thread");
    assert!(of(absent("several threads")).unwrap_err().0.contains("were not counted"));
    let exact = judged(record(Nanos(5), Nanos(7), counts(&[]))).system_interval.unwrap();
    assert_eq!((exact.low, exact.high), (7e-9, 7e-9));
}

#[test]
fn a_traced_command_has_no_unexplained_time() {
    let mut traced = record(Nanos(1_000_000), Nanos(1_000_000), counts(&[("read", 10)]));
    traced.trace = true;
    let report = judged(traced);
    assert!(report.unexplained.is_err() && !report.parts.is_empty() && report.notes.len() == 1);
}

#[test]
fn prices_are_scaled_to_the_clock_rate_of_the_run() {
    // If a step takes 0.9 of the time, 10,000 calls take 0.9 ms, and nothing is unexplained.
    let of = |rate: Reading<AluTime>| ExplainRecord {
        alu: rate,
        ..record(Nanos::ZERO, Nanos(900_000), counts(&[("getpid", 10_000)]))
    };
    let at = judged(of(alu(1.8e-9, 1.75e-9, 1.85e-9)));
    let (left, interval) = at.unexplained.unwrap();
    assert!(left.abs() < 1e-9 && interval.holds(0.0), "{left} {interval:?}");
    assert!(interval.half_width() > 0.02 * 0.9e-3 + 0.02e-3, "the interval includes the error of the clock rate");
    // Unscaled prices would exceed the whole.
    let unscaled = judged(of(absent("not read")));
    assert!(unscaled.unexplained.unwrap().1.high < 0.0 && unscaled.notes.len() == 1);
}

proptest! {
    #[test]
    fn parts_and_the_unexplained_rest_add_up_to_the_whole(
        times in prop::array::uniform2(0u64..100_000_000_000), events in prop::array::uniform7(0u64..1_000_000),
        calls in prop::collection::vec((0usize..12, 0u64..1_000_000), 0..12), by_name in any::<bool>()
    ) {
        const NAMES: [&str; 12] = ["read", "openat", "close", "clone", "clone3", "exit", "exit_group", "wait4", "execve",
            "futex", "rt_sigprocmask", "number 451"];
        let mut named: Vec<(&str, u64)> = calls.into_iter().map(|(name, count)| (NAMES[name], count)).collect();
        named.sort();
        named.dedup_by_key(|(name, _)| *name);
        let counts = Counts {
            minor_faults: events[0],
            major_faults: events[1],
            voluntary_switches: Ok(events[2]),
            involuntary_switches: Ok(events[3]),
            forks: Ok(events[4]),
            threads: Ok(events[5]),
            execs: Ok(events[6]),
            execs_at_least: false,
            ..counts(&named)
        };
        let total = counts.calls.clone().unwrap();
        let counts = if by_name { counts } else { Counts { calls_by_name: absent("no tracer"), ..counts } };
        let report = judged(record(Nanos(times[0]), Nanos(times[1]), counts));
        let cpu = Nanos(times[0] + times[1]).seconds();
        let (left, interval) = report.unexplained.clone().unwrap();
        prop_assert!(close(report.parts.iter().map(|part| part.seconds).sum::<f64>() + left, cpu));
        prop_assert!(interval.low <= left && left <= interval.high);
        let lived = report.thread_seconds.clone().unwrap().seconds();
        prop_assert!(close(cpu + report.waiting_seconds.clone().unwrap().seconds() + report.blocked_seconds.clone().unwrap(), lived));
        // No call is priced twice: the calls priced by name and those that other prices include are at most all calls.
        let priced: f64 = report.parts.iter().map(|part| match part.priced {
            Priced::KernelEntry => part.count,
            Priced::Call(call) => part.count * call.calls().len() as f64,
            _ => 0.0,
        }).sum();
        prop_assert!(priced <= total as f64);
        if events[4] + events[5] + events[6] == 0 {
            prop_assert_eq!(priced, total as f64);
        }
    }
}

#[test]
fn a_command_that_never_blocked_has_exactly_zero() {
    let mut record = record(Nanos(3_254_257), Nanos::ZERO, counts(&[]));
    (record.thread_seconds, record.waiting_seconds) = (Ok(Nanos(3_951_110)), Ok(Nanos(696_853)));
    assert_eq!(judged(record).blocked_seconds, Ok(0.0));
}
