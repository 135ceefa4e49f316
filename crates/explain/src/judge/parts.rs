//! The parts of a CPU time: counted events times the price of one event on this machine.
//!
//! The price of a process includes the calls that create, end and reap it. Prices of threads and programs include such
//! calls too. Calls that are part of another price are subtracted first. The remaining calls are priced by name if the
//! name has a price. Otherwise they are priced as an entry into the kernel, which is a lower bound.

use steady_costs::prices::{Price, Priced, Prices};
use steady_model::{Absent, CallCount, Interval, KernelCall, Reading};

use super::faults;
use crate::record::{Counts, Missing, Part};

/// Collects priced parts, and the prices and counts that are missing.
pub(super) struct Tally<'a> {
    prices: &'a Prices,
    pub(super) parts: Vec<Part>,
    /// Prices and counts that could not be measured.
    pub(super) missing: Vec<Missing>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(prices: &'a Prices) -> Self {
        Tally { prices, parts: Vec::new(), missing: Vec::new() }
    }

    /// Whether the price of this kind of event is known.
    fn has_price(&self, priced: Priced) -> bool {
        self.prices.of(priced).is_ok()
    }

    /// Adds a part for `count` events at their price. Events that did not happen have no part.
    fn add(&mut self, name: &str, priced: Priced, at_least: bool, count: f64) {
        self.priced(name, priced, self.prices.of(priced), at_least, count);
    }

    fn priced(&mut self, name: &str, priced: Priced, price: Reading<Price>, at_least: bool, count: f64) {
        if count <= 0.0 {
            return;
        }
        match price {
            Ok(price) => self.parts.push(part(name, priced, price, at_least, count)),
            Err(why) => self.note_missing(&format!("the price of {name}"), &why),
        }
    }

    fn note_missing(&mut self, what: &str, why: &Absent) {
        self.missing.push(Missing { what: what.to_owned(), why: why.0.clone() });
    }

    /// Adds the page faults, priced as if each process of the tree had the mean number of them.
    fn faults(&mut self, counts: &Counts) {
        let processes = 1.0 + counts.forks.clone().unwrap_or(0) as f64;
        let price = faults::in_tree(self.prices, counts.minor_faults as f64 / processes, processes);
        self.priced("page faults", Priced::MinorFault, price.clone(), false, counts.minor_faults as f64);
        // Waiting for storage is not CPU time. It is part of the blocked time.
        self.priced("major page faults", Priced::MinorFault, price, true, counts.major_faults as f64);
    }

    /// Adds a count that is one number, or notes why it is missing. Returns how many events were priced, because their
    /// system calls must not be priced again.
    fn counted(&mut self, name: &str, priced: Priced, count: &Reading<u64>, at_least: bool) -> u64 {
        match count {
            Ok(count) => {
                self.add(name, priced, at_least, *count as f64);
                if self.has_price(priced) { *count } else { 0 }
            }
            Err(why) => {
                self.note_missing(name, why);
                0
            }
        }
    }

    /// Widens the price interval of forks down to that of vfork(2), because the counts do not show how each process was
    /// created.
    fn include_vfork(&mut self) {
        let Ok(vfork) = self.prices.of(Priced::Vfork) else { return };
        for part in self.parts.iter_mut().filter(|part| part.priced == Priced::Fork) {
            part.price.interval.low = part.price.interval.low.min(vfork.interval.low);
            part.interval.low = part.count * part.price.interval.low;
        }
    }

    /// Adds processes, threads, programs and system calls: all counts that getrusage(2) does not report.
    pub(super) fn add_created(&mut self, counts: &Counts) {
        let priced = PricedEvents {
            forks: self.counted("forks", Priced::Fork, &counts.forks, false),
            threads: self.counted("threads", Priced::Thread, &counts.threads, false),
            execs: self.counted("execs", Priced::Exec, &counts.execs, counts.execs_at_least),
        };
        self.include_vfork();
        match (&counts.calls_by_name, &counts.calls) {
            (Ok(by_name), _) => calls_by_name(self, by_name, priced),
            (Err(_), Ok(calls)) => calls_in_all(self, *calls, priced),
            (Err(_), Err(why)) => self.note_missing("system calls", why),
        }
    }
}

/// Computes all parts, the largest first, and what is missing. The parts do not overlap.
pub(super) fn all(counts: &Counts, prices: &Prices) -> (Vec<Part>, Vec<Missing>) {
    let mut tally = Tally::new(prices);
    tally.faults(counts);
    let switches = counts.voluntary_switches.clone().and_then(|one| Ok(one + counts.involuntary_switches.clone()?));
    tally.counted("switches", Priced::Switch, &switches, false);
    tally.add_created(counts);
    tally.parts.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    (tally.parts, tally.missing)
}

