//! Tests of reading areas: as watchers write them, and with arbitrary bytes.

mod made;

use proptest::prelude::*;
use steady_feature::Record;
use steady_feature::attended::AttendedCommand;
use steady_model::{Nanos, Outcome, Reading, Timestamp};
use steady_preload::area::{HEAD_BYTES, Kind, PLACE_BYTES};

use super::found::{Found, FoundModule, FoundPlace, FoundSite};
use super::naming::Names;
use super::place::Facts;
use super::read::read;
use super::{Circumstances, LocksRun, named};
use crate::record::{CodePlace, LockKind, LockOrder, LocksRecord};
use made::AreaBuilder;

const MS: u64 = 1_000_000;

fn facts() -> Facts {
    Facts { ended: Nanos(1_000 * MS), cpu: Nanos(900 * MS), cpus: 2, ..Facts::default() }
}

/// Writes a process in which two threads, besides the main thread, use a mutex.
fn two_threads() -> AreaBuilder {
    let mut area = AreaBuilder::new(1);
    area.process(0, 100, 0, 800 * MS);
    for (tid, wait) in [(100, 0), (101, 200 * MS), (102, 100 * MS)] {
        area.thread(0, tid, 0, 800 * MS, [wait, 0, 0]);
    }
    area.lock(0, 0xabc0, Kind::Mutex, 5_000, 30, 300 * MS);
    area.waits(0, 0, &[(10 * MS, 30)]);
    area.holds(0, 0, [(30, 60 * MS), (256, 2_560_000), (20, 20_000)]);
    area.pair(0, 0, 1, 20, 200 * MS);
    area.pair(0, 0, 2, 10, 100 * MS);
    area.module(0, "/lib/queue.so", 77);
    area.site(0, 0, 0x7000, 0x123, 1);
    area.site(0, 1, 0x8000, 0x456, 1);
    area.used(0, 0, 0, 3, 30, 300 * MS);
    area.used(0, 0, 1, 2, 0, 0);
    area
}

#[test]
fn counts_and_times_are_read_as_written() {
    let found = read(&two_threads().bytes[..], &facts());
    let [lock] = &found.locks[..] else { panic!("{found:?}") };
    assert_eq!((lock.kind, lock.acquisitions, lock.contended, lock.threads), (LockKind::Mutex, 5_000, 30, 2));
    let waits = lock.waits.as_ref().unwrap();
    assert_eq!((waits.count, waits.total, waits.most), (30, Nanos(300 * MS), Nanos(10 * MS)));
    assert!(waits.median.seconds() > 0.008 && waits.p99 <= waits.most, "{waits:?}");
    let holds = lock.holds.as_ref().unwrap();
    // 30 contended holds of 2 ms, the first 256 others of 10 µs, and 4,714 more of 1 µs, the mean of the twenty sampled
    // ones.
    assert_eq!((holds.total, holds.timed_contended, holds.timed_sampled), (Nanos(67_274_000), 30, 276));
    let sites: Vec<_> = lock.sites.iter().map(|site| (site.place.offset, site.acquisitions, site.contended)).collect();
    assert_eq!(
        sites,
        [(0x123, 3_012, 30), (0x456, 1_988, 0)],
        "uncontended acquisitions are distributed as the sample"
    );
    assert_eq!(found.modules, [FoundModule { path: "/lib/queue.so".to_owned(), inode: 77 }]);
    assert!(lock.held_by.is_err() && lock.waiting.is_empty());
    assert_eq!(found.threads.iter().map(|thread| thread.tid).collect::<Vec<_>>(), [101, 102, 100]);
}

