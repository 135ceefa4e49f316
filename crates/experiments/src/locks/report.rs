//! From what was found to the report: code gets names, and locks their order.

use std::cmp::Reverse;
use std::collections::HashMap;

use steady_model::{
    Absent, CodePlace, Command, Host, LockOrder, LockSite, LockThread, LockUse, LockedProcess, LocksReport, Reading,
    Timestamp,
};

use super::LocksRun;
use super::found::{FoundLock, FoundModule, FoundPlace, FoundProcess, FoundSite, FoundThread};
use super::place::sampled_one_in;

/// What surrounds a run.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The command.
    pub command: Command,
    /// When it was begun.
    pub started: Timestamp,
    /// Where.
    pub host: Host,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// By what its locks are to be in order.
    pub order: LockOrder,
}

/// Who knows the names of places in the code.
pub trait Names {
    /// The place that is so many bytes from the beginning of a file, where a call returns to.
    fn place(&mut self, module: &FoundModule, offset: u64) -> CodePlace;
}

/// The report of a run.
pub fn report(frame: Frame, run: LocksRun, names: &mut dyn Names) -> LocksReport {
    let LocksRun { found, .. } = run;
    let mut naming = Naming { names, modules: found.modules, known: HashMap::new() };
    let mut locks: Vec<LockUse> = found.locks.into_iter().map(|lock| naming.lock(lock)).collect();
    locks.sort_by_key(|lock| (Reverse(weight(lock, frame.order)), lock.process, lock.address));
    for (number, lock) in (1..).zip(&mut locks) {
        lock.id = number;
    }
    LocksReport {
        command: frame.command,
        started: frame.started,
        host: frame.host,
        revision: frame.revision,
        ended: run.ended,
        wall: run.wall,
        cpu: run.cpu,
        sampled_one_in: sampled_one_in(),
        order: frame.order,
        processes: found.processes.into_iter().map(process).collect(),
        unwatched: found.unwatched,
        locks,
        threads: found.threads.into_iter().map(|thread| naming.thread(thread)).collect(),
        futexes: run.futexes,
        left_behind: run.left_behind,
    }
}

/// What counts first, second and third. Who waits for a condition or a semaphore may wait for work, so locks come before them where
/// waiting is what counts.
fn weight(lock: &LockUse, order: LockOrder) -> (bool, u64, u64, u64) {
    let wait = lock.waits.as_ref().map_or(0, |waits| waits.total.0);
    match order {
        LockOrder::Wait => (lock.kind.is_held() && wait > 0, wait, lock.contended, lock.acquisitions),
        LockOrder::Contended => (false, lock.contended, wait, lock.acquisitions),
        LockOrder::Acquisitions => (false, lock.acquisitions, wait, lock.contended),
    }
}

fn process(found: FoundProcess) -> LockedProcess {
    LockedProcess {
        pid: found.pid,
        program: found.program,
        forked: found.forked,
        life: found.life,
        ended_itself: found.ended_itself,
        threads: found.threads,
        folded: found.folded,
    }
}

/// Names that are asked for once.
struct Naming<'a> {
    names: &'a mut dyn Names,
    modules: Vec<FoundModule>,
    known: HashMap<FoundPlace, CodePlace>,
}

impl Naming<'_> {
    fn lock(&mut self, lock: FoundLock) -> LockUse {
        LockUse {
            id: 0,
            kind: lock.kind,
            process: lock.process,
            address: lock.address,
            destroyed: lock.destroyed,
            acquisitions: lock.acquisitions,
            contended: lock.contended,
            given_up: lock.given_up,
            waits: lock.waits,
            holds: lock.holds,
            threads: lock.threads,
            sites: self.sites(lock.sites),
            made_at: self.some(lock.made_at, "no call that initialised it was seen"),
            waiting: lock.waiting,
            held_by: lock.held_by,
            gain: lock.gain,
        }
    }

    /// Call sites. Several calls of one line are one.
    fn sites(&mut self, found: Vec<FoundSite>) -> Vec<LockSite> {
        let mut sites: Vec<LockSite> = vec![];
        for site in found {
            let place = self.place(site.place);
            let known = sites.iter_mut().find(|other| are_one(&other.place, &place));
            match known {
                Some(other) => {
                    other.acquisitions = other.acquisitions.saturating_add(site.acquisitions);
                    other.contended = other.contended.saturating_add(site.contended);
                    other.wait += site.wait;
                }
                None => sites.push(LockSite {
                    place,
                    acquisitions: site.acquisitions,
                    contended: site.contended,
                    wait: site.wait,
                }),
            }
        }
        sites.sort_by_key(|site| Reverse((site.wait, site.contended, site.acquisitions)));
        sites
    }

    fn thread(&mut self, thread: FoundThread) -> LockThread {
        LockThread {
            process: thread.process,
            tid: thread.tid,
            start: self.some(thread.start, "it is the first of its process, or its beginning was not seen"),
            waits_at: self.some(thread.waits_at, "it waited for nothing at the end, or the call is not known"),
            life: thread.life,
            wait: thread.wait,
            wait_events: thread.wait_events,
            wait_joins: thread.wait_joins,
        }
    }

    fn some(&mut self, place: Option<FoundPlace>, why_not: &str) -> Reading<CodePlace> {
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

fn are_one(one: &CodePlace, other: &CodePlace) -> bool {
    one.line.is_ok() && one.line == other.line && one.function == other.function && one.module == other.module
}

/// Code that lies in no file, such as that which a program makes as it runs.
fn nameless(offset: u64) -> CodePlace {
    let why = || Absent::because("the code lay in no file that was mapped");
    CodePlace { module: Err(why()), offset, function: Err(why()), line: Err(why()) }
}
