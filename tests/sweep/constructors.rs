//! What libraries may do before their program is entered: what would make a snapshot say something else than a launch as
//! usual is refused, with the reason; the rest is the same.

use std::fs;
use std::path::Path;

use crate::STEADY;
use crate::steady::{scratch, skip};
use crate::swapped::{Swapped, told, within};

/// What a constructor does that must be refused, and a part of the reason.
const REFUSED: [(&str, &str); 46] = [
    ("thread", ""),
    ("joined_thread", ""),
    ("open_file", "open"),
    ("shared_map", "share"),
    ("opened_socket", "socket"),
    ("parent_number", "getppid"),
    ("moment", "time"),
    ("moment_of_day", "time"),
    ("monotonic", "time"),
    ("drawn", "random"),
    ("affinity", "sched_getaffinity"),
    ("terminal", ""),
    ("folder", "getcwd"),
    ("user", "getuid"),
    ("limit", "limit"),
    ("mask", "umask"),
    ("handler", "signal"),
    ("blocked", "signal"),
    ("alternative_stack", "sigaltstack"),
    ("named", "prctl"),
    ("timer", "alarm"),
    ("forked", "clone"),
    ("writes", "write"),
    ("ends", "status 7"),
    ("crashes", "signal"),
    ("hangs", "nanosleep"),
    ("reads_input", "stream"),
    ("words", "the name that it is called by"),
    ("own_maps", "/proc/self/maps"),
    ("locked_memory", "mlock"),
    ("processor", "getcpu"),
    ("counted", "no known reason"),
    ("first_process", "no known reason"),
    ("group", "no known reason"),
    ("capability", "no known reason"),
    ("hard_limit", "no known reason"),
    ("position", "streams"),
    ("inherited", "descriptor 7"),
    ("descriptor", "no known reason"),
    ("asked_mask", "held back"),
    ("asked_handler", "signal 2"),
    ("terminals", "/proc/sys/kernel/pty/nr"),
    ("one_byte", "no known reason"),
    ("called", "the name that it is called by"),
    ("launch_bytes", "random bytes"),
    ("called_short", "the name that it is called by"),
];

/// What it may do.
const KEPT: [&str; 10] =
    ["read_file", "memory", "variable", "registered", "once", "own_path", "fast", "noted", "locale", "capabilities"];

fn made(test: &str) -> Option<Swapped> {
    Swapped::make(&scratch(test), Path::new(STEADY)).map_err(|why| skip(test, &why)).ok()
}

/// Has the program taken with a library whose constructor does that; the state, and the reason.
fn taken(swapped: &Swapped, kind: &str) -> (String, String) {
    swapped.constructed(kind, "bin/libanswer.so").unwrap();
    let mut found = None;
    let settled = within(20, || {
        let (status, kept) = swapped.place.snapshot(Path::new(STEADY), &["bin/asks"]);
        found = kept.into_iter().next();
        status <= 1
    });
    let found = found.expect("one program is told of");
    assert!(settled, "{kind}: {found:?}");
    (found.state, found.reason)
}

