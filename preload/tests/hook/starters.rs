//! Programs that start others, in various ways.

use std::fs;
use std::process::Command;

use steady_preload::card::{FIRST_PROGRAM, Outcome};

use crate::fake::{Fake, is_installed};

/// Checks that this command starts the snapshot that many times.
fn starts_warm(times: u64, words: &[&str]) {
    let fake = Fake::new();
    let printed = fake.run(words);
    assert_eq!(printed, "warm a b\n".repeat(times as usize), "{words:?}");
    assert_eq!(fake.count(Outcome::Warm), times, "{words:?}");
    assert_eq!(fake.counter(FIRST_PROGRAM), times, "{words:?}");
    assert_eq!(fake.counter(FIRST_PROGRAM + 1), 0, "{words:?}");
}

#[test]
fn shells() {
    starts_warm(1, &["/bin/bash", "-c", "tool a b"]);
    starts_warm(4, &["/bin/bash", "-c", "tool a b; tool a b; (tool a b); tool a b | cat"]);
    starts_warm(1, &["/bin/bash", "-c", "exec tool a b"]);
    starts_warm(2, &["/bin/bash", "-c", "echo $(tool a b); x=1 tool a b"]);
    starts_warm(2, &["/bin/bash", "-c", "tool a b & wait; command tool a b"]);
    starts_warm(3, &["/bin/dash", "-c", "tool a b; tool a b; exec tool a b"]);
}

#[test]
fn busybox() {
    let shared = |path: &str| fs::read(path).is_ok_and(|bytes| bytes.windows(10).any(|part| part == b"ld-linux-x"));
    if !is_installed("busybox", "busybox") {
    } else if shared("/bin/busybox") {
        starts_warm(2, &["busybox", "sh", "-c", "tool a b; tool a b"]);
    } else {
        eprintln!("skipped: busybox: it is linked statically, so nothing can be preloaded");
    }
}

#[test]
fn programs_that_start_one() {
    starts_warm(1, &["env", "tool", "a", "b"]);
    starts_warm(1, &["env", "x=1", "tool", "a", "b"]);
    starts_warm(1, &["nice", "tool", "a", "b"]);
    starts_warm(1, &["timeout", "10", "tool", "a", "b"]);
    starts_warm(1, &["xargs", "tool", "a", "b"]);
    starts_warm(1, &["find", "bin", "-name", "tool", "-exec", "tool", "a", "b", ";"]);
    // From an empty environment too: the hook is in `env`.
    starts_warm(1, &["env", "-i", "./bin/tool", "a", "b"]);
}

#[test]
fn make() {
    if is_installed("make", "make") {
        let fake = Fake::new();
        fs::write(fake.folder.join("Makefile"), "all:\n\t@tool a b\n\t@tool a 'b'\n").unwrap();
        assert_eq!(fake.run(&["make", "-s"]), "warm a b\nwarm a b\n");
        assert_eq!(fake.count(Outcome::Warm), 2);
    }
}

#[test]
fn perl() {
    if is_installed("perl", "perl") {
        starts_warm(1, &["perl", "-e", "exit system('tool', 'a', 'b')"]);
        starts_warm(1, &["perl", "-e", "system('tool a b')"]);
        starts_warm(1, &["perl", "-e", "print `tool a b`"]);
        starts_warm(1, &["perl", "-e", "exec('tool', 'a', 'b')"]);
    }
}

#[test]
fn python() {
    let run = |extra: &str| format!("import subprocess\nsubprocess.run(['tool', 'a', 'b']{extra}, check=True)");
    if is_installed("python", "python3") {
        let python = python_itself();
        for extra in ["", ", close_fds=False", ", cwd='/'", ", start_new_session=True", ", preexec_fn=lambda: None"] {
            starts_warm(1, &[&python, "-c", &run(extra)]);
        }
        let spawn = "import os\nos.waitpid(os.posix_spawnp('tool', ['tool', 'a', 'b'], os.environ), 0)";
        starts_warm(1, &[&python, "-c", spawn]);
        starts_warm(1, &[&python, "-c", "import os\nos.execvp('tool', ['tool', 'a', 'b'])"]);
    }
}

/// Returns the path of the interpreter itself, not of a wrapper.
fn python_itself() -> String {
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable, end='')"]).output();
    String::from_utf8(found.expect("python3 starts").stdout).expect("the output is UTF-8")
}

#[test]
fn many_concurrent_starts() {
    let fake = Fake::new();
    let printed = fake.sh("for turn in 1 2 3 4; do for one in $(seq 50); do tool a b & done; wait; done");
    assert_eq!(printed, "warm a b\n".repeat(200));
    assert_eq!(fake.count(Outcome::Warm), 200);
}

#[test]
fn both_snapshots_are_used() {
    let fake = Fake::new();
    let second = fake.copies(&fake.tool).join("1/tool");
    fs::remove_file(&second).unwrap();
    crate::fake::copy_program(&crate::fake::COLD, &second);
    fake.accept_images(&fake.tool);
    let printed = fake.sh("for one in $(seq 60); do tool; done");
    // Each is selected 30 times on average. With fair coins, all 60 are equal once in 2^59 runs.
    assert!(printed.contains("warm\n") && printed.contains("cold\n"), "{printed}");
    assert_eq!(fake.count(Outcome::Warm), 60);
}
