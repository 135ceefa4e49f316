//! Programs that are killed: what they did is in the area, and so are the waits that had not ended.

use std::io::Read;
use std::process::Stdio;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use steady_preload::area::{Kind, NO_THREAD};

use crate::watched::{Area, Queries, compiled, get};

#[test]
fn a_killed_deadlock_shows_which_thread_waits_for_which() {
    let program = compiled(include_str!("ends.c"));
    let area = Area::new(1);
    let mut child = area.command(&program).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut byte = [0];
    child
        .stdout
        .as_mut()
        .expect("standard output is a pipe")
        .read_exact(&mut byte)
        .expect("the program reports that its locks are held");
    assert!(eventually(|| {
        let place = area.place(0);
        let threads = place.threads();
        let waits = |number: &usize| threads[*number].waits_for.load(Relaxed) > 0;
        threads.len() == 3 && [1, 2].iter().all(waits) && get(&threads[0].waits_since) > 0
    }));
    child.kill().expect("the process can be killed");
    child.wait().expect("the process can be waited for");
    let place = area.place(0);
    assert_eq!(get(&place.process.ended), 0);
    let locks = Queries::locks(&*place, Kind::Mutex);
    assert_eq!(locks.len(), 2);
    assert!(locks.iter().all(|(number, _)| place.totals(*number).acquisitions == 101));
    let threads = place.threads();
    let [first, second] = [1, 2].map(|number| threads[number].waits_for.load(Relaxed) as usize);
    assert_eq!((first.min(second), first.max(second)), (1, 2));
    for (number, thread) in threads.iter().enumerate() {
        assert!(get(&thread.waits_since) > get(&thread.began), "all threads wait, the first one for another's end");
        if number > 0 {
            let lock = locks[thread.waits_for.load(Relaxed) as usize - 1].1;
            assert_eq!(get(&lock.last), 4 - (number as u64 + 1) + 1, "the other thread acquired it last");
        }
    }
    assert_eq!(threads[0].waits_for.load(Relaxed), 0);
    // Both threads wait at the same line, and the first thread where it joins.
    let at = |number: usize| threads[number].waits_at.load(Relaxed) as usize;
    assert!(at(1) > 0 && at(1) == at(2) && at(0) > 0 && at(0) != at(1));
    let address = |number: usize| get(&place.sites[number - 1].address);
    assert!(address(at(1)) != 0 && address(at(0)) != 0);
}

/// Waits up to a minute for `condition`.
fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        condition()
    })
}

/// Runs the program in a mode in which its second thread waits for a lock of the first one, which then waits for it in
/// turn, and kills it. The second thread acquires the lock after at least 50 ms.
fn killed_while_waiting_in_turn(mode: &str) -> Area {
    let program = compiled(include_str!("ends.c"));
    let area = Area::new(1);
    let mut child = area.command(&program).arg(mode).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut byte = [0];
    child
        .stdout
        .as_mut()
        .expect("standard output is a pipe")
        .read_exact(&mut byte)
        .expect("the program reports that it holds the lock");
    // The first thread waits for the lock in turn, 50 ms later.
    assert!(eventually(|| get(&area.place(0).threads()[0].waits_since) > 0));
    child.kill().expect("the process can be killed");
    child.wait().expect("the process can be waited for");
    area
}

#[test]
fn a_thread_that_ends_with_a_contended_lock_acquired_it_last() {
    let area = killed_while_waiting_in_turn("left");
    let place = area.place(0);
    let (number, lock) = Queries::locks(&*place, Kind::Mutex)[0];
    assert!(get(&place.threads()[1].ended) > 0);
    assert_eq!((place.totals(number).contended, get(&lock.last)), (1, 2), "the wait is counted");
}

/// Otherwise the thread that signalled would be said to hold the lock that it waits for.
#[test]
fn a_thread_that_returns_from_a_condition_acquired_the_lock_last() {
    let area = killed_while_waiting_in_turn("signalled");
    let place = area.place(0);
    let (_, lock) = Queries::locks(&*place, Kind::Mutex)[0];
    assert_eq!(get(&lock.last), 2);
}

/// Otherwise the thread that held the lock before would be said to hold it, while it waits for the lock again.
#[test]
fn no_thread_acquired_a_lock_last_that_was_released_after_a_wait() {
    let program = compiled(include_str!("ends.c"));
    // On a busy machine the second thread may come too late to wait, so retry.
    let attempt = || {
        let area = Area::new(1);
        area.run(&program, &["passed"]);
        let place = area.place(0);
        let (number, lock) = Queries::locks(&*place, Kind::Mutex)[0];
        (place.totals(number).contended, get(&lock.last))
    };
    let found = (0..20).map(|_| attempt()).find(|(contended, _)| *contended == 1);
    assert_eq!(found, Some((1, NO_THREAD)));
}

#[test]
fn a_contended_lock_that_is_still_held_shows_its_wait() {
    let area = killed_while_waiting_in_turn("had");
    let place = area.place(0);
    let (number, lock) = Queries::locks(&*place, Kind::Mutex)[0];
    let (thread, first) = (place.threads()[1], place.threads()[0]);
    assert_eq!(thread.waits_for.load(Relaxed) as usize, number + 1);
    let waited = get(&thread.waited_until) - get(&thread.waits_since);
    assert!((50_000_000..5_000_000_000).contains(&waited), "{waited}");
    // The wait is not counted yet. The first thread, which acquired the lock before, waits for it and does not hold it.
    assert_eq!((place.totals(number).contended, get(&lock.uncontended), get(&lock.last)), (0, 1, NO_THREAD));
    assert!(first.waits_for.load(Relaxed) as usize == number + 1 && get(&first.waited_until) == 0);
}

#[test]
fn a_kill_loses_at_most_what_is_being_recorded() {
    let program = compiled(include_str!("ends.c"));
    for after in [3, 10, 30, 50, 100] {
        let area = Area::new(1);
        let counted = area.path().with_file_name("counted");
        let mut child = area.command(&program).arg("count").arg(&counted).spawn().expect("the program starts");
        std::thread::sleep(Duration::from_millis(after));
        child.kill().expect("the process can be killed");
        child.wait().expect("the process can be waited for");
        let place = area.place(0);
        let Some(&(number, _)) = Queries::locks(&*place, Kind::Mutex).first() else { continue };
        let waiting = |thread: &&&steady_preload::area::Thread| get(&thread.waited_until) != 0;
        let threads = place.threads();
        let over = threads.iter().filter(waiting).count() as u64;
        // The program's own count, made under the lock, in a file.
        let counted = std::fs::read(counted).map_or(0, |bytes| word(&bytes));
        let recorded = place.totals(number).acquisitions + over;
        assert!(recorded.abs_diff(counted) <= threads.len() as u64, "{recorded} of {counted}, {over} over");
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}
