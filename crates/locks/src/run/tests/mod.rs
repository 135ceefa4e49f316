//! Areas as watchers write them, and areas that nobody wrote.

mod made;

use proptest::prelude::*;
use steady_feature::attended::AttendedCommand;
use steady_model::{Nanos, Outcome, Reading, Timestamp};
use steady_preload::area::{HEAD_BYTES, Kind, PLACE_BYTES};

use super::found::{Found, FoundModule};
use super::naming::Names;
use super::place::Facts;
use super::read::read;
use super::{Circumstances, LocksRun, named};
use crate::record::{CodePlace, LockKind, LockOrder, LocksRecord};
use made::Made;

const MS: u64 = 1_000_000;

fn facts() -> Facts {
    Facts { ended: Nanos(1_000 * MS), cpu: Nanos(900 * MS), cpus: 2, ..Facts::default() }
}

/// Two threads besides the first take a mutex; what is known of it is told exactly.
fn two_threads() -> Made {
    let mut made = Made::new(1);
    made.process(0, 100, 0, 800 * MS);
    for (tid, wait) in [(100, 0), (101, 200 * MS), (102, 100 * MS)] {
        made.thread(0, tid, 0, 800 * MS, [wait, 0, 0]);
    }
    made.lock(0, 0xabc0, Kind::Mutex, 5_000, 30, 300 * MS);
    made.waits(0, 0, &[(10 * MS, 30)]);
    made.holds(0, 0, (30, 60 * MS), (20, 20_000));
    made.pair(0, 0, 1, 20, 200 * MS);
    made.pair(0, 0, 2, 10, 100 * MS);
    made.module(0, "/lib/queue.so", 77);
    made.site(0, 0, 0x7000, 0x123, 1);
    made.site(0, 1, 0x8000, 0x456, 1);
    made.used(0, 0, 0, 3, 30, 300 * MS);
    made.used(0, 0, 1, 2, 0, 0);
    made
}

#[test]
fn what_is_written_is_told() {
    let found = read(&two_threads().bytes[..], &facts());
    let [lock] = &found.locks[..] else { panic!("{found:?}") };
    assert_eq!((lock.kind, lock.acquisitions, lock.contended, lock.threads), (LockKind::Mutex, 5_000, 30, 2));
    let waits = lock.waits.as_ref().unwrap();
    assert_eq!((waits.count, waits.total, waits.most), (30, Nanos(300 * MS), Nanos(10 * MS)));
    assert!(waits.median.seconds() > 0.008 && waits.p99 <= waits.most, "{waits:?}");
    let holds = lock.holds.as_ref().unwrap();
    // 30 of 2 ms each, and 4,970 of the 1 us that twenty were seen to take.
    assert_eq!((holds.total, holds.timed_contended, holds.timed_sampled), (Nanos(64_970_000), 30, 20));
    let sites: Vec<_> = lock.sites.iter().map(|site| (site.place.offset, site.acquisitions, site.contended)).collect();
    assert_eq!(sites, [(0x123, 3_012, 30), (0x456, 1_988, 0)], "uncontended ones by the sample");
    assert_eq!(found.modules, [FoundModule { path: "/lib/queue.so".to_owned(), inode: 77 }]);
    assert!(lock.held_by.is_err() && lock.waiting.is_empty());
    assert_eq!(found.threads.iter().map(|thread| thread.tid).collect::<Vec<_>>(), [101, 102, 100]);
}

#[test]
fn waits_that_were_not_over_are_told_with_who_has_the_lock() {
    let mut made = Made::new(1);
    made.process(0, 100, 0, 0);
    made.thread(0, 100, 0, 0, [0; 3]);
    made.thread(0, 101, 100 * MS, 0, [0; 3]);
    made.lock(0, 0xabc0, Kind::Mutex, 1, 0, 0);
    made.taken_last_by(0, 0, 0);
    made.waits_for(0, 1, Some(0), 400 * MS);
    made.waits_for(0, 0, None, 500 * MS);
    let found = read(&made.bytes[..], &facts());
    let lock = &found.locks[0];
    let told = |thread: usize| found.threads[thread].tid;
    assert_eq!(lock.waiting.iter().map(|thread| told(*thread)).collect::<Vec<_>>(), [101]);
    assert_eq!(told(*lock.held_by.as_ref().unwrap()), 100);
    assert_eq!(lock.waits.as_ref().unwrap().total, Nanos(600 * MS), "to the end of the command");
    let first = found.threads.iter().find(|thread| thread.tid == 100).unwrap();
    assert_eq!((first.wait_joins, first.life), (Nanos(500 * MS), Nanos(1_000 * MS)));
    assert!(!found.processes[0].ended_itself);
}

