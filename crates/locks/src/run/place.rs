//! The place of one process: its locks and threads, and who of them had to do with whom.

use std::collections::{HashMap, HashSet};
use std::mem::offset_of;

use steady_model::{Absent, Nanos, Reading};
use steady_preload::area::{
    ACCOUNT_SITES, ACCOUNTS, Account, AccountSite, Kind, LOCKS, Lock, PAIRS, Pair, Process, SAMPLED_ONE_IN, Spread,
    THREADS, Thread, USES, Use,
};

use super::area::{Bytes, Entry, each, place_at, tables};
use super::found::{FoundLock, FoundSite, FoundThread, Sites, numbered};
use super::gains::{Crew, Member};
use super::sums::{Sums, plus};
use crate::record::LockKind;

/// What is known of the command besides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// When it had ended, by the clock of the watchers.
    pub(crate) ended: Nanos,
    /// CPU time of all its processes.
    pub(crate) cpu: Nanos,
    /// How many CPUs it may use.
    pub(crate) cpus: usize,
    /// How long threads were seen to wait for what is not watched, by the numbers of their process and their own.
    pub(crate) others: HashMap<(u32, u32), Nanos>,
}

/// A place that is to be read.
pub(super) struct PlaceRead<'a> {
    /// The number of its process in what is found.
    pub(super) number: usize,
    pub(super) place: u32,
    pub(super) pid: u32,
    pub(super) began: Nanos,
    pub(super) end: Nanos,
    pub(super) cpu: Option<Nanos>,
    pub(super) facts: &'a Facts,
    pub(super) sites: Sites,
}

/// A thread as it is written.
struct Written {
    /// Its number in the area.
    number: u32,
    tid: u32,
    began: Nanos,
    ended: Option<Nanos>,
    cpu: Option<Nanos>,
    start: u32,
    wait: Nanos,
    wait_events: Nanos,
    wait_joins: Nanos,
    /// What it waited for when the process ended.
    open: Option<Wait>,
    /// What it had waited for and had not given back, or not written down, when the process ended.
    over: Option<Wait>,
}

/// A wait as a thread's entry has it: for which lock, from which site, and for how long.
#[derive(Clone, Copy)]
struct Wait {
    lock: Option<u32>,
    site: Option<u32>,
    time: Nanos,
}

/// A lock as it is written, and what else there is of it.
struct Drafted {
    entry: Vec<u8>,
    kind: LockKind,
    open: Vec<(usize, Nanos)>,
    over: Vec<(usize, Nanos)>,
    /// By number.
    sites: HashMap<u32, AtSite>,
    /// The threads that took it or waited for it, by number, with what they waited.
    waits: Vec<(u32, Nanos)>,
    /// Their accounts of it, by number.
    accounts: Vec<u32>,
}

/// What was done with a lock at a call site: acquisitions that were sampled and contended ones, and their waiting.
#[derive(Clone, Copy, Default)]
struct AtSite {
    sampled: u64,
    contended: u64,
    wait: Nanos,
}

impl AtSite {
    fn add(&mut self, other: AtSite) {
        self.sampled = self.sampled.saturating_add(other.sampled);
        self.contended = self.contended.saturating_add(other.contended);
        self.wait = plus(self.wait, other.wait);
    }
}

impl Drafted {
    fn at(&mut self, site: u32) -> &mut AtSite {
        self.sites.entry(site).or_default()
    }

    /// How many threads had to do with it; one that waits for the first time has not been counted with it yet.
    fn threads(&self, all: &[Written]) -> u32 {
        let waiting = self.open.iter().map(|(thread, _)| all[*thread].number);
        self.waits.iter().map(|(number, _)| *number).chain(waiting).collect::<HashSet<u32>>().len() as u32
    }
}

