//! System calls as parts of the CPU time, without those whose time another part carries.
//!
//! The price of a process holds the bodies of the calls that make, end and await it, and so do those of threads and
//! programs. Such calls are taken out, as many as were priced elsewhere, and what is left is priced: by name where the name
//! has a price, else as an entry into the kernel, which is the least that any call costs.

use steady_costs::prices::Priced;
use steady_model::{CallCount, KernelCall};

use super::parts::Tally;

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
pub(super) struct Elsewhere {
    pub(super) forks: u64,
    pub(super) threads: u64,
    pub(super) execs: u64,
}

impl Bearers {
    /// How many calls the price of what was priced holds.
    fn calls(self, elsewhere: Elsewhere) -> u64 {
        let each = [(self.fork, elsewhere.forks), (self.thread, elsewhere.threads), (self.exec, elsewhere.execs)];
        each.into_iter().fold(0, |sum: u64, (calls, times)| sum.saturating_add(calls.saturating_mul(times)))
    }
}

/// Prices so many system calls of which no more is known.
pub(super) fn in_all(tally: &mut Tally<'_>, calls: u64, elsewhere: Elsewhere) {
    let carried = CARRIED.iter().fold(0, |sum: u64, (_, bearers)| sum.saturating_add(bearers.calls(elsewhere)));
    tally.add("system calls", Priced::KernelEntry, true, calls.saturating_sub(carried) as f64);
}

/// Prices system calls by name.
pub(super) fn by_name(tally: &mut Tally<'_>, calls: &[CallCount], elsewhere: Elsewhere) {
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
