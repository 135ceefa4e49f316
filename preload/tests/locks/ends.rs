//! A program that is killed: what it had done until then is there, and who waits for whom.

use std::io::Read;
use std::process::Stdio;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use steady_preload::area::Kind;

use crate::watched::{Area, Asked, compiled, get};

#[test]
fn a_deadlock_that_is_killed_shows_who_waits_for_whom() {
    let program = compiled(include_str!("ends.c"));
    let area = Area::new(1);
    let mut child = area.command(&program).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut said = [0];
    child.stdout.as_mut().expect("it is piped").read_exact(&mut said).expect("it says where its locks are");
    std::thread::sleep(Duration::from_millis(100));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let place = area.place(0);
    assert_eq!(get(&place.process.ended), 0);
    let locks = Asked::locks(&*place, Kind::Mutex);
    assert_eq!(locks.len(), 2);
    assert!(locks.iter().all(|(_, lock)| get(&lock.acquisitions) == 101 && get(&lock.contended) == 0));
    let threads = place.threads();
    let [first, second] = [1, 2].map(|number| threads[number].waits_for.load(Relaxed) as usize);
    assert_eq!((first.min(second), first.max(second)), (1, 2));
    for (number, thread) in threads.iter().enumerate() {
        assert!(get(&thread.waits_since) > get(&thread.began), "each waits, the first for another's end");
        if number > 0 {
            let lock = locks[thread.waits_for.load(Relaxed) as usize - 1].1;
            assert_eq!(get(&lock.last), 4 - (number as u64 + 1) + 1, "which the other had last");
        }
    }
    assert_eq!(threads[0].waits_for.load(Relaxed), 0);
}