#[test]
fn waits_that_had_not_ended_are_reported_with_the_holder() {
    let mut area = AreaBuilder::new(1);
    area.process(0, 100, 0, 0);
    area.thread(0, 100, 0, 0, [0; 3]);
    area.thread(0, 101, 100 * MS, 0, [0; 3]);
    area.lock(0, 0xabc0, Kind::Mutex, 1, 0, 0);
    area.acquired_last_by(0, 0, 0);
    area.site(0, 3, 0x7123, 0, 0);
    area.waits_for(0, 1, Some(0), 400 * MS);
    area.waits_at(0, 1, 3);
    area.waits_for(0, 0, None, 500 * MS);
    let found = read(&area.bytes[..], &facts());
    let lock = &found.locks[0];
    let tid_of = |thread: usize| found.threads[thread].tid;
    assert_eq!(lock.waiting.iter().map(|thread| tid_of(*thread)).collect::<Vec<_>>(), [101]);
    assert_eq!(tid_of(*lock.held_by.as_ref().unwrap()), 100);
    assert_eq!(lock.waits.as_ref().unwrap().total, Nanos(600 * MS), "the wait lasts until the end of the command");
    let at = FoundPlace { module: None, offset: 0x7123 };
    assert_eq!(lock.sites, [FoundSite { place: at, acquisitions: 0, contended: 0, wait: Nanos(600 * MS) }]);
    let first = found.threads.iter().find(|thread| thread.tid == 100).unwrap();
    assert_eq!((first.wait_joins, first.life), (Nanos(500 * MS), Nanos(1_000 * MS)));
    assert!(!found.processes[0].ended_itself);
}

/// Builds a process in which two threads each acquired one mutex last, and wait for the other one's since these times.
fn waits_for_each_other(since: [u64; 2]) -> AreaBuilder {
    let mut area = AreaBuilder::new(1);
    area.process(0, 100, 0, 0);
    for (number, since) in since.into_iter().enumerate() {
        area.thread(0, 100 + number as u32, 0, 0, [0; 3]);
        area.lock(0, 64 * (number as u64 + 1), Kind::Mutex, 1, 0, 0);
        area.acquired_last_by(0, number, number as u64);
        area.waits_for(0, number, Some(1 - number as u32), since);
    }
    area
}

fn is_deadlock(found: Found) -> bool {
    record_of(found, LockOrder::Wait).facts().verdict == "deadlock"
}

#[test]
fn a_thread_that_has_just_begun_to_wait_may_have_released_its_lock() {
    for (since, expected) in [([499 * MS, 500 * MS], true), ([100 * MS, 501 * MS], false), ([999 * MS; 2], false)] {
        let found = read(&waits_for_each_other(since).bytes[..], &facts());
        let known = found.locks.iter().filter(|lock| lock.held_by.is_ok()).count();
        assert_eq!(known, since.iter().filter(|since| **since <= 500 * MS).count(), "{since:?}");
        assert_eq!(is_deadlock(found), expected, "{since:?}");
    }
    // A thread waits again for a lock that it has released, and that the next thread has not recorded yet.
    let mut area = waits_for_each_other([300 * MS, 900 * MS]);
    area.waits_for(0, 1, Some(1), 900 * MS);
    assert!(!is_deadlock(read(&area.bytes[..], &facts())));
}

#[test]
fn the_holder_of_a_mutex_that_processes_share_is_not_known() {
    let mut area = waits_for_each_other([100 * MS; 2]);
    assert!(is_deadlock(read(&area.bytes[..], &facts())));
    area.shared(0, 1);
    let found = read(&area.bytes[..], &facts());
    assert!(found.locks[0].held_by.is_ok() != found.locks[1].held_by.is_ok(), "{found:?}");
    assert!(!is_deadlock(found));
    // A thread of this process that acquired it after a wait and has not released it is known to hold it.
    area.thread(0, 102, 0, 0, [0; 3]);
    area.waits_for(0, 2, Some(1), 50 * MS);
    area.waited_until(0, 2, 0, 60 * MS);
    assert!(read(&area.bytes[..], &facts()).locks.iter().all(|lock| lock.held_by.is_ok()));
}

#[test]
fn a_process_that_was_killed_waits_until_it_is_found_to_have_ended() {
    let mut area = AreaBuilder::new(1);
    area.process(0, 100, 0, 0);
    area.thread(0, 100, 0, 0, [0; 3]);
    area.lock(0, 0xabc0, Kind::Mutex, 1, 0, 0);
    area.waits_for(0, 0, Some(0), 400 * MS);
    for (pid, end) in [(100, 500), (101, 1_000)] {
        let found = read(&area.bytes[..], &Facts { gone: [(pid, Nanos(500 * MS))].into(), ..facts() });
        assert_eq!(found.processes[0].life, Nanos(end * MS));
        assert_eq!(found.locks[0].waits.as_ref().unwrap().total, Nanos((end - 400) * MS));
    }
}

