//! Threads that wait for a mutex of the standard library, which is a futex and not a pthread mutex.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

fn main() {
    let mutex = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..120 {
                    let mut held = mutex.lock().expect("no thread panics");
                    *held += 1;
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
    });
    println!("{}", mutex.into_inner().expect("no thread panics"));
}