impl PlaceRead<'_> {
    /// Its locks that were used, its threads, with numbers among themselves, and how many threads were seen.
    pub(super) fn read(&self, bytes: &(impl Bytes + ?Sized)) -> (Vec<FoundLock>, Vec<FoundThread>, u32) {
        let process = Entry::read::<Process>(bytes, place_at(self.place) + tables::PROCESS as u64);
        let mut numbers = HashMap::new();
        let mut threads = vec![];
        let begun = process.u32(offset_of!(Process, threads)) as usize;
        each::<Thread>(bytes, self.place, tables::THREADS, begun.min(THREADS), |number, thread| {
            if let Some(written) = self.thread(number, thread) {
                numbers.insert(number, threads.len());
                threads.push(written);
            }
        });
        let mut locks: HashMap<u32, Drafted> = HashMap::new();
        let begun = process.u32(offset_of!(Process, locks)) as usize;
        each::<Lock>(bytes, self.place, tables::LOCKS, begun.min(LOCKS), |number, lock| {
            if let Some(drafted) = draft(lock) {
                locks.insert(number, drafted);
            }
        });
        self.last_waits(&mut threads, &mut locks);
        self.uses(bytes, &mut locks);
        self.pairs(bytes, &mut locks);
        let begun = process.u64(offset_of!(Process, accounts)).min(ACCOUNTS as u64);
        self.accounts(bytes, begun as usize, &mut locks);
        let crew = self.crew(&threads, &numbers);
        let mut found: Vec<_> = locks
            .iter()
            .filter_map(|(number, drafted)| Some((number, self.lock(bytes, *number, drafted, &threads, &crew)?)))
            .collect();
        found.sort_by_key(|(number, _)| **number);
        let locks = found.into_iter().map(|(_, lock)| lock).collect();
        let seen = threads.len() as u32;
        (locks, threads.iter().map(|thread| self.told(thread)).collect(), seen)
    }

    fn thread(&self, number: u32, entry: &Entry<'_>) -> Option<Written> {
        let time = |at: usize| Nanos(entry.u64(at));
        let some = |at: usize| Some(time(at)).filter(|time| *time > Nanos::ZERO);
        let ended = some(offset_of!(Thread, ended));
        let since = some(offset_of!(Thread, waits_since)).filter(|_| ended.is_none());
        let until = some(offset_of!(Thread, waited_until));
        let wait = since.map(|since| Wait {
            lock: numbered(entry.u32(offset_of!(Thread, waits_for))),
            site: numbered(entry.u32(offset_of!(Thread, waits_at))),
            time: until.unwrap_or(self.end) - since,
        });
        let tid = entry.u32(offset_of!(Thread, tid));
        (tid != 0).then(|| Written {
            number,
            tid,
            began: time(offset_of!(Thread, began)).clamp(self.began, self.end),
            ended: ended.map(|ended| ended.clamp(self.began, self.end)),
            cpu: some(offset_of!(Thread, cpu)),
            start: entry.u32(offset_of!(Thread, start_site)),
            wait: time(offset_of!(Thread, wait)),
            wait_events: time(offset_of!(Thread, wait_events)),
            wait_joins: time(offset_of!(Thread, wait_joins)),
            open: wait.filter(|_| until.is_none()),
            over: wait.filter(|_| until.is_some()),
        })
    }

    /// Books the waits that were not over when the process ended, or not written down.
    fn last_waits(&self, threads: &mut [Written], locks: &mut HashMap<u32, Drafted>) {
        for (index, thread) in threads.iter_mut().enumerate() {
            let Some(wait) = thread.open.or(thread.over) else { continue };
            let drafted = wait.lock.and_then(|lock| locks.get_mut(&lock));
            let book = match (wait.lock, &drafted) {
                (Some(_), Some(drafted)) if drafted.kind.is_held() => &mut thread.wait,
                (Some(_), Some(_)) => &mut thread.wait_events,
                (None, _) => &mut thread.wait_joins,
                // A lock that has no entry of its own any more.
                (Some(_), None) => &mut thread.wait,
            };
            *book = plus(*book, wait.time);
            match drafted {
                Some(drafted) if thread.over.is_some() => {
                    drafted.over.push((index, wait.time));
                    drafted.waits.push((thread.number, wait.time));
                    if let Some(site) = wait.site {
                        drafted.at(site).add(AtSite { sampled: 0, contended: 1, wait: wait.time });
                    }
                }
                Some(drafted) => drafted.open.push((index, wait.time)),
                None => (),
            }
        }
    }

    fn uses(&self, bytes: &(impl Bytes + ?Sized), locks: &mut HashMap<u32, Drafted>) {
        each::<Use>(bytes, self.place, tables::USES, USES, |_, entry| {
            let (lock, site) = halves(entry.u64(offset_of!(Use, key)));
            if let (Some(lock), Some(site)) = (lock.and_then(|lock| locks.get_mut(&lock)), site) {
                let count = |at: usize| entry.u64(at);
                lock.at(site).add(AtSite {
                    sampled: count(offset_of!(Use, sampled)),
                    contended: count(offset_of!(Use, contended)),
                    wait: Nanos(count(offset_of!(Use, wait))),
                });
            }
        });
    }

    fn pairs(&self, bytes: &(impl Bytes + ?Sized), locks: &mut HashMap<u32, Drafted>) {
        each::<Pair>(bytes, self.place, tables::PAIRS, PAIRS, |_, entry| {
            let (lock, thread) = halves(entry.u64(offset_of!(Pair, key)));
            if let (Some(lock), Some(thread)) = (lock.and_then(|lock| locks.get_mut(&lock)), thread) {
                lock.waits.push((thread, Nanos(entry.u64(offset_of!(Pair, wait)))));
            }
        });
    }

    fn accounts(&self, bytes: &(impl Bytes + ?Sized), begun: usize, locks: &mut HashMap<u32, Drafted>) {
        each::<Account>(bytes, self.place, tables::ACCOUNTS, begun, |number, entry| {
            let (lock, thread) = halves(entry.u64(offset_of!(Account, key)));
            let (Some(lock), Some(thread)) = (lock.and_then(|lock| locks.get_mut(&lock)), thread) else { return };
            lock.accounts.push(number);
            lock.waits.push((thread, Nanos(entry.u64(offset_of!(Account, wait)))));
            for slot in 0..ACCOUNT_SITES {
                let at = offset_of!(Account, sites) + slot * size_of::<AccountSite>();
                let site = u32::try_from(entry.u64(at + offset_of!(AccountSite, site))).ok().and_then(numbered);
                if let Some(site) = site {
                    lock.at(site).add(AtSite {
                        sampled: 0,
                        contended: entry.u64(at + offset_of!(AccountSite, contended)),
                        wait: Nanos(entry.u64(at + offset_of!(AccountSite, wait))),
                    });
                }
            }
        });
    }

    fn crew(&self, threads: &[Written], numbers: &HashMap<u32, usize>) -> Crew {
        let member = |thread: &Written| Member {
            began: thread.began,
            ended: thread.ended.unwrap_or(self.end),
            // What it was seen to wait for that is not watched may be others too: that is how threads of some languages are joined.
            events: plus(
                plus(thread.wait_events, thread.wait_joins),
                self.facts.others.get(&(self.pid, thread.tid)).copied().unwrap_or_default(),
            ),
            cpu: thread.cpu,
            is_first: thread.tid == self.pid,
        };
        Crew {
            members: threads.iter().map(member).collect(),
            numbers: numbers.clone(),
            began: self.began,
            ended: self.end,
            cpu: self.cpu,
            cpus: self.facts.cpus,
        }
    }

    fn told(&self, thread: &Written) -> FoundThread {
        FoundThread {
            process: self.number,
            tid: thread.tid,
            start: numbered(thread.start).and_then(|site| self.sites.get(&site).copied()),
            waits_at: thread.open.and_then(|wait| self.sites.get(&wait.site?).copied()),
            life: thread.ended.unwrap_or(self.end) - thread.began,
            wait: thread.wait,
            wait_events: thread.wait_events,
            wait_joins: thread.wait_joins,
        }
    }

    /// A lock; nothing of one that was never used.
    fn lock(
        &self,
        bytes: &(impl Bytes + ?Sized),
        number: u32,
        drafted: &Drafted,
        threads: &[Written],
        crew: &Crew,
    ) -> Option<FoundLock> {
        let entry = Entry::within(&drafted.entry);
        let sums = self.sums(bytes, number, drafted);
        let acquisitions = sums.uncontended.saturating_add(sums.contended);
        if acquisitions == 0 && sums.given_up == 0 && drafted.open.is_empty() {
            return None;
        }
        let gain = if !drafted.open.is_empty() {
            Err(Absent::because("it was still waited for when its process ended"))
        } else if drafted.kind.is_held() {
            let spins = drafted.kind == LockKind::Spinlock;
            crew.gain(&drafted.waits, spins)
        } else {
            Err(Absent::because("it is no lock that somebody holds: who waits for it waits for something to happen"))
        };
        Some(FoundLock {
            process: self.number,
            kind: drafted.kind,
            address: entry.u64(offset_of!(Lock, address)),
            destroyed: entry.u32(offset_of!(Lock, destroyed)) != 0,
            acquisitions,
            contended: sums.contended,
            given_up: sums.given_up,
            waits: sums.waits(),
            holds: if drafted.kind.is_held() { sums.holds() } else { Err(Absent::because("nobody holds it")) },
            threads: drafted.threads(threads),
            sites: self.used_at(drafted, sums.uncontended),
            made_at: numbered(entry.u32(offset_of!(Lock, made_at))).and_then(|site| self.sites.get(&site).copied()),
            waiting: drafted.open.iter().map(|(thread, _)| *thread).collect(),
            held_by: held_by(&entry, drafted, threads),
            gain,
        })
    }

    /// All that was counted of a lock, wherever it is written.
    fn sums(&self, bytes: &(impl Bytes + ?Sized), number: u32, drafted: &Drafted) -> Sums {
        let at = |table: usize, size: usize, number: u32| {
            place_at(self.place) + table as u64 + u64::from(number) * size as u64
        };
        let mut sums = Sums::of_lock(&Entry::within(&drafted.entry));
        for (table, is_wait) in [(tables::WAITS, true), (tables::HOLDS, false)] {
            sums.add_spread(&Entry::read::<Spread>(bytes, at(table, size_of::<Spread>(), number)), 0, is_wait);
        }
        for account in &drafted.accounts {
            sums.add_account(&Entry::read::<Account>(bytes, at(tables::ACCOUNTS, size_of::<Account>(), *account)));
        }
        drafted.over.iter().for_each(|(_, wait)| sums.add_wait(*wait, 1));
        drafted.open.iter().for_each(|(_, wait)| sums.add_wait(*wait, 0));
        sums
    }

    /// From where a lock was taken. Uncontended acquisitions are shared out as those are that were sampled.
    fn used_at(&self, drafted: &Drafted, uncontended: u64) -> Vec<FoundSite> {
        let sampled = drafted.sites.values().fold(0, |sum: u64, site| sum.saturating_add(site.sampled));
        let share = |part: u64| if sampled > 0 { uncontended as f64 * part as f64 / sampled as f64 } else { 0.0 };
        let told = |(number, site): (&u32, &AtSite)| {
            let acquisitions = site.contended.saturating_add(share(site.sampled).round() as u64);
            let place = *self.sites.get(number)?;
            Some(FoundSite { place, acquisitions, contended: site.contended, wait: site.wait })
        };
        let mut sites: Vec<FoundSite> = drafted.sites.iter().filter_map(told).collect();
        let weight = |site: &FoundSite| std::cmp::Reverse((site.wait, site.contended, site.acquisitions));
        sites.sort_by_key(|site| (weight(site), site.place.offset));
        sites
    }
}