#[test]
fn what_may_not_be_kept_is_refused() {
    let Some(swapped) = made("what_may_not_be_kept_is_refused") else { return };
    let mut wrong = Vec::new();
    for (kind, why) in REFUSED {
        let (state, reason) = taken(&swapped, kind);
        let refused = state == "refused";
        if state != "refused" || !reason.contains(why) {
            wrong.push(format!("{kind}: {state} {reason}"));
        }
        // It ends by itself, and prints nothing that can be foreseen.
        if refused && !["ends", "crashes", "hangs", "writes", "thread"].contains(&kind) {
            assert!(!swapped.ask().warm, "{kind}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_may_be_kept_is_the_same() {
    let Some(swapped) = made("what_may_be_kept_is_the_same") else { return };
    for kind in KEPT {
        let (state, reason) = taken(&swapped, kind);
        assert_eq!(state, "warm", "{kind}: {reason}");
        let usual = swapped.place.command(swapped.path("bin/asks"), "C.UTF-8").output().expect("it starts");
        let usual = told(String::from_utf8_lossy(&usual.stdout).trim());
        for _ in 0..4 {
            let warm = swapped.ask();
            assert!(warm.warm && warm.answer == usual.answer, "{kind}: {warm:?}, as usual {usual:?}");
        }
    }
}

/// A variable that a constructor asked for is a condition.
#[test]
fn a_variable_that_was_asked_for() {
    let Some(swapped) = made("a_variable_that_was_asked_for") else { return };
    assert_eq!(taken(&swapped, "variable").0, "warm");
    for (script, answer, warm) in [
        ("bin/asks", -1, true),
        ("STEADY_TEST=5 bin/asks", 5, false),
        ("STEADY_TEST= bin/asks", 0, false),
        ("STEADY_TES=5 STEADY_TEST_=6 bin/asks", -1, true),
        ("env STEADY_TEST=7 bin/asks", 7, false),
        ("env -i bin/asks", -1, true),
    ] {
        let line = swapped.sh(script);
        let told = told(line.trim());
        assert_eq!((told.answer, told.warm), (answer, warm), "{script}");
    }
}

/// The number of its process is another at each launch, and so made anew.
#[test]
fn the_number_of_its_process() {
    let Some(swapped) = made("the_number_of_its_process") else { return };
    assert_eq!(taken(&swapped, "process_number").0, "warm");
    let out = swapped.sh("bin/asks > out & wait $!; cat out; echo $!");
    let (line, number) = out.trim().split_once('\n').expect("two lines");
    let told = told(line);
    assert!(told.warm && told.answer.to_string() == number, "{out}");
}

/// Programs whose rights or kind speak against it.
#[test]
fn programs_that_are_refused_by_their_file() {
    let test = "programs_that_are_refused_by_their_file";
    let Some(swapped) = made(test) else { return };
    let refused = |path: &str, why: &str| {
        let (mut status, mut kept) = (125, Vec::new());
        // While another test starts something, its child may have the file open for a moment, as who wrote it.
        within(20, || {
            (status, kept) = swapped.place.snapshot(Path::new(STEADY), &[path]);
            status <= 1
        });
        assert!(status == 1 && kept[0].state == "refused" && kept[0].reason.contains(why), "{path}: {status} {kept:?}");
        assert!(!swapped.sh(&format!("{path} 2>/dev/null")).contains("warm"), "{path}");
    };
    let prepared = |name: &str, script: &str| {
        fs::copy(swapped.path("bin/asks"), swapped.path(&format!("bin/{name}"))).unwrap();
        let done = swapped.place.command("sh", "C").args(["-c", script]).output().expect("there is a shell");
        if !done.status.success() {
            skip(test, &format!("{name}: {}", String::from_utf8_lossy(&done.stderr).trim()));
        }
        done.status.success()
    };
    if prepared("setuid", "chmod u+s bin/setuid") {
        refused("bin/setuid", "setuid");
    }
    if prepared("setgid", "chmod g+s bin/setgid") {
        refused("bin/setgid", "setgid");
    }
    if prepared("capable", "setcap cap_net_raw+ep bin/capable") {
        refused("bin/capable", "capabilities");
    }
    if prepared("static", "echo 'int main(void) { return 0; }' | cc -static -xc - -o bin/static") {
        refused("bin/static", "static");
    }
    if prepared("stack", "echo 'int main(void) { return 0; }' | cc -z execstack -xc - -o bin/stack") {
        refused("bin/stack", "stack");
    }
    if prepared("text", "echo true > bin/text") {
        refused("bin/text", "neither");
    }
    if prepared("cut", "head -c 300 bin/asks > bin/cut") {
        refused("bin/cut", "");
    }
    if prepared("narrow", "echo 'int main(void) { return 0; }' | cc -m32 -xc - -o bin/narrow") {
        refused("bin/narrow", "64-bit");
    }
}
