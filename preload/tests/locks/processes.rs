//! fork(2) and execve(2): each process has its own place, and nothing is counted twice.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::Ordering::Relaxed;

use steady_preload::area::{Kind, Origin};

use crate::watched::{Area, Bytes, Queries, compiled, compiled_by, get};

static PROCESSES: LazyLock<PathBuf> = LazyLock::new(|| compiled(include_str!("processes.c")));

/// How a process began, how often it acquired locks, how many threads it had, and whether its end was seen.
fn did(place: &Bytes<steady_preload::area::ProcessPlace>) -> (u32, u64, u32, bool) {
    let process = &place.process;
    let (origin, threads) = (process.origin.load(Relaxed), process.threads.load(Relaxed));
    (origin, place.acquisitions(), threads, get(&process.ended) != 0)
}

const EXEC: u32 = Origin::Exec as u32;
const FORK: u32 = Origin::Fork as u32;

#[test]
fn forked_processes_are_counted_separately() {
    let area = Area::new(8);
    let printed = area.run(&PROCESSES, &["fork"]);
    if printed.contains("chroot") {
        eprintln!("skipped: forked_processes_are_counted_separately: after chroot: {printed}");
    }
    let all: Vec<_> = (0..5).map(|number| did(&area.place(number))).collect();
    assert_eq!(all[0], (EXEC, 1010, 2, true));
    assert_eq!(all[1..3], [(FORK, 1020, 2, true), (FORK, 7, 1, true)]);
    assert_eq!(all[3..5], [(FORK, 1021, 2, true), (FORK, 7, 1, true)]);
    assert_eq!(area.place(5).process.pid.load(Relaxed), 0);
}

#[test]
fn processes_without_a_place_run_normally() {
    let area = Area::new(2);
    area.run(&PROCESSES, &["fork"]);
    assert_eq!(did(&area.place(0)), (EXEC, 1010, 2, true));
    assert_eq!(did(&area.place(1)), (FORK, 1020, 2, true));
}

/// A child of vfork(2) uses the memory of its parent until it ends.
#[test]
fn the_end_by_exit_2_is_seen_and_is_not_that_of_the_parent() {
    let program = compiled(
        "#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
        int main(int argc, char **argv) {\
            if (argc > 1 && argv[1][0] == 'v') { if (vfork() == 0) _exit(0); raise(SIGKILL); }\
            if (argc > 1) _Exit(0);\
            _exit(0); }",
    );
    for (words, ends) in [(&[][..], true), (&["C"], true), (&["vfork"], false)] {
        let area = Area::new(1);
        let _ = area.command(&program).args(words).status().expect("the program starts");
        assert_eq!(did(&area.place(0)), (EXEC, 0, 1, ends), "{words:?}");
    }
}

#[test]
fn executed_programs_get_a_place() {
    let area = Area::new(8);
    assert_eq!(area.run(&PROCESSES, &["vfork"]), "ok\nok\n");
    assert_eq!(did(&area.place(0)), (EXEC, 11, 1, true));
    assert_eq!(did(&area.place(1)), (EXEC, 3, 1, true));
    let program = area.place(1);
    let length = get(&program.process.program_length) as usize;
    let path: Vec<u8> = program.process.program[..length].iter().map(|byte| byte.load(Relaxed)).collect();
    assert_eq!(path, PROCESSES.as_os_str().as_encoded_bytes());
}

#[test]
fn a_process_shared_lock_is_counted_in_each_process() {
    let area = Area::new(8);
    assert_eq!(area.run(&PROCESSES, &["shared"]), "ok\n");
    assert_eq!([0, 1].map(|number| did(&area.place(number)).1), [1, 50]);
    let place = area.place(1);
    let (number, entry) = Queries::locks(&*place, Kind::Mutex)[0];
    let lock = place.totals(number);
    assert_eq!(lock.contended, 1);
    assert!((50_000_000..10_000_000_000).contains(&lock.wait), "{}", lock.wait);
    assert_eq!(entry.shared.load(Relaxed), 1, "a thread of the other process may hold it");
}

#[test]
fn locks_of_a_library_that_is_unloaded() {
    let own = "#include <pthread.h>\nstatic pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;\
               \nvoid lock_own(void) { pthread_mutex_lock(&own); pthread_mutex_unlock(&own); }";
    let library = compiled_by("cc", own, &["-shared", "-fPIC"]);
    let area = Area::new(1);
    assert_eq!(area.run(&PROCESSES, &["library", library.to_str().unwrap()]), "ok\n");
    let place = area.place(0);
    assert_eq!(place.acquisitions(), 3);
    let length = |number: usize| get(&place.modules[number].length) as usize;
    let path = |number: usize| {
        place.modules[number].path[..length(number)].iter().map(|byte| byte.load(Relaxed)).collect::<Vec<u8>>()
    };
    let modules = place.process.modules.load(Relaxed) as usize;
    assert!((0..modules).any(|number| path(number) == library.as_os_str().as_encoded_bytes()));
}
