//! Makes the record: looks up the names of call sites, and sorts the locks.

use std::cmp::Reverse;
use std::collections::HashMap;

use steady_feature::attended::AttendedCommand;
use steady_model::{Absent, Host, Nanos, Reading, Timestamp};

use super::LocksRun;
use super::found::{FoundLock, FoundModule, FoundPlace, FoundProcess, FoundSite, FoundThread};
use super::place::{sampled_one_in, timed_first};
use super::sums::{LockHolds, LockTimes};
use crate::record::{CodePlace, LockOrder, LockSite, LockThread, LockUse, LockedProcess, LocksRecord, share_of_life};

/// The parts of a record that do not come from the run itself.
#[derive(Clone, Debug)]
pub(crate) struct Circumstances {
    pub(crate) command: AttendedCommand,
    pub(crate) started: Timestamp,
    pub(crate) host: Host,
    pub(crate) revision: Reading<String>,
    pub(crate) order: LockOrder,
}

/// Looks up the names of places in the code.
pub(crate) trait Names {
    /// Returns the place of the call with a return address at `offset` bytes in a file.
    fn place(&mut self, module: &FoundModule, offset: u64) -> CodePlace;
}

/// Makes the record of a run.
pub(crate) fn named(circumstances: Circumstances, run: LocksRun, names: &mut dyn Names) -> LocksRecord {
    let LocksRun { found, .. } = run;
    let mut naming = Naming { names, modules: found.modules, known: HashMap::new() };
    let mut locks: Vec<LockUse> = found.locks.into_iter().map(|lock| naming.lock(lock)).collect();
    locks.sort_by_key(|lock| (Reverse(weight(lock, circumstances.order)), lock.process, lock.address));
    for (number, lock) in (1..).zip(&mut locks) {
        lock.id = number;
    }
    let record = LocksRecord {
        started: circumstances.started,
        command: circumstances.command,
        host: circumstances.host,
        revision: circumstances.revision,
        ended: run.ended,
        wall_seconds: run.wall,
        cpu_seconds: run.cpu,
        thread_seconds: 0.0,
        wait_seconds: 0.0,
        wait_ratio: share_of_life(0.0, 0.0),
        wait_events_seconds: 0.0,
        wait_joins_seconds: 0.0,
        sampled_one_in: sampled_one_in(),
        timed_first: timed_first(),
        order: circumstances.order,
        locks,
        threads: found.threads.into_iter().map(|thread| naming.thread(thread)).collect(),
        processes: found.processes.into_iter().map(process).collect(),
        unwatched_processes: found.unwatched,
        futexes: run.futexes,
        left_behind: run.left_behind,
    };
    record.summed()
}

/// Sort key of a lock. In the order by waiting time, locks come before conditions and semaphores that are not locks of
/// Python, because threads may wait for those while they have nothing to do.
fn weight(lock: &LockUse, order: LockOrder) -> (bool, u64, u64, u64) {
    let wait = lock.wait_seconds.as_ref().map_or(0, |wait| wait.0);
    match order {
        LockOrder::Wait => {
            ((lock.kind.is_held() || lock.is_of_python()) && wait > 0, wait, lock.contended, lock.acquisitions)
        }
        LockOrder::Contended => (false, lock.contended, wait, lock.acquisitions),
        LockOrder::Acquisitions => (false, lock.acquisitions, wait, lock.contended),
    }
}

fn process(found: FoundProcess) -> LockedProcess {
    LockedProcess {
        pid: found.pid,
        program: found.program,
        forked: found.forked,
        life_seconds: found.life,
        ended_itself: found.ended_itself,
        threads: found.threads,
        folded_locks: found.folded.locks,
        folded_acquisitions: found.folded.acquisitions,
        folded_contended: found.folded.contended,
        folded_wait_seconds: found.folded.wait,
    }
}

/// Looks up each place only once.
struct Naming<'a> {
    names: &'a mut dyn Names,
    modules: Vec<FoundModule>,
    known: HashMap<FoundPlace, CodePlace>,
}

