//! The place of one process: its locks and threads, and who of them had to do with whom.

use std::collections::{HashMap, HashSet};
use std::mem::offset_of;

use steady_model::{Absent, LockHolds, LockKind, LockTimes, Nanos, Reading};
use steady_preload::area::{
    BUCKETS, Kind, LOCKS, Lock, PAIRS, Pair, Process, SAMPLED_ONE_IN, Spread, THREADS, Thread, USES, Use, bucket_of,
};

use super::area::{Bytes, Entry, each, place_at, tables};
use super::found::{FoundLock, FoundSite, FoundThread};
use super::gains::{Crew, Member};
use super::read::{Facts, Sites, counted, numbered};
use super::spread::Buckets;

/// Fewer holds than this do not stand for others of their kind.
const FEW: u64 = 16;

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
    /// What it waited for when the process ended, and for how long by then.
    open: Option<(Option<u32>, Nanos)>,
}

/// A lock as it is written, and what else there is of it.
struct Drafted {
    entry: Vec<u8>,
    kind: LockKind,
    open: Vec<(usize, Nanos)>,
    sites: Vec<(u32, u64, u64, Nanos)>,
    /// The threads that took it or waited for it, by number, with what they waited.
    waits: Vec<(u32, Nanos)>,
}

impl Drafted {
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
        self.open_waits(&mut threads, &mut locks);
        self.uses(bytes, &mut locks);
        self.pairs(bytes, &mut locks);
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
            open: since.map(|since| (numbered(entry.u32(offset_of!(Thread, waits_for))), self.end - since)),
        })
    }

    /// Books the waits that were not over when the process ended.
    fn open_waits(&self, threads: &mut [Written], locks: &mut HashMap<u32, Drafted>) {
        for (index, thread) in threads.iter_mut().enumerate() {
            let Some((lock, waited)) = thread.open else { continue };
            let drafted = lock.and_then(|lock| locks.get_mut(&lock));
            let book = match (lock, &drafted) {
                (Some(_), Some(drafted)) if drafted.kind.is_held() => &mut thread.wait,
                (Some(_), Some(_)) => &mut thread.wait_events,
                (None, _) => &mut thread.wait_joins,
                // A lock that has no entry of its own any more.
                (Some(_), None) => &mut thread.wait,
            };
            *book = plus(*book, waited);
            if let Some(drafted) = drafted {
                drafted.open.push((index, waited));
            }
        }
    }

    fn uses(&self, bytes: &(impl Bytes + ?Sized), locks: &mut HashMap<u32, Drafted>) {
        each::<Use>(bytes, self.place, tables::USES, USES, |_, entry| {
            let (lock, site) = halves(entry.u64(offset_of!(Use, key)));
            if let (Some(lock), Some(site)) = (lock.and_then(|lock| locks.get_mut(&lock)), site) {
                let count = |at: usize| entry.u64(at);
                let wait = Nanos(count(offset_of!(Use, wait)));
                lock.sites.push((site, count(offset_of!(Use, sampled)), count(offset_of!(Use, contended)), wait));
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
        let count = |at: usize| entry.u64(at);
        let (acquisitions, given_up) = (count(offset_of!(Lock, acquisitions)), count(offset_of!(Lock, given_up)));
        let contended = count(offset_of!(Lock, contended)).min(acquisitions);
        if acquisitions == 0 && given_up == 0 && drafted.open.is_empty() {
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
            address: count(offset_of!(Lock, address)),
            destroyed: entry.u32(offset_of!(Lock, destroyed)) != 0,
            acquisitions,
            contended,
            given_up,
            waits: self.waits(bytes, number, &entry, drafted),
            holds: self.holds(bytes, number, &entry, drafted.kind, (acquisitions, contended)),
            threads: drafted.threads(threads),
            sites: self.used_at(drafted, acquisitions - contended),
            made_at: numbered(entry.u32(offset_of!(Lock, made_at))).and_then(|site| self.sites.get(&site).copied()),
            waiting: drafted.open.iter().map(|(thread, _)| *thread).collect(),
            held_by: held_by(&entry, drafted, threads),
            gain,
        })
    }

    fn waits(
        &self,
        bytes: &(impl Bytes + ?Sized),
        number: u32,
        entry: &Entry<'_>,
        drafted: &Drafted,
    ) -> Reading<LockTimes> {
        let mut buckets = self.spread(bytes, tables::WAITS, number);
        let (mut total, mut most) =
            (Nanos(entry.u64(offset_of!(Lock, wait))), Nanos(entry.u64(offset_of!(Lock, wait_most))));
        for (_, waited) in &drafted.open {
            buckets.add(bucket_of(waited.0), 1);
            (total, most) = (plus(total, *waited), most.max(*waited));
        }
        let count = buckets.count();
        counted(count, "it was never waited for", || {
            let (median, p99) = (buckets.quantile(0.5, most)?, buckets.quantile(0.99, most)?);
            Some(LockTimes { count, total, median, p99, most })
        })
    }

    /// Holds: of contended acquisitions all were taken, of the others a sample; each kind stands for its own.
    fn holds(
        &self,
        bytes: &(impl Bytes + ?Sized),
        number: u32,
        entry: &Entry<'_>,
        kind: LockKind,
        (acquisitions, contended): (u64, u64),
    ) -> Reading<LockHolds> {
        if !kind.is_held() {
            return Err(Absent::because("nobody holds it"));
        }
        let (timed_contended, timed_sampled) =
            (entry.u64(offset_of!(Lock, holds_contended)), entry.u64(offset_of!(Lock, holds_sampled)));
        let (of_contended, of_sampled) =
            (entry.u64(offset_of!(Lock, hold_contended)) as f64, entry.u64(offset_of!(Lock, hold_sampled)) as f64);
        let (all, timed) = (of_contended + of_sampled, timed_contended.saturating_add(timed_sampled));
        // A kind of which only few were taken is taken to be as both together.
        let mean = |sum: f64, count: u64| if count >= FEW { sum / count as f64 } else { all / timed as f64 };
        let most = Nanos(entry.u64(offset_of!(Lock, hold_most)));
        counted(timed, "no hold of it was over when it was to be timed", || {
            let uncontended = acquisitions.saturating_sub(contended);
            let total = mean(of_contended, timed_contended) * contended as f64
                + mean(of_sampled, timed_sampled) * uncontended as f64;
            let buckets = self.spread(bytes, tables::HOLDS, number);
            Some(LockHolds {
                total: Nanos(total as u64),
                mean: Nanos((total / acquisitions.max(1) as f64) as u64),
                median: buckets.quantile(0.5, most)?,
                p99: buckets.quantile(0.99, most)?,
                most,
                timed_contended,
                timed_sampled,
            })
        })
    }

    fn spread(&self, bytes: &(impl Bytes + ?Sized), table: usize, number: u32) -> Buckets {
        let at = place_at(self.place) + table as u64 + u64::from(number) * size_of::<Spread>() as u64;
        let entry = Entry::read::<Spread>(bytes, at);
        let mut buckets = Buckets::new();
        (0..BUCKETS).for_each(|bucket| buckets.add(bucket, u64::from(entry.u32(4 * bucket))));
        buckets
    }

    /// From where a lock was taken. Uncontended acquisitions are shared out as those are that were sampled.
    fn used_at(&self, drafted: &Drafted, uncontended: u64) -> Vec<FoundSite> {
        let sampled = drafted.sites.iter().fold(0, |sum: u64, site| sum.saturating_add(site.1));
        let share = |part: u64| if sampled > 0 { uncontended as f64 * part as f64 / sampled as f64 } else { 0.0 };
        let mut sites: Vec<FoundSite> = drafted
            .sites
            .iter()
            .filter_map(|(site, sampled, contended, wait)| {
                let acquisitions = contended.saturating_add(share(*sampled).round() as u64);
                Some(FoundSite { place: *self.sites.get(site)?, acquisitions, contended: *contended, wait: *wait })
            })
            .collect();
        sites.sort_by_key(|site| std::cmp::Reverse((site.wait, site.contended, site.acquisitions)));
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
        sites: vec![],
        waits: vec![],
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
    // By its number plus one; whoever has no entry has a number that none has.
    let last = entry.u64(offset_of!(Lock, last)).checked_sub(1);
    let holder = threads.iter().position(|thread| Some(u64::from(thread.number)) == last && thread.ended.is_none());
    holder.ok_or_else(|| Absent::because("the thread that took it last has ended or is not known"))
}

/// The two numbers of a key, each plus one there.
fn halves(key: u64) -> (Option<u32>, Option<u32>) {
    (numbered((key >> 32) as u32), numbered(key as u32))
}

fn plus(one: Nanos, other: Nanos) -> Nanos {
    Nanos(one.0.saturating_add(other.0))
}

/// For how many a sampled acquisition stands.
pub(super) const fn sampled_one_in() -> u64 {
    SAMPLED_ONE_IN
}