#[test]
fn accounts_and_pending_waits_of_threads_are_added() {
    let mut area = two_threads();
    area.account(0, 0, 1, 0, &[MS, 2 * MS, 20 * MS], 3 * MS);
    area.account(0, 0, 2, 1, &[4 * MS], MS);
    area.account(0, 7, 2, 1, &[4 * MS], MS);
    // One thread holds the lock after a wait that was not yet added to the counts; another waits for the lock.
    area.waits_for(0, 2, Some(0), 700 * MS);
    area.waited_until(0, 2, 1, 705 * MS);
    area.waits_for(0, 0, Some(0), 740 * MS);
    for thread in [0, 2] {
        area.still_runs(0, thread);
    }
    let found = read(&area.bytes[..], &facts());
    let [lock] = &found.locks[..] else { panic!("{found:?}") };
    assert_eq!((lock.acquisitions, lock.contended, lock.threads), (5_005, 35, 3));
    let waits = lock.waits.as_ref().unwrap();
    let all = 300 + 23 + 4 + 5 + 60;
    assert_eq!((waits.count, waits.total, waits.most), (36, Nanos(all * MS), Nanos(60 * MS)));
    let holds = lock.holds.as_ref().unwrap();
    assert_eq!((holds.timed_contended, holds.most), (34, Nanos(3 * MS)), "one hold had not ended");
    let sites: Vec<_> = lock.sites.iter().map(|site| (site.place.offset, site.contended, site.wait.0 / MS)).collect();
    assert_eq!(sites, [(0x123, 33, 323), (0x456, 2, 9)]);
    let tid_of = |thread: usize| found.threads[thread].tid;
    assert_eq!(tid_of(*lock.held_by.as_ref().unwrap()), 102);
    assert_eq!(lock.waiting.iter().map(|thread| tid_of(*thread)).collect::<Vec<_>>(), [100]);
    let first = found.threads.iter().find(|thread| thread.tid == 102).unwrap();
    assert_eq!((first.wait, first.waits_at), (Nanos(105 * MS), None));
}

#[test]
fn the_main_thread_may_join_others_by_an_unwatched_wait() {
    let gain = |facts: &Facts| read(&two_threads().bytes[..], facts).locks[0].gain.clone().unwrap();
    let without = Facts { cpu: Nanos(100 * MS), ..facts() };
    assert_eq!(gain(&without), Nanos(0), "no wait of the main thread is known");
    let joined = Facts { others: [((100, 100), Nanos(700 * MS))].into(), ..without };
    assert_eq!(gain(&joined), Nanos(100 * MS), "the thread that waited least ends last");
}

#[test]
fn a_process_ends_when_it_executes_another_program() {
    let mut area = AreaBuilder::new(3);
    area.process(0, 100, 0, 0);
    area.process(1, 100, 300 * MS, 900 * MS);
    area.process(2, 105, 400 * MS, 0);
    let found = read(&area.bytes[..], &facts());
    let lives: Vec<u64> = found.processes.iter().map(|process| process.life.0 / MS).collect();
    assert_eq!(lives, [300, 600, 600]);
}

#[test]
fn processes_without_a_place_are_counted() {
    let mut area = AreaBuilder::new(1);
    area.process(0, 100, 0, 0);
    area.requested_places(7, 2);
    let found = read(&area.bytes[..], &facts());
    assert_eq!((found.processes.len(), found.unwatched), (1, 8));
}

#[test]
fn unused_locks_are_left_out() {
    let mut area = AreaBuilder::new(1);
    area.process(0, 100, 0, 0);
    area.lock(0, 0xabc0, Kind::Semaphore, 0, 0, 0);
    assert!(read(&area.bytes[..], &facts()).locks.is_empty());
}

#[test]
fn counts_of_locks_beyond_the_limit_are_kept() {
    let mut area = AreaBuilder::new(1);
    area.process(0, 100, 0, 0);
    (0..12_000).for_each(|lock| area.lock(0, 64 * (lock + 1), Kind::Mutex, 3, 1, lock));
    let found = read(&area.bytes[..], &facts());
    let folded = found.processes[0].folded;
    assert_eq!((found.locks.len(), folded.locks), (10_000, 2_000));
    assert_eq!((folded.acquisitions, folded.contended), (6_000, 2_000));
}

