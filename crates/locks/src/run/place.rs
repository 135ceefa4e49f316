//! Reads the place of one process: its locks and threads, and which threads used which locks.

use std::collections::{HashMap, HashSet};
use std::mem::offset_of;

use steady_model::{Absent, Nanos, Reading};
use steady_preload::area::{
    ACCOUNT_SITES, ACCOUNTS, Account, AccountSite, EARLY, Kind, LOCKS, Lock, PAIRS, Pair, Process, SAMPLED_ONE_IN,
    Spread, THREADS, Thread, USES, Use,
};

use super::area::{Bytes, Entry, each, place_at, tables};
use super::found::{FoundLock, FoundSite, FoundThread, Sites, numbered};
use super::gains::{Member, ThreadGroup};
use super::sums::{LockCounts, plus};
use crate::record::LockKind;

/// What the guardian knows about the command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// When the command ended, by the clock of the watchers (CLOCK_MONOTONIC).
    pub(crate) ended: Nanos,
    /// CPU time of all processes of the command.
    pub(crate) cpu: Nanos,
    /// Number of CPUs that the command may use.
    pub(crate) cpus: usize,
    /// Estimated time of unwatched waits, by process ID and thread ID.
    pub(crate) others: HashMap<(u32, u32), Nanos>,
    /// When a process was first found to have ended, by process ID.
    pub(crate) gone: HashMap<u32, Nanos>,
}

/// Reads the place of one process.
pub(super) struct PlaceReader<'a> {
    /// Index of the process in [`Found::processes`](super::found::Found::processes).
    pub(super) number: usize,
    pub(super) place: u32,
    pub(super) pid: u32,
    pub(super) began: Nanos,
    pub(super) end: Nanos,
    pub(super) cpu: Option<Nanos>,
    pub(super) facts: &'a Facts,
    pub(super) sites: Sites,
}

/// A thread as the watcher wrote it.
struct WrittenThread {
    /// Number of the thread in its place.
    number: u32,
    tid: u32,
    began: Nanos,
    ended: Option<Nanos>,
    cpu: Option<Nanos>,
    start: u32,
    wait: Nanos,
    wait_events: Nanos,
    wait_joins: Nanos,
    /// The wait in which it was when the process ended.
    open: Option<Wait>,
    /// A wait that had ended, but was not yet added to the counts when the process ended. The thread still holds the
    /// lock, or is about to record the wait.
    over: Option<Wait>,
}

/// The wait in a thread's entry: for which lock, at which call site, and for how long.
#[derive(Clone, Copy)]
struct Wait {
    lock: Option<u32>,
    site: Option<u32>,
    time: Nanos,
}

/// A lock as the watchers wrote it, with data from the other tables.
struct WrittenLock {
    entry: Vec<u8>,
    kind: LockKind,
    open: Vec<(usize, Nanos)>,
    over: Vec<(usize, Nanos)>,
    /// Counts at each call site, by the number of the call site.
    sites: HashMap<u32, AtSite>,
    /// The numbers of the threads that acquired it or waited for it, with their waiting time.
    waits: Vec<(u32, Nanos)>,
    /// The numbers of the threads' accounts of it.
    accounts: Vec<u32>,
}

/// Counts of a lock at a call site: sampled uncontended acquisitions, contended acquisitions, and their waiting time.
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

impl WrittenLock {
    fn at(&mut self, site: u32) -> &mut AtSite {
        self.sites.entry(site).or_default()
    }

    /// Returns the number of threads that acquired it or waited for it. A thread that is in its first wait has no other
    /// entry yet.
    fn threads(&self, all: &[WrittenThread]) -> u32 {
        let waiting = self.open.iter().map(|(thread, _)| all[*thread].number);
        self.waits.iter().map(|(number, _)| *number).chain(waiting).collect::<HashSet<u32>>().len() as u32
    }
}

