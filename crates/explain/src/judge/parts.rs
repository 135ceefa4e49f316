//! The parts of a CPU time: so many events, at what one costs here.
//!
//! The price of a process holds the bodies of the calls that make, end and await it, and so do those of threads and programs. Such
//! calls are taken out, as many as were priced elsewhere, and what is left is priced: by name where the name has a price, else as
//! an entry into the kernel, which is the least that any call costs.

use steady_costs::prices::{Price, Priced, Prices};
use steady_model::{Absent, CallCount, Interval, KernelCall, Reading};

use super::faults;
use crate::record::{Counts, Missing, Part};

/// What events cost, and what could not be had.
pub(super) struct Tally<'a> {
    prices: &'a Prices,
    pub(super) parts: Vec<Part>,
    /// What could not be priced or counted.
    pub(super) missing: Vec<Missing>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(prices: &'a Prices) -> Self {
        Tally { prices, parts: Vec::new(), missing: Vec::new() }
    }

    /// Whether an event of this kind can be priced.
    fn has_price(&self, priced: Priced) -> bool {
        self.prices.of(priced).is_ok()
    }

    /// Adds so many events; of what did not happen there is no part.
    fn add(&mut self, name: &str, priced: Priced, at_least: bool, count: f64) {
        self.priced(name, priced, self.prices.of(priced), at_least, count);
    }

    fn priced(&mut self, name: &str, priced: Priced, price: Reading<Price>, at_least: bool, count: f64) {
        if count <= 0.0 {
            return;
        }
        match price {
            Ok(price) => self.parts.push(part(name, priced, price, at_least, count)),
            Err(why) => self.lacks(&format!("the price of {name}"), &why),
        }
    }

    fn lacks(&mut self, what: &str, why: &Absent) {
        self.missing.push(Missing { what: what.to_owned(), why: why.0.clone() });
    }

    /// Adds the page faults, at the price of a tree whose processes all had as many as the mean one.
    fn faults(&mut self, counts: &Counts) {
        let processes = 1.0 + counts.forks.clone().unwrap_or(0) as f64;
        let price = faults::once(self.prices, counts.minor_faults as f64 / processes, processes);
        self.priced("page faults", Priced::MinorFault, price.clone(), false, counts.minor_faults as f64);
        // What it waited for its storage is no CPU time: that is in the time spent blocked.
        self.priced("major page faults", Priced::MinorFault, price, true, counts.major_faults as f64);
    }

    /// Adds what was counted as a whole, or notes why it was not. How many were priced: their calls are not priced again.
    fn counted(&mut self, name: &str, priced: Priced, count: &Reading<u64>) -> u64 {
        match count {
            Ok(count) => {
                self.add(name, priced, false, *count as f64);
                if self.has_price(priced) { *count } else { 0 }
            }
            Err(why) => {
                self.lacks(name, why);
                0
            }
        }
    }

    /// Widens the price of processes to that of those that share their maker's memory: how each was made is not counted.
    fn however_made(&mut self) {
        let Ok(vfork) = self.prices.of(Priced::Vfork) else { return };
        for part in self.parts.iter_mut().filter(|part| part.priced == Priced::Fork) {
            part.price.interval.low = part.price.interval.low.min(vfork.interval.low);
            part.interval.low = part.count * part.price.interval.low;
        }
    }

    /// Adds the processes, threads, programs and system calls; all but what getrusage(2) reports.
    pub(super) fn made(&mut self, counts: &Counts) {
        let elsewhere = Elsewhere {
            forks: self.counted("forks", Priced::Fork, &counts.forks),
            threads: self.counted("threads", Priced::Thread, &counts.threads),
            execs: self.counted("execs", Priced::Exec, &counts.execs),
        };
        self.however_made();
        match (&counts.calls_by_name, &counts.calls) {
            (Ok(by_name), _) => calls_by_name(self, by_name, elsewhere),
            (Err(_), Ok(calls)) => calls_in_all(self, *calls, elsewhere),
            (Err(_), Err(why)) => self.lacks("system calls", why),
        }
    }
}

/// All parts of what was counted, the largest first; and what is missing. No time is in two of them.
pub(super) fn all(counts: &Counts, prices: &Prices) -> (Vec<Part>, Vec<Missing>) {
    let mut tally = Tally::new(prices);
    tally.faults(counts);
    let switches = counts.voluntary_switches.clone().and_then(|one| Ok(one + counts.involuntary_switches.clone()?));
    tally.counted("switches", Priced::Switch, &switches);
    tally.made(counts);
    tally.parts.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    (tally.parts, tally.missing)
}

