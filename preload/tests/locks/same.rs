//! A program does what it does without the watcher: each result, each errno, each thread that is cancelled.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use steady_preload::area::VARIABLE;

use crate::watched::{Area, Asked, compiled, compiled_by, get, there_is};

/// What a command says on both streams, and how it ends.
fn whole(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
    format!("{text}{}", output.status)
}

#[test]
fn results_are_the_same() {
    let program = compiled(include_str!("same.c"));
    let without = whole(&mut Command::new(&program));
    assert!(without.ends_with("the first thread has ended\nexit status: 3"), "{without}");
    let area = Area::new(1);
    assert_eq!(whole(&mut area.command(&program)), without);
    // It was watched: each thread's end was seen but that of the one that sleeps, and nobody waits that has ended.
    let place = area.place(0);
    let all = place.threads();
    assert!(all.len() > 60, "{}", all.len());
    assert_eq!(all.iter().filter(|thread| get(&thread.ended) == 0).count(), 2);
    assert!(all.iter().all(|thread| get(&thread.ended) == 0 || get(&thread.waits_since) == 0));
    assert!(get(&place.process.ended) > 0);
}

/// What keeps the watcher from counting: the program runs all the same.
#[test]
fn where_nothing_can_be_counted_it_runs_as_it_is() {
    let program = compiled(include_str!("same.c"));
    let without = whole(&mut Command::new(&program));
    let area = Area::new(0);
    assert_eq!(whole(&mut area.command(&program)), without, "no place");
    assert_eq!(whole(area.command(&program).env_remove(VARIABLE)), without, "no variable");
    assert_eq!(whole(area.command(&program).env(VARIABLE, "/nothing")), without, "no file");
    assert_eq!(whole(area.command(&program).env(VARIABLE, "/dev/null")), without, "not mapped");
    assert_eq!(whole(area.command(&program).env(VARIABLE, "x".repeat(1000))), without, "too long");
    assert_eq!(whole(area.command(&program).env(VARIABLE, &program)), without, "another file");
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
fn cxx_locks_are_these() {
    if !there_is("cxx_locks_are_these", "g++") {
        return;
    }
    let program = compiled_by("g++", include_str!("made.cc"), &[]);
    let area = Area::new(1);
    assert_eq!(area.run(&program, &[]), "40000 thrown\n");
    let place = area.place(0);
    use steady_preload::area::Kind;
    let most = |kind| Asked::locks(&*place, kind).iter().map(|(number, _)| place.totals(*number).acquisitions).max().unwrap_or(0);
    assert!(most(Kind::Mutex) >= 40_000, "{}", most(Kind::Mutex));
    assert!(most(Kind::Condition) >= 1);
}