impl PlaceReader<'_> {
    /// Returns the locks that were used, the threads, and the number of threads. Locks refer to threads by their
    /// indices in the list returned.
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
        let mut locks: HashMap<u32, WrittenLock> = HashMap::new();
        let begun = process.u32(offset_of!(Process, locks)) as usize;
        each::<Lock>(bytes, self.place, tables::LOCKS, begun.min(LOCKS), |number, lock| {
            if let Some(written) = written_lock(lock) {
                locks.insert(number, written);
            }
        });
        self.last_waits(&mut threads, &mut locks);
        self.uses(bytes, &mut locks);
        self.pairs(bytes, &mut locks);
        let begun = process.u64(offset_of!(Process, accounts)).min(ACCOUNTS as u64);
        self.accounts(bytes, begun as usize, &mut locks);
        let thread_group = self.thread_group(&threads, &numbers);
        let mut found: Vec<_> = locks
            .iter()
            .filter_map(|(number, written)| {
                Some((number, self.lock(bytes, *number, written, &threads, &thread_group)?))
            })
            .collect();
        found.sort_by_key(|(number, _)| **number);
        let locks = found.into_iter().map(|(_, lock)| lock).collect();
        let seen = threads.len() as u32;
        (locks, threads.iter().map(|thread| self.found_thread(thread)).collect(), seen)
    }

    fn thread(&self, number: u32, entry: &Entry<'_>) -> Option<WrittenThread> {
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
        (tid != 0).then(|| WrittenThread {
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

    /// Adds the waits that had not ended, or had not been added to the counts, when the process ended.
    fn last_waits(&self, threads: &mut [WrittenThread], locks: &mut HashMap<u32, WrittenLock>) {
        for (index, thread) in threads.iter_mut().enumerate() {
            let Some(wait) = thread.open.or(thread.over) else { continue };
            let written = wait.lock.and_then(|lock| locks.get_mut(&lock));
            let total = match (wait.lock, &written) {
                (Some(_), Some(written)) if written.kind.is_held() => &mut thread.wait,
                (Some(_), Some(_)) => &mut thread.wait_events,
                (None, _) => &mut thread.wait_joins,
                // The lock no longer has an entry.
                (Some(_), None) => &mut thread.wait,
            };
            *total = plus(*total, wait.time);
            match written {
                Some(written) if thread.over.is_some() => {
                    written.over.push((index, wait.time));
                    written.waits.push((thread.number, wait.time));
                    if let Some(site) = wait.site {
                        written.at(site).add(AtSite { sampled: 0, contended: 1, wait: wait.time });
                    }
                }
                Some(written) => {
                    written.open.push((index, wait.time));
                    if let Some(site) = wait.site {
                        written.at(site).add(AtSite { wait: wait.time, ..AtSite::default() });
                    }
                }
                None => (),
            }
        }
    }

    fn uses(&self, bytes: &(impl Bytes + ?Sized), locks: &mut HashMap<u32, WrittenLock>) {
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

    fn pairs(&self, bytes: &(impl Bytes + ?Sized), locks: &mut HashMap<u32, WrittenLock>) {
        each::<Pair>(bytes, self.place, tables::PAIRS, PAIRS, |_, entry| {
            let (lock, thread) = halves(entry.u64(offset_of!(Pair, key)));
            if let (Some(lock), Some(thread)) = (lock.and_then(|lock| locks.get_mut(&lock)), thread) {
                lock.waits.push((thread, Nanos(entry.u64(offset_of!(Pair, wait)))));
            }
        });
    }

    fn accounts(&self, bytes: &(impl Bytes + ?Sized), begun: usize, locks: &mut HashMap<u32, WrittenLock>) {
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

    fn thread_group(&self, threads: &[WrittenThread], numbers: &HashMap<u32, usize>) -> ThreadGroup {
        let member = |thread: &WrittenThread| Member {
            began: thread.began,
            ended: thread.ended.unwrap_or(self.end),
            // Unwatched waits may also be for other threads: some languages join threads by a futex.
            events: plus(
                plus(thread.wait_events, thread.wait_joins),
                self.facts.others.get(&(self.pid, thread.tid)).copied().unwrap_or_default(),
            ),
            cpu: thread.cpu,
            is_first: thread.tid == self.pid,
        };
        ThreadGroup {
            members: threads.iter().map(member).collect(),
            numbers: numbers.clone(),
            began: self.began,
            ended: self.end,
            cpu: self.cpu,
            cpus: self.facts.cpus,
        }
    }

    fn found_thread(&self, thread: &WrittenThread) -> FoundThread {
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

    /// Returns the lock, or `None` if it was never used.
    fn lock(
        &self,
        bytes: &(impl Bytes + ?Sized),
        number: u32,
        written: &WrittenLock,
        threads: &[WrittenThread],
        thread_group: &ThreadGroup,
    ) -> Option<FoundLock> {
        let entry = Entry::within(&written.entry);
        let sums = self.sums(bytes, number, written);
        let acquisitions = sums.uncontended.saturating_add(sums.contended);
        if acquisitions == 0 && sums.given_up == 0 && written.open.is_empty() {
            return None;
        }
        let gain = if !written.open.is_empty() {
            Err(Absent::because("a thread still waited for it when the process ended"))
        } else if written.kind.is_held() {
            let spins = written.kind == LockKind::Spinlock;
            thread_group.gain(&written.waits, spins)
        } else {
            Err(Absent::because(
                "no thread holds a condition or semaphore; a wait for it is usually a wait for an event",
            ))
        };
        Some(FoundLock {
            process: self.number,
            kind: written.kind,
            address: entry.u64(offset_of!(Lock, address)),
            destroyed: entry.u32(offset_of!(Lock, destroyed)) != 0,
            acquisitions,
            contended: sums.contended,
            given_up: sums.given_up,
            waits: sums.waits(),
            holds: if written.kind.is_held() {
                sums.holds(self.longest_total(written.kind))
            } else {
                Err(Absent::because("no thread holds a condition or semaphore"))
            },
            threads: written.threads(threads),
            sites: self.used_at(written, sums.uncontended),
            made_at: numbered(entry.u32(offset_of!(Lock, made_at))).and_then(|site| self.sites.get(&site).copied()),
            waiting: written.open.iter().map(|(thread, _)| *thread).collect(),
            held_by: held_by(&entry, written, threads),
            gain,
        })
    }

    /// Returns the longest possible total hold time of a lock: the lifetime of the process, unless several threads can
    /// hold the lock at the same time.
    fn longest_total(&self, kind: LockKind) -> Nanos {
        match kind {
            LockKind::Mutex | LockKind::Spinlock => self.end - self.began,
            LockKind::Rwlock | LockKind::Condition | LockKind::Semaphore => Nanos(u64::MAX),
        }
    }

    /// Sums the counts and times of a lock over all tables.
    fn sums(&self, bytes: &(impl Bytes + ?Sized), number: u32, written: &WrittenLock) -> LockCounts {
        let at = |table: usize, size: usize, number: u32| {
            place_at(self.place) + table as u64 + u64::from(number) * size as u64
        };
        let mut sums = LockCounts::of_lock(&Entry::within(&written.entry));
        for (table, is_wait) in [(tables::WAITS, true), (tables::HOLDS, false)] {
            sums.add_spread(&Entry::read::<Spread>(bytes, at(table, size_of::<Spread>(), number)), 0, is_wait);
        }
        for account in &written.accounts {
            sums.add_account(&Entry::read::<Account>(bytes, at(tables::ACCOUNTS, size_of::<Account>(), *account)));
        }
        written.over.iter().for_each(|(_, wait)| sums.add_wait(*wait, 1));
        written.open.iter().for_each(|(_, wait)| sums.add_wait(*wait, 0));
        sums
    }

    /// Returns the call sites of a lock. Uncontended acquisitions are distributed in proportion to the sampled ones.
    fn used_at(&self, written: &WrittenLock, uncontended: u64) -> Vec<FoundSite> {
        let sampled = written.sites.values().fold(0, |sum: u64, site| sum.saturating_add(site.sampled));
        let share = |part: u64| if sampled > 0 { uncontended as f64 * part as f64 / sampled as f64 } else { 0.0 };
        let found = |(number, site): (&u32, &AtSite)| {
            let acquisitions = site.contended.saturating_add(share(site.sampled).round() as u64);
            let place = *self.sites.get(number)?;
            Some(FoundSite { place, acquisitions, contended: site.contended, wait: site.wait })
        };
        let mut sites: Vec<FoundSite> = written.sites.iter().filter_map(found).collect();
        let weight = |site: &FoundSite| std::cmp::Reverse((site.wait, site.contended, site.acquisitions));
        sites.sort_by_key(|site| (weight(site), site.place.offset));
        sites
    }
}

/// Returns the lock of an entry, or `None` if the entry is unused or its kind is not valid.
fn written_lock(entry: &Entry<'_>) -> Option<WrittenLock> {
    let kind = kind_of(entry.u32(offset_of!(Lock, kind)))?;
    (entry.u64(offset_of!(Lock, address)) != 0).then(|| WrittenLock {
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
    .find_map(|(written, kind)| (written as u32 == number).then_some(kind))
}

/// A thread that has waited for this long had released a lock before, if it did: the next thread needs less time to
/// acquire the lock and to record that.
const RELEASED_BEFORE: Nanos = Nanos(500_000_000);

/// Returns the thread that holds a lock, if other threads waited for the lock when the process ended.
///
/// The thread that acquired it last may have released it just before, and begun to wait for it again or for another
/// lock. The area does not show the difference until the next thread has acquired the lock.
fn held_by(entry: &Entry<'_>, written: &WrittenLock, threads: &[WrittenThread]) -> Reading<usize> {
    if written.open.is_empty() {
        return Err(Absent::because("no thread waited for it when the process ended"));
    }
    if !matches!(written.kind, LockKind::Mutex | LockKind::Spinlock) {
        return Err(Absent::because("several threads may hold it, or none"));
    }
    // A thread that acquired the lock after a wait holds it until its wait is recorded; `last` does not name it.
    if let Some((thread, _)) = written.over.last() {
        return Ok(*thread);
    }
    if entry.u32(offset_of!(Lock, shared)) != 0 {
        return Err(Absent::because("a thread of another process may hold it (a process-shared or robust mutex)"));
    }
    // Stored is the number plus one. Threads without an entry have a number that no entry has.
    let last = entry.u64(offset_of!(Lock, last)).checked_sub(1);
    let holder = threads.iter().position(|thread| Some(u64::from(thread.number)) == last && thread.ended.is_none());
    let holder = holder.ok_or_else(|| Absent::because("the thread that acquired it last has ended or is not known"))?;
    if threads[holder].open.is_some_and(|wait| wait.time < RELEASED_BEFORE) {
        return Err(Absent::because("the thread that acquired it last may have released it just before"));
    }
    Ok(holder)
}

/// Splits a key into its two numbers, each stored plus one.
fn halves(key: u64) -> (Option<u32>, Option<u32>) {
    (numbered((key >> 32) as u32), numbered(key as u32))
}

/// Returns how many uncontended acquisitions each sampled one represents.
pub(super) const fn sampled_one_in() -> u64 {
    SAMPLED_ONE_IN
}

/// Returns how many uncontended acquisitions of each lock, the first ones, have their holds timed.
pub(super) const fn timed_first() -> u64 {
    EARLY
}
