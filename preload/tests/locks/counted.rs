//! Known numbers: each of several threads acquires a lock a given number of times.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use steady_preload::area::{EARLY, Kind, is_sampled};

use crate::watched::{Area, Queries, compiled, get, numbers, within};

pub(crate) static COUNTED: LazyLock<PathBuf> = LazyLock::new(|| compiled(include_str!("counted.c")));

/// The lock types of the program, by its names for them.
const TYPES: [(&str, Kind); 11] = [
    ("mutex", Kind::Mutex),
    ("recursive", Kind::Mutex),
    ("checking", Kind::Mutex),
    ("adaptive", Kind::Mutex),
    ("robust", Kind::Mutex),
    ("inheriting", Kind::Mutex),
    ("protecting", Kind::Mutex),
    ("write", Kind::Rwlock),
    ("read", Kind::Rwlock),
    ("spin", Kind::Spinlock),
    ("semaphore", Kind::Semaphore),
];

/// Returns the lock types that can be used here: PTHREAD_PRIO_PROTECT needs the right to set a priority.
fn types(test: &str) -> impl Iterator<Item = (&'static str, Kind)> {
    let bare = Command::new(&*COUNTED).args(["1", "protecting", "1", "0"]).output().expect("the program starts");
    if !bare.status.success() {
        eprintln!("skipped: {test}: protecting: threads may not have a real-time priority here ({})", bare.status);
    }
    TYPES.into_iter().filter(move |(way, _)| *way != "protecting" || bare.status.success())
}

#[test]
fn counts_are_exact() {
    for (way, kind) in types("counts_are_exact") {
        let area = Area::new(1);
        let (threads, times) = (4, 20_000_u64);
        area.run(&COUNTED, &[&threads.to_string(), way, &times.to_string(), "0"]);
        let place = area.place(0);
        let number = used(&place, kind).first().expect("the lock was used").0;
        let lock = place.totals(number);
        assert_eq!(used(&place, kind).len(), 1, "{way}");
        assert_eq!(lock.acquisitions, threads as u64 * times, "{way}");
        assert_eq!(place.acquisitions(), threads as u64 * times, "{way}");
        assert_eq!((place.threads().len(), place.threads_of(number)), (threads + 1, threads), "{way}");
        assert_eq!((lock.given_up, get(&place.process.pairs_lost)), (0, 0), "{way}");
        assert_eq!(lock.waits.iter().sum::<u64>(), lock.contended, "{way}");
    }
}

fn used(place: &steady_preload::area::ProcessPlace, kind: Kind) -> Vec<(usize, &steady_preload::area::Lock)> {
    Queries::locks(place, kind).into_iter().filter(|(number, _)| place.totals(*number).acquisitions > 0).collect()
}

#[test]
fn one_thread_never_waits_and_is_sampled_as_stated() {
    for (way, kind) in types("one_thread_never_waits_and_is_sampled_as_stated") {
        let area = Area::new(1);
        let times = 100_000;
        area.run(&COUNTED, &["1", way, &times.to_string(), "0"]);
        let place = area.place(0);
        let (number, lock) = used(&place, kind)[0];
        let totals = place.totals(number);
        assert_eq!((totals.acquisitions, totals.contended, totals.wait), (times, 0, 0), "{way}");
        let sampled = (1..=times).filter(|&number| number == 1 || is_sampled(number)).count() as u64;
        assert!((90..110).contains(&sampled));
        // No thread holds a semaphore. The first acquisition is early, as are others with a low number.
        let later = (EARLY + 1..=times).filter(|&number| is_sampled(number)).count() as u64;
        let holds = if kind == Kind::Semaphore { (0, 0) } else { (EARLY, later) };
        assert_eq!((get(&lock.holds_early), get(&lock.holds_sampled)), holds, "{way}");
        assert_eq!(totals.holds, 0, "{way}");
        let uses: u64 = place.uses.iter().map(|found| get(&found.sampled)).sum();
        assert_eq!(uses, sampled, "{way}");
        // There cannot be more call sites than there are calls in the program.
        assert!((1..=4).contains(&place.uses.iter().filter(|found| get(&found.key) != 0).count()), "{way}");
    }
}

#[test]
fn waits_match_those_the_program_measures() {
    // Threads with a priority run until they have to wait, so that others may not get as far as the lock.
    for (way, kind) in TYPES.into_iter().filter(|(way, _)| !["read", "protecting"].contains(way)) {
        // On a busy machine a thread may be preempted between its clock and the call, so the best of five counts.
        let mut last = String::new();
        let matches = (0..5).any(|_| {
            let area = Area::new(1);
            let measured = numbers(&area.run(&COUNTED, &["3", way, "400", "100000"]));
            let place = area.place(0);
            let lock = place.totals(used(&place, kind)[0].0);
            let (count, contended) = (lock.acquisitions, lock.contended);
            last = format!("{way}: waited {} of {}, {contended} of {count}", lock.wait, measured[0]);
            let threads: u64 = place.threads().iter().map(|thread| get(&thread.wait) + get(&thread.wait_events)).sum();
            assert_eq!(threads, lock.wait, "{way}");
            assert_eq!(lock.holds, if kind == Kind::Semaphore { 0 } else { contended }, "{way}");
            contended > 0 && within(10, lock.wait, measured[0])
        });
        assert!(matches, "{last}");
    }
}