/// The lock, where there is one and its kind is one.
fn draft(entry: &Entry<'_>) -> Option<Drafted> {
    let kind = kind_of(entry.u32(offset_of!(Lock, kind)))?;
    (entry.u64(offset_of!(Lock, address)) != 0).then(|| Drafted {
        entry: entry.bytes().to_vec(),
        kind,
        open: vec![],
        over: vec![],
        sites: HashMap::new(),
        waits: vec![],
        accounts: vec![],
    })
}

fn kind_of(number: u32) -> Option<LockKind> {
    [
        (Kind::Mutex, LockKind::Mutex),
        (Kind::Rwlock, LockKind::Rwlock),
        (Kind::Spinlock, LockKind::Spinlock),
        (Kind::Condition, LockKind::Condition),
        (Kind::Semaphore, LockKind::Semaphore),
    ]
    .into_iter()
    .find_map(|(kind, told)| (kind as u32 == number).then_some(told))
}

/// Who took a lock last that somebody waited for at the end.
fn held_by(entry: &Entry<'_>, drafted: &Drafted, threads: &[Written]) -> Reading<usize> {
    if drafted.open.is_empty() {
        return Err(Absent::because("nobody waited for it at the end"));
    }
    if !matches!(drafted.kind, LockKind::Mutex | LockKind::Spinlock) {
        return Err(Absent::because("several may have it, or nobody"));
    }
    // Who waited for it itself has it until it has given it back, and is not written down as the last.
    if let Some((thread, _)) = drafted.over.last() {
        return Ok(*thread);
    }
    // By its number plus one; whoever has no entry has a number that none has.
    let last = entry.u64(offset_of!(Lock, last)).checked_sub(1);
    let holder = threads.iter().position(|thread| Some(u64::from(thread.number)) == last && thread.ended.is_none());
    holder.ok_or_else(|| Absent::because("the thread that took it last has ended or is not known"))
}

/// The two numbers of a key, each plus one there.
fn halves(key: u64) -> (Option<u32>, Option<u32>) {
    (numbered((key >> 32) as u32), numbered(key as u32))
}

/// For how many a sampled acquisition stands.
pub(super) const fn sampled_one_in() -> u64 {
    SAMPLED_ONE_IN
}
