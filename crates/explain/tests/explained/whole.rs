//! Whatever was counted, the parts and what they leave are the whole.

use proptest::prelude::*;
use steady_costs::prices::Priced;
use steady_explain::*;
use steady_model::*;

use crate::made_up::{absent, close, counts, record};

proptest! {
    #[test]
    fn parts_and_what_they_leave_are_the_whole(
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
        // No call is priced twice: those that are priced and those that others carry are at most all.
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
