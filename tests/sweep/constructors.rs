//! Constructors of libraries, which run before a snapshot is captured. Programs whose constructors have effects that a
//! snapshot cannot reproduce are refused with a reason. All others behave the same from a snapshot.

use std::fs;
use std::path::Path;

use crate::STEADY;
use crate::steady::{scratch, skip};
use crate::swapped::{Swapped, parse_line, within};

/// The kinds of constructors that must be refused, and a part of the reason.
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
    ("words", "the name that it was started by"),
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
    ("asked_mask", "signal mask"),
    ("asked_handler", "signal 2"),
    ("terminals", "/proc/sys/kernel/pty/nr"),
    ("one_byte", "no known reason"),
    ("called", "the name that it was started by"),
    ("launch_bytes", "random bytes"),
    ("called_short", "the name that it was started by"),
];

/// The kinds of constructors that must not be refused.
const ACCEPTED: [&str; 10] =
    ["read_file", "memory", "variable", "registered", "once", "own_path", "fast", "noted", "locale", "capabilities"];

/// Compiles the test program. Returns `None`, after reporting a skip, without a compiler.
fn compiled(test: &str) -> Option<Swapped> {
    Swapped::make(&scratch(test), Path::new(STEADY)).map_err(|why| skip(test, &why)).ok()
}

/// Attempts a snapshot of the program with this kind of constructor. Returns the state and the reason.
fn snapshot_with(swapped: &Swapped, kind: &str) -> (String, String) {
    swapped.constructed(kind, "bin/libanswer.so").unwrap();
    let mut found = None;
    let settled = within(20, || {
        let (status, programs) = swapped.sandbox.snapshot(Path::new(STEADY), &["bin/asks"]);
        found = programs.into_iter().next();
        status <= 1
    });
    let found = found.expect("the report has the program");
    assert!(settled, "{kind}: {found:?}");
    (found.state, found.reason)
}

#[test]
fn constructors_with_irreproducible_effects_are_refused() {
    let Some(swapped) = compiled("constructors_with_irreproducible_effects_are_refused") else { return };
    let mut wrong = Vec::new();
    for (kind, why) in REFUSED {
        let (state, reason) = snapshot_with(&swapped, kind);
        let refused = state == "refused";
        if state != "refused" || !reason.contains(why) {
            wrong.push(format!("{kind}: {state} {reason}"));
        }
        // The excluded kinds do not end normally, or print other lines.
        if refused && !["ends", "crashes", "hangs", "writes", "thread"].contains(&kind) {
            assert!(!swapped.launch().warm, "{kind}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn accepted_constructors_have_the_same_effect() {
    let Some(swapped) = compiled("accepted_constructors_have_the_same_effect") else { return };
    for kind in ACCEPTED {
        let (state, reason) = snapshot_with(&swapped, kind);
        assert_eq!(state, "warm", "{kind}: {reason}");
        let usual = swapped.sandbox.command(swapped.path("bin/asks"), "C.UTF-8").output().expect("the program starts");
        let usual = parse_line(String::from_utf8_lossy(&usual.stdout).trim());
        for _ in 0..4 {
            let warm = swapped.launch();
            assert!(warm.warm && warm.answer == usual.answer, "{kind}: {warm:?}, without a snapshot {usual:?}");
        }
    }
}

/// A snapshot is only used if a variable that a constructor has read is unchanged.
#[test]
fn a_variable_that_a_constructor_reads() {
    let Some(swapped) = compiled("a_variable_that_a_constructor_reads") else { return };
    assert_eq!(snapshot_with(&swapped, "variable").0, "warm");
    for (script, answer, warm) in [
        ("bin/asks", -1, true),
        ("STEADY_TEST=5 bin/asks", 5, false),
        ("STEADY_TEST= bin/asks", 0, false),
        ("STEADY_TES=5 STEADY_TEST_=6 bin/asks", -1, true),
        ("env STEADY_TEST=7 bin/asks", 7, false),
        ("env -i bin/asks", -1, true),
    ] {
        let line = swapped.sh(script);
        let launch = parse_line(line.trim());
        assert_eq!((launch.answer, launch.warm), (answer, warm), "{script}");
    }
}

/// The process id differs between launches, so a snapshot replaces it at each launch.
#[test]
fn the_process_id_is_replaced() {
    let Some(swapped) = compiled("the_process_id_is_replaced") else { return };
    assert_eq!(snapshot_with(&swapped, "process_number").0, "warm");
    let out = swapped.sh("bin/asks > out & wait $!; cat out; echo $!");
    let (line, number) = out.trim().split_once('\n').expect("two lines");
    let launch = parse_line(line);
    assert!(launch.warm && launch.answer.to_string() == number, "{out}");
}

/// Programs with additional privileges and unsupported file formats.
#[test]
fn files_that_are_refused() {
    let test = "files_that_are_refused";
    let Some(swapped) = compiled(test) else { return };
    let refused = |path: &str, why: &str| {
        let (mut status, mut programs) = (125, Vec::new());
        // The child of a concurrent fork in this process may still have the file open for writing.
        within(20, || {
            (status, programs) = swapped.sandbox.snapshot(Path::new(STEADY), &[path]);
            status <= 1
        });
        assert!(
            status == 1 && programs[0].state == "refused" && programs[0].reason.contains(why),
            "{path}: {status} {programs:?}"
        );
        assert!(!swapped.sh(&format!("{path} 2>/dev/null")).contains("warm"), "{path}");
    };
    let prepared = |name: &str, script: &str| {
        fs::copy(swapped.path("bin/asks"), swapped.path(&format!("bin/{name}"))).unwrap();
        let done = swapped.sandbox.command("sh", "C").args(["-c", script]).output().expect("sh starts");
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
