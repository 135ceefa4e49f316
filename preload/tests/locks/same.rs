//! A program behaves as without the watcher: all results, errno values and cancellations are the same.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use steady_preload::area::{HEAD_BYTES, Kind, PLACE_BYTES, VARIABLE};

use crate::watched::{Area, Queries, compiled, compiled_by, get, is_installed};

/// Returns the output of a command on both streams, and its exit status.
fn whole(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("the output is UTF-8");
    format!("{text}{}", output.status)
}

#[test]
fn results_are_the_same() {
    let program = compiled(include_str!("same.c"));
    let without = whole(&mut Command::new(&program));
    assert!(without.ends_with("the first thread has ended\nexit status: 3"), "{without}");
    let area = Area::new(1);
    assert_eq!(whole(&mut area.command(&program)), without);
    // It was watched: the end of every thread was seen, except for two that still run, and no ended thread waits.
    let place = area.place(0);
    let all = place.threads();
    assert!(all.len() > 60, "{}", all.len());
    assert_eq!(all.iter().filter(|thread| get(&thread.ended) == 0).count(), 2);
    assert!(all.iter().all(|thread| get(&thread.ended) == 0 || get(&thread.waits_since) == 0));
    assert!(get(&place.process.ended) > 0);
}

/// If the watcher cannot count, the program runs as without it.
#[test]
fn a_program_that_is_not_watched_runs_normally() {
    let program = compiled(include_str!("same.c"));
    let without = whole(&mut Command::new(&program));
    let area = Area::new(0);
    assert_eq!(whole(&mut area.command(&program)), without, "no place");
    assert_eq!(whole(area.command(&program).env_remove(VARIABLE)), without, "no variable");
    assert_eq!(whole(area.command(&program).env(VARIABLE, "/nothing")), without, "no file");
    assert_eq!(whole(area.command(&program).env(VARIABLE, "/dev/null")), without, "not mapped");
    assert_eq!(whole(area.command(&program).env(VARIABLE, "x".repeat(1000))), without, "too long");
    assert_eq!(whole(area.command(&program).env(VARIABLE, &program)), without, "another file");
    // The area of one process, without its end: accessing the memory beyond the end of a file raises SIGBUS.
    let area = Area::new(1);
    let file = std::fs::File::options().write(true).open(area.path()).expect("the area exists");
    for length in [(HEAD_BYTES + PLACE_BYTES - 1) as u64, HEAD_BYTES as u64, 12, 0] {
        file.set_len(length).expect("the file can be truncated");
        assert_eq!(whole(&mut area.command(&program)), without, "{length} bytes");
    }
    let pipe = area.path().with_file_name("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts");
    assert!(made.success(), "no pipe can be created");
    assert_eq!(whole(area.command(&program).env(VARIABLE, &pipe)), without, "a pipe");
    let area = Area::new(1);
    let mut limited = Command::new("sh");
    let preload = area.command("true").get_envs().next().map(|(_, value)| value.unwrap().to_owned()).unwrap();
    limited.arg("-c").arg("ulimit -v 30000; exec env LD_PRELOAD=\"$1\" \"$2\"; ").arg0("sh").arg("sh").arg(preload);
    limited.arg(&program).env(VARIABLE, area.path());
    let mut bare = Command::new("sh");
    bare.args(["-c", "ulimit -v 30000; exec \"$1\"", "sh"]).arg(&program);
    assert_eq!(whole(&mut limited), whole(&mut bare), "no memory");
}

#[test]
fn descriptors_are_the_programs_own() {
    let area = Area::new(2);
    let look = "exec 3>&- 4>&- 5>&-; ls -l /proc/self/fd | grep -c area; ls /proc/self/fd | wc -l";
    let with = whole(area.command("bash").args(["-c", look]));
    assert_eq!(with, whole(Command::new("bash").args(["-c", look])));
}

#[test]
fn locks_of_threads_h_are_counted() {
    let program = compiled(include_str!("c11.c"));
    let without = whole(&mut Command::new(&program));
    let area = Area::new(1);
    assert_eq!(whole(&mut area.command(&program)), without);
    let place = area.place(0);
    let all: Vec<_> = Queries::locks(&*place, Kind::Mutex).iter().map(|(number, _)| place.totals(*number)).collect();
    // Those of the four threads, and one each of the first and the last thread.
    assert!(all.iter().any(|lock| lock.acquisitions == 40_002), "{without}");
    assert!(all.iter().any(|lock| (lock.acquisitions, lock.given_up) == (1, 1)), "one wait timed out");
    assert!(all.iter().any(|lock| lock.acquisitions == 2), "one was acquired twice");
    let condition = place.totals(Queries::locks(&*place, Kind::Condition)[0].0);
    assert!(condition.acquisitions >= 1 && condition.given_up == 1);
    let threads = place.threads();
    assert!(threads.len() == 6 && threads[1..].iter().all(|thread| get(&thread.start) != 0 && get(&thread.ended) != 0));
    assert!(get(&threads[0].wait_joins) > 0);
}