/// So many events at their price.
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

/// What is left of a CPU time, and where it surely lies.
///
/// The ends of the parts' intervals are added up. All events of a kind share one price, and prices share what was
/// subtracted from them, so their errors are not independent: whatever ties them, a sum is off by no more than the sum of
/// what each is off.
pub(super) fn unexplained(cpu: f64, parts: &[Part]) -> (f64, Interval) {
    let sum = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
    let left = cpu - sum(|part| part.seconds);
    (left, Interval { low: cpu - sum(|part| part.interval.high), high: cpu - sum(|part| part.interval.low) })
}

/// Calls of which any stands for the others.
type Alike = &'static [&'static str];

/// How many of which calls the price of a process, a thread and a program holds, at most.
const CARRIED: [(Alike, Bearers); 9] = [
    (&["fork", "vfork", "clone", "clone3"], Bearers { fork: 1, thread: 1, exec: 0 }),
    (&["exit", "exit_group"], Bearers { fork: 1, thread: 1, exec: 0 }),
    (&["wait4", "waitid"], Bearers { fork: 1, thread: 0, exec: 0 }),
    (&["execve", "execveat"], Bearers { fork: 0, thread: 0, exec: 1 }),
    // What a C library does around a thread whose stack is there already, up to the join.
    (&["futex"], THREAD),
    (&["set_robust_list"], THREAD),
    (&["rseq"], THREAD),
    (&["madvise"], THREAD),
    (&["rt_sigprocmask"], Bearers { thread: 4, ..THREAD }),
];
const THREAD: Bearers = Bearers { fork: 0, thread: 1, exec: 0 };

/// How many calls go with one process, one thread, one program.
#[derive(Clone, Copy)]
struct Bearers {
    fork: u64,
    thread: u64,
    exec: u64,
}

/// How many processes, threads and programs were priced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Elsewhere {
    forks: u64,
    threads: u64,
    execs: u64,
}

impl Bearers {
    /// How many calls the price of what was priced holds.
    fn calls(self, elsewhere: Elsewhere) -> u64 {
        let each = [(self.fork, elsewhere.forks), (self.thread, elsewhere.threads), (self.exec, elsewhere.execs)];
        each.into_iter().fold(0, |sum: u64, (calls, times)| sum.saturating_add(calls.saturating_mul(times)))
    }
}

/// Prices so many system calls of which no more is known.
fn calls_in_all(tally: &mut Tally<'_>, calls: u64, elsewhere: Elsewhere) {
    let carried = CARRIED.iter().fold(0, |sum: u64, (_, bearers)| sum.saturating_add(bearers.calls(elsewhere)));
    tally.add("system calls", Priced::KernelEntry, true, calls.saturating_sub(carried) as f64);
}

/// Prices system calls by name.
fn calls_by_name(tally: &mut Tally<'_>, calls: &[CallCount], elsewhere: Elsewhere) {
    let mut left: Vec<(&str, u64)> = calls.iter().map(|call| (call.name.as_str(), call.count)).collect();
    for (alike, bearers) in CARRIED {
        let mut carried = bearers.calls(elsewhere);
        for (_, count) in left.iter_mut().filter(|(name, _)| alike.contains(name)) {
            let taken = carried.min(*count);
            (carried, *count) = (carried - taken, *count - taken);
        }
    }
    for call in KernelCall::ALL {
        with_a_price(tally, call, &mut left);
    }
    for (name, count) in left {
        tally.add(name, Priced::KernelEntry, true, count as f64);
    }
}

/// Prices calls that have a price of their own. Where it is that of two calls together, so many as there are pairs.
fn with_a_price(tally: &mut Tally<'_>, call: KernelCall, left: &mut [(&str, u64)]) {
    let count_of = |name: &&str| left.iter().find(|(of, _)| of == name).map_or(0, |(_, count)| *count);
    let times = call.calls().iter().map(count_of).min().unwrap_or(0);
    if times > 0 && tally.has_price(Priced::Call(call)) {
        tally.add(&call.calls().join(", "), Priced::Call(call), true, times as f64);
        left.iter_mut().filter(|(name, _)| call.calls().contains(name)).for_each(|(_, count)| *count -= times);
    }
}