/// A part for `count` events at their price.
fn part(name: &str, priced: Priced, price: Price, at_least: bool, count: f64) -> Part {
    Part {
        name: name.to_owned(),
        priced,
        at_least,
        count,
        price,
        seconds: count * price.seconds,
        interval: Interval { low: count * price.interval.low, high: count * price.interval.high },
    }
}

/// The part of a CPU time that the parts do not explain, with its interval, in seconds.
///
/// The interval adds up the ends of the parts' intervals. The errors of the parts are not independent: all events of a
/// kind share one price, and all prices share what was subtracted from them. The sum of the errors bounds the error of
/// the sum under any dependence.
pub(super) fn unexplained(cpu: f64, parts: &[Part]) -> (f64, Interval) {
    let sum = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
    let left = cpu - sum(|part| part.seconds);
    (left, Interval { low: cpu - sum(|part| part.interval.high), high: cpu - sum(|part| part.interval.low) })
}

/// Names of system calls that have the same effect.
type SameEffect = &'static [&'static str];

/// How many system calls the price of a process, a thread and a program includes, at most.
const INCLUDED_CALLS: [(SameEffect, CallsPer); 9] = [
    (&["fork", "vfork", "clone", "clone3"], CallsPer { fork: 1, thread: 1, exec: 0 }),
    (&["exit", "exit_group"], CallsPer { fork: 1, thread: 1, exec: 0 }),
    (&["wait4", "waitid"], CallsPer { fork: 1, thread: 0, exec: 0 }),
    (&["execve", "execveat"], CallsPer { fork: 0, thread: 0, exec: 1 }),
    // Calls of a C library to create and join a thread whose stack is already mapped.
    (&["futex"], THREAD),
    (&["set_robust_list"], THREAD),
    (&["rseq"], THREAD),
    (&["madvise"], THREAD),
    (&["rt_sigprocmask"], CallsPer { thread: 4, ..THREAD }),
];
const THREAD: CallsPer = CallsPer { fork: 0, thread: 1, exec: 0 };

/// Number of system calls that the price of one process, one thread and one program includes.
#[derive(Clone, Copy)]
struct CallsPer {
    fork: u64,
    thread: u64,
    exec: u64,
}

/// Numbers of processes, threads and programs that were priced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct PricedEvents {
    forks: u64,
    threads: u64,
    execs: u64,
}

impl CallsPer {
    /// Number of calls that the prices of these processes, threads and programs include.
    fn calls(self, priced: PricedEvents) -> u64 {
        let each = [(self.fork, priced.forks), (self.thread, priced.threads), (self.exec, priced.execs)];
        each.into_iter().fold(0, |sum: u64, (calls, times)| sum.saturating_add(calls.saturating_mul(times)))
    }
}

/// Prices system calls whose names are not known.
fn calls_in_all(tally: &mut Tally<'_>, calls: u64, priced: PricedEvents) {
    let included = INCLUDED_CALLS.iter().fold(0, |sum: u64, (_, per)| sum.saturating_add(per.calls(priced)));
    tally.add("system calls", Priced::KernelEntry, true, calls.saturating_sub(included) as f64);
}

/// Prices system calls by name.
fn calls_by_name(tally: &mut Tally<'_>, calls: &[CallCount], priced: PricedEvents) {
    let mut left: Vec<(&str, u64)> = calls.iter().map(|call| (call.name.as_str(), call.count)).collect();
    for (names, per) in INCLUDED_CALLS {
        let mut included = per.calls(priced);
        for (_, count) in left.iter_mut().filter(|(name, _)| names.contains(name)) {
            let subtracted = included.min(*count);
            (included, *count) = (included - subtracted, *count - subtracted);
        }
    }
    for call in KernelCall::ALL {
        price_by_name(tally, call, &mut left);
    }
    for (name, count) in left {
        tally.add(name, Priced::KernelEntry, true, count as f64);
    }
}

/// Prices calls that have a price by name. If a price is for a pair of calls, it prices as many as there are pairs.
fn price_by_name(tally: &mut Tally<'_>, call: KernelCall, left: &mut [(&str, u64)]) {
    let count_of = |name: &&str| left.iter().find(|(of, _)| of == name).map_or(0, |(_, count)| *count);
    let times = call.calls().iter().map(count_of).min().unwrap_or(0);
    if times > 0 && tally.has_price(Priced::Call(call)) {
        tally.add(&call.calls().join(", "), Priced::Call(call), true, times as f64);
        left.iter_mut().filter(|(name, _)| call.calls().contains(name)).for_each(|(_, count)| *count -= times);
    }
}