#[test]
fn what_threads_keep_for_themselves_is_added_up() {
    let mut made = two_threads();
    made.account(0, 0, 1, 0, &[MS, 2 * MS, 20 * MS], 3 * MS);
    made.account(0, 0, 2, 1, &[4 * MS], MS);
    made.account(0, 7, 2, 1, &[4 * MS], MS);
    // One has had the lock since, and its wait is written down nowhere else; another waits for it.
    made.waits_for(0, 2, Some(0), 700 * MS);
    made.waited_until(0, 2, 1, 705 * MS);
    made.waits_for(0, 0, Some(0), 740 * MS);
    for thread in [0, 2] {
        made.ends_never(0, thread);
    }
    let found = read(&made.bytes[..], &facts());
    let [lock] = &found.locks[..] else { panic!("{found:?}") };
    assert_eq!((lock.acquisitions, lock.contended, lock.threads), (5_005, 35, 3));
    let waits = lock.waits.as_ref().unwrap();
    let all = 300 + 23 + 4 + 5 + 60;
    assert_eq!((waits.count, waits.total, waits.most), (36, Nanos(all * MS), Nanos(60 * MS)));
    let holds = lock.holds.as_ref().unwrap();
    assert_eq!((holds.timed_contended, holds.most), (34, Nanos(3 * MS)), "one was not over");
    let sites: Vec<_> = lock.sites.iter().map(|site| (site.place.offset, site.contended, site.wait.0 / MS)).collect();
    assert_eq!(sites, [(0x123, 33, 323), (0x456, 2, 9)]);
    let told = |thread: usize| found.threads[thread].tid;
    assert_eq!(told(*lock.held_by.as_ref().unwrap()), 102);
    assert_eq!(lock.waiting.iter().map(|thread| told(*thread)).collect::<Vec<_>>(), [100]);
    let first = found.threads.iter().find(|thread| thread.tid == 102).unwrap();
    assert_eq!((first.wait, first.waits_at), (Nanos(105 * MS), None));
}

#[test]
fn a_first_thread_may_wait_for_others_by_what_is_not_watched() {
    let gain = |facts: &Facts| read(&two_threads().bytes[..], facts).locks[0].gain.clone().unwrap();
    let without = Facts { cpu: Nanos(100 * MS), ..facts() };
    assert_eq!(gain(&without), Nanos(0), "it was not seen to wait");
    let joined = Facts { others: [((100, 100), Nanos(700 * MS))].into(), ..without };
    assert_eq!(gain(&joined), Nanos(100 * MS), "the thread that waited least is the last");
}

#[test]
fn a_process_ends_where_the_next_program_begins() {
    let mut made = Made::new(3);
    made.process(0, 100, 0, 0);
    made.process(1, 100, 300 * MS, 900 * MS);
    made.process(2, 105, 400 * MS, 0);
    let found = read(&made.bytes[..], &facts());
    let lives: Vec<u64> = found.processes.iter().map(|process| process.life.0 / MS).collect();
    assert_eq!(lives, [300, 600, 600]);
}

#[test]
fn places_that_were_asked_for_in_vain_are_counted() {
    let mut made = Made::new(1);
    made.process(0, 100, 0, 0);
    made.asked_for(7, 2);
    let found = read(&made.bytes[..], &facts());
    assert_eq!((found.processes.len(), found.unwatched), (1, 8));
}

#[test]
fn locks_that_were_never_used_are_not_told() {
    let mut made = Made::new(1);
    made.process(0, 100, 0, 0);
    made.lock(0, 0xabc0, Kind::Semaphore, 0, 0, 0);
    assert!(read(&made.bytes[..], &facts()).locks.is_empty());
}