/// Makes up names from the offset.
struct NamesByOffset;

impl Names for NamesByOffset {
    fn place(&mut self, module: &FoundModule, offset: u64) -> CodePlace {
        let line = Ok(format!("queue.c:{}", offset / 0x400));
        CodePlace { module: Ok(module.path.clone()), offset, function: Ok("push".to_owned()), line }
    }
}

fn record_of(found: Found, order: LockOrder) -> LocksRecord {
    let circumstances = Circumstances {
        command: AttendedCommand { name: String::new(), argv: Vec::new(), program: "".into() },
        started: Timestamp::default(),
        host: steady_linux::host::probe(&steady_linux::Root::default()),
        revision: Err(steady_model::Absent::because("none")),
        order,
    };
    let futexes: Reading<_> = Err(steady_model::Absent::because("none"));
    let (wall, cpu) = (Nanos(1), Nanos(1));
    named(
        circumstances,
        LocksRun { ended: Outcome::Exited(0), wall, cpu, found, futexes, left_behind: 0 },
        &mut NamesByOffset,
    )
}

#[test]
fn locks_are_sorted_as_requested() {
    let mut area = two_threads();
    area.lock(0, 0xdef0, Kind::Mutex, 9_000, 0, 0);
    area.lock(0, 0xeee0, Kind::Condition, 40, 40, 900 * MS);
    area.waits(0, 2, &[(20 * MS, 40)]);
    let found = read(&area.bytes[..], &facts());
    let order = |order| record_of(found.clone(), order).locks.iter().map(|lock| lock.address).collect::<Vec<_>>();
    assert_eq!(order(LockOrder::Wait), [0xabc0, 0xeee0, 0xdef0], "locks come before conditions");
    assert_eq!(order(LockOrder::Contended), [0xeee0, 0xabc0, 0xdef0]);
    assert_eq!(order(LockOrder::Acquisitions), [0xdef0, 0xabc0, 0xeee0]);
    let report = record_of(found.clone(), LockOrder::Acquisitions);
    assert_eq!(report.locks.iter().map(|lock| lock.id).collect::<Vec<_>>(), [1, 2, 3]);
    let sites = &report.locks[1].sites;
    assert_eq!((sites.len(), sites[0].acquisitions), (2, 3_012), "the call sites are in two lines");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn no_bytes_cause_a_panic(
        seed in proptest::collection::vec(any::<u8>(), 64..2_000),
        places in 0_u32..9,
        spots in proptest::collection::vec((0.0..1.0_f64, any::<u64>()), 0..200),
        short in 0..2_000_usize,
    ) {
        let mut area = two_threads();
        let length = area.bytes.len();
        area.requested_places(places, 0);
        // Changes bytes everywhere, and most of them at the start of each table.
        for (share, value) in spots {
            let at = (share * (length - 8) as f64) as usize;
            area.bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        for (at, byte) in (HEAD_BYTES..).zip(&seed) {
            area.bytes[at] = *byte;
        }
        for table in made::starts() {
            let at = table + seed.len();
            area.bytes[table..at].copy_from_slice(&seed);
        }
        area.bytes.truncate(length - short);
        let found = read(&area.bytes[..], &facts());
        prop_assert!(found.locks.len() <= 10_000 && found.threads.len() <= 10_000);
        for lock in &found.locks {
            prop_assert!(lock.waiting.iter().all(|thread| *thread < found.threads.len()));
            prop_assert!(lock.process < found.processes.len());
        }
        record_of(found, LockOrder::Wait);
    }
}

#[test]
fn a_truncated_area_is_read_without_its_cut_place() {
    let area = two_threads();
    for length in [0, 1, 8, 100, HEAD_BYTES, HEAD_BYTES + PLACE_BYTES - 1] {
        assert!(read(&area.bytes[..length], &facts()).processes.is_empty(), "{length}");
    }
    assert!(
        read(&vec![0; HEAD_BYTES + PLACE_BYTES][..], &facts()).processes.is_empty(),
        "the area has no magic number"
    );
}