#[test]
fn an_allocator_may_take_locks() {
    // The constructor of the library runs before that of the watcher.
    let allocator = compiled_by("cc", include_str!("allocator.c"), &["-shared", "-fPIC", "-fno-builtin"]);
    let source = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\
        for (int number = 0; number < 1000; number++) free(malloc(16));\
        return puts(\"ok\") < 0; }";
    let program = compiled_by("cc", source, &["-fno-builtin", allocator.to_str().unwrap()]);
    let area = Area::new(3);
    let printed = whole(area.command("timeout").arg("20").arg(&program));
    assert_eq!(printed, "ok\nexit status: 0");
    assert!((0..3).any(|number| area.place(number).acquisitions() >= 1_001));
}

#[test]
fn a_program_that_restricts_system_calls_survives() {
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let source = source.unwrap_or_default();
    if !["", "tsc", "kvm-clock", "hyperv_clocksource_tsc_page"].contains(&source.trim_end()) {
        return eprintln!(
            "skipped: a_program_that_restricts_system_calls_survives: the clock {} needs system calls",
            source.trim_end()
        );
    }
    let program = compiled(include_str!("sandbox.c"));
    for way in ["prctl", "syscall", "test"] {
        let without = whole(Command::new(&program).arg(way));
        if without != "ok\nexit status: 5" {
            eprintln!(
                "skipped: a_program_that_restricts_system_calls_survives: it fails without the watcher: {without}"
            );
            return;
        }
        let area = Area::new(1);
        assert_eq!(whole(area.command(&program).arg(way)), without, "{way}");
        let place = area.place(0);
        assert_eq!(place.acquisitions(), 30_001, "{way}");
        assert!(get(&place.process.ended) > 0, "{way}");
        // Only tests which filters the kernel has do not forbid the watcher's system calls.
        assert_eq!(get(&place.process.cpu) > 0, way == "test", "{way}");
    }
}

/// In the strict mode of seccomp(2), a process may not read the time stamp counter either.
#[test]
fn a_program_that_may_not_read_the_time_is_no_longer_watched() {
    let program = compiled(
        r#"
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void locks(void) { for (int i = 0; i < 1000; i++) pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock); }
int main(int argc, char **argv) {
    locks();
    if (argc > 1 ? prctl(PR_SET_TSC, PR_TSC_SIGSEGV) : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 1;
    locks();
    write(1, "ok\n", 3);
    syscall(SYS_exit, 5);
}"#,
    );
    for words in [&[][..], &["tsc"]] {
        let without = whole(Command::new(&program).args(words));
        if without != "ok\nexit status: 5" {
            eprintln!("skipped: a_program_that_may_not_read_the_time_is_no_longer_watched: {without}");
            return;
        }
        let area = Area::new(1);
        assert_eq!(whole(area.command(&program).args(words)), without, "{words:?}");
        let place = area.place(0);
        assert!(place.acquisitions() == 1_000 && get(&place.process.ended) > 0, "{words:?}");
    }
}

#[test]
fn a_timeout_may_be_missing() {
    let program = compiled(
        "#include <pthread.h>\n#include <stdio.h>\n#include <stddef.h>\n\
        int main(void) { pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER; struct timespec *volatile none = NULL;\
        return printf(\"%d\", pthread_rwlock_timedrdlock(&lock, none)) < 0; }",
    );
    let without = whole(&mut Command::new(&program));
    if without != "0exit status: 0" {
        return eprintln!("skipped: a_timeout_may_be_missing: not with this C library: {without}");
    }
    assert_eq!(whole(&mut Area::new(1).command(&program)), without);
}

/// The core dump of a program does not contain the area.
#[test]
fn the_area_is_excluded_from_core_dumps() {
    let area = Area::new(1);
    let maps = whole(area.command("cat").arg("/proc/self/smaps"));
    let path = area.path().display().to_string();
    let of_area = maps.split_inclusive("VmFlags:").filter(|part| part.contains(&path)).count();
    assert!(of_area >= 2, "the head and a place: {maps}");
    let mut rest = maps.as_str();
    for _ in 0..of_area {
        rest = &rest[rest.find(&path).expect("the mapping is listed")..];
        rest = &rest[rest.find("VmFlags:").expect("the kernel reports flags")..];
        let flags = rest.lines().next().expect("the flags are on a line");
        assert!(flags.split_whitespace().any(|flag| flag == "dd"), "{flags}");
    }
}

#[test]
fn cxx_locks_are_counted() {
    if !is_installed("cxx_locks_are_counted", "g++") {
        return;
    }
    let program = compiled_by("g++", include_str!("made.cc"), &[]);
    let area = Area::new(1);
    assert_eq!(area.run(&program, &[]), "40000 thrown\n");
    let place = area.place(0);
    let most = |kind| {
        Queries::locks(&*place, kind).iter().map(|(number, _)| place.totals(*number).acquisitions).max().unwrap_or(0)
    };
    assert!(most(Kind::Mutex) >= 40_000, "{}", most(Kind::Mutex));
    assert!(most(Kind::Condition) >= 1);
}