#[test]
fn beyond_what_can_be_told_apart_all_counts_are_kept() {
    let mut made = Made::new(1);
    made.process(0, 100, 0, 0);
    (0..12_000).for_each(|lock| made.lock(0, 64 * (lock + 1), Kind::Mutex, 3, 1, lock));
    let found = read(&made.bytes[..], &facts());
    let folded = found.processes[0].folded;
    assert_eq!((found.locks.len(), folded.locks), (10_000, 2_000));
    assert_eq!((folded.acquisitions, folded.contended), (6_000, 2_000));
}

/// Names by nothing but the offset.
struct Plain;

impl Names for Plain {
    fn place(&mut self, module: &FoundModule, offset: u64) -> CodePlace {
        let line = Ok(format!("queue.c:{}", offset / 0x400));
        CodePlace { module: Ok(module.path.clone()), offset, function: Ok("push".to_owned()), line }
    }
}

fn told(found: Found, order: LockOrder) -> LocksRecord {
    let circumstances = Circumstances {
        command: AttendedCommand { name: String::new(), argv: Vec::new(), program: "".into() },
        started: Timestamp::default(),
        host: steady_linux::host::probe(&steady_linux::Root::default()),
        revision: Err(steady_model::Absent::because("none")),
        order,
    };
    let futexes: Reading<_> = Err(steady_model::Absent::because("none"));
    let (wall, cpu) = (Nanos(1), Nanos(1));
    named(circumstances, LocksRun { ended: Outcome::Exited(0), wall, cpu, found, futexes, left_behind: 0 }, &mut Plain)
}

#[test]
fn locks_are_in_the_order_that_was_asked_for() {
    let mut made = two_threads();
    made.lock(0, 0xdef0, Kind::Mutex, 9_000, 0, 0);
    made.lock(0, 0xeee0, Kind::Condition, 40, 40, 900 * MS);
    made.waits(0, 2, &[(20 * MS, 40)]);
    let found = read(&made.bytes[..], &facts());
    let order = |order| told(found.clone(), order).locks.iter().map(|lock| lock.address).collect::<Vec<_>>();
    assert_eq!(order(LockOrder::Wait), [0xabc0, 0xeee0, 0xdef0], "locks before what is waited for to happen");
    assert_eq!(order(LockOrder::Contended), [0xeee0, 0xabc0, 0xdef0]);
    assert_eq!(order(LockOrder::Acquisitions), [0xdef0, 0xabc0, 0xeee0]);
    let report = told(found.clone(), LockOrder::Acquisitions);
    assert_eq!(report.locks.iter().map(|lock| lock.id).collect::<Vec<_>>(), [1, 2, 3]);
    let sites = &report.locks[1].sites;
    assert_eq!((sites.len(), sites[0].acquisitions), (2, 3_012), "two lines");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn no_bytes_make_it_panic(
        seed in proptest::collection::vec(any::<u8>(), 64..2_000),
        places in 0_u32..9,
        spots in proptest::collection::vec((0.0..1.0_f64, any::<u64>()), 0..200),
        short in 0..2_000_usize,
    ) {
        let mut made = two_threads();
        let length = made.bytes.len();
        made.asked_for(places, 0);
        // Broken everywhere, densely in the beginning of each part.
        for (share, value) in spots {
            let at = (share * (length - 8) as f64) as usize;
            made.bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        for (at, byte) in (HEAD_BYTES..).zip(&seed) {
            made.bytes[at] = *byte;
        }
        for table in made::starts() {
            let at = table + seed.len();
            made.bytes[table..at].copy_from_slice(&seed);
        }
        made.bytes.truncate(length - short);
        let found = read(&made.bytes[..], &facts());
        prop_assert!(found.locks.len() <= 10_000 && found.threads.len() <= 10_000);
        for lock in &found.locks {
            prop_assert!(lock.waiting.iter().all(|thread| *thread < found.threads.len()));
            prop_assert!(lock.process < found.processes.len());
        }
        told(found, LockOrder::Wait);
    }
}

#[test]
fn an_area_that_is_cut_short_is_read_as_far_as_it_goes() {
    let made = two_threads();
    for length in [0, 1, 8, 100, HEAD_BYTES, HEAD_BYTES + PLACE_BYTES - 1] {
        assert!(read(&made.bytes[..length], &facts()).processes.is_empty(), "{length}");
    }
    assert!(read(&vec![0; HEAD_BYTES + PLACE_BYTES][..], &facts()).processes.is_empty(), "nobody wrote the beginning");
}