impl Naming<'_> {
    fn lock(&mut self, lock: FoundLock) -> LockUse {
        let (waits, holds) = (lock.waits.as_ref(), lock.holds.as_ref());
        let wait = |of: fn(&LockTimes) -> Nanos| waits.map(of).map_err(Clone::clone);
        let hold = |of: fn(&LockHolds) -> Nanos| holds.map(of).map_err(Clone::clone);
        let timed = |of: fn(&LockHolds) -> u64| holds.map(of).map_err(Clone::clone);
        let named = LockUse {
            id: 0,
            kind: lock.kind,
            probably_gil: false,
            process: lock.process,
            address: lock.address,
            destroyed: lock.destroyed,
            acquisitions: lock.acquisitions,
            contended: lock.contended,
            given_up: lock.given_up,
            waits: waits.map(|waits| waits.count).map_err(Clone::clone),
            wait_seconds: wait(|waits| waits.total),
            wait_median_seconds: wait(|waits| waits.median),
            wait_p99_seconds: wait(|waits| waits.p99),
            wait_max_seconds: wait(|waits| waits.most),
            hold_seconds: hold(|holds| holds.total),
            hold_mean_seconds: hold(|holds| holds.mean),
            hold_median_seconds: hold(|holds| holds.median),
            hold_p99_seconds: hold(|holds| holds.p99),
            hold_max_seconds: hold(|holds| holds.most),
            holds_timed_contended: timed(|holds| holds.timed_contended),
            holds_timed_sampled: timed(|holds| holds.timed_sampled),
            threads: lock.threads,
            gain_seconds: lock.gain,
            made_at: self.optional_place(lock.made_at, "the call that initialised it was not observed"),
            waiting: lock.waiting,
            held_by: lock.held_by,
            sites: self.sites(lock.sites),
        }
        .with_probably_gil();
        if named.is_of_python() && named.gain_seconds.is_err() && named.waiting.is_empty() {
            let why = Absent::because("a lock of Python; which thread holds it is not known");
            return LockUse { gain_seconds: Err(why), ..named };
        }
        named
    }

    /// Returns the call sites with names; those in the same line are merged.
    fn sites(&mut self, found: Vec<FoundSite>) -> Vec<LockSite> {
        let mut sites: Vec<LockSite> = vec![];
        for site in found {
            let place = self.place(site.place);
            let known = sites.iter_mut().find(|other| in_same_line(other, &place));
            match known {
                Some(other) => {
                    other.acquisitions = other.acquisitions.saturating_add(site.acquisitions);
                    other.contended = other.contended.saturating_add(site.contended);
                    other.wait_seconds += site.wait;
                }
                None => sites.push(LockSite {
                    function: place.function,
                    line: place.line,
                    module: place.module,
                    offset: place.offset,
                    acquisitions: site.acquisitions,
                    contended: site.contended,
                    wait_seconds: site.wait,
                }),
            }
        }
        sites.sort_by_key(|site| Reverse((site.wait_seconds, site.contended, site.acquisitions)));
        sites
    }

    fn thread(&mut self, thread: FoundThread) -> LockThread {
        LockThread {
            process: thread.process,
            tid: thread.tid,
            start: self
                .optional_place(thread.start, "it is the main thread of its process, or its start was not observed"),
            waits_at: self.optional_place(
                thread.waits_at,
                "it waited for nothing when its process ended, or the call site is not known",
            ),
            life_seconds: thread.life,
            wait_seconds: thread.wait,
            wait_ratio: share_of_life(thread.wait.seconds(), thread.life.seconds()),
            wait_events_seconds: thread.wait_events,
            wait_joins_seconds: thread.wait_joins,
        }
    }

    fn optional_place(&mut self, place: Option<FoundPlace>, why_not: &str) -> Reading<CodePlace> {
        place.map(|place| self.place(place)).ok_or_else(|| Absent::because(why_not))
    }

    fn place(&mut self, place: FoundPlace) -> CodePlace {
        if let Some(known) = self.known.get(&place) {
            return known.clone();
        }
        let module = place.module.and_then(|module| self.modules.get(module));
        let named = match module {
            Some(module) => self.names.place(module, place.offset),
            None => nameless(place.offset),
        };
        self.known.insert(place, named.clone());
        named
    }
}

fn in_same_line(one: &LockSite, other: &CodePlace) -> bool {
    one.line.is_ok() && one.line == other.line && one.function == other.function && one.module == other.module
}

/// Returns the place for code that is in no file, such as code that a program generates at run time.
fn nameless(offset: u64) -> CodePlace {
    let why = || Absent::because("the code is in no mapped file");
    CodePlace { module: Err(why()), offset, function: Err(why()), line: Err(why()) }
}
