//! Runs programs that are installed on this machine.

use super::{Snapshots, found, skip, text};

const C: &[(&str, &str)] = &[("PATH", "/usr/bin:/bin"), ("LC_ALL", "C")];
const UTF_8: &[(&str, &str)] = &[("PATH", "/usr/bin:/bin"), ("LC_ALL", "C.UTF-8"), ("TZ", "Asia/Tokyo")];

/// A program, its arguments and its input.
type Case = (&'static str, &'static [&'static str], &'static str);

/// Runs each of these from snapshots and as usual, and compares the outputs.
fn same(test: &str, all: &[Case]) {
    let mut last: Option<(&str, Snapshots)> = None;
    for (name, arguments, input) in all {
        if last.as_ref().is_none_or(|(previous, _)| previous != name) {
            let Some(program) = found(name) else {
                skip(test, format!("{name} is not installed"));
                continue;
            };
            last = Some((name, Snapshots::of(&program)));
        }
        for environment in [C, UTF_8, &[]] {
            last.iter().for_each(|(_, snapshots)| drop(snapshots.same(environment, arguments, input)));
        }
    }
}

#[test]
fn small_programs_do_the_same_from_snapshots() {
    same(
        "small_programs_do_the_same_from_snapshots",
        &[
            ("true", &[], ""),
            ("false", &[], ""),
            ("cat", &[], "hello\n"),
            ("cat", &["/etc/passwd", "/nonexistent"], ""),
            ("sort", &["-r"], "b\na\nc\nä\n"),
            ("sort", &["--parallel=2", "--no-such-option"], ""),
            ("grep", &["-n", "[[:alpha:]]ö"], "aö\nx\n"),
            ("sed", &["s/./y/2"], "äöü\n"),
            ("ls", &["-la", "/etc"], ""),
            ("date", &["-d", "@0"], ""),
            ("wc", &["-m"], "äöü\n"),
            ("env", &["-i", "A=1", "env"], ""),
        ],
    );
}

#[test]
fn interpreters_do_the_same_from_snapshots() {
    same(
        "interpreters_do_the_same_from_snapshots",
        &[
            (
                "bash",
                &["-c", "for i in 1 2 3; do echo $i $(( i * 2 )); done; /bin/echo $0 \"$@\"; exit 3", "name", "a"],
                "",
            ),
            ("bash", &["-c", "ulimit -s; kill -TERM $$"], ""),
            ("dash", &["-c", "read x; echo $x | cat; false"], "in\n"),
            ("perl", &["-e", "use POSIX; use Socket; print floor(3.7), sprintf('%.3f', 1/3), \"\\n\"; die 'so'"], ""),
            (
                "python3",
                &[
                    "-c",
                    "import ctypes, threading, ssl, sqlite3\n\
                t = [threading.Thread(target=lambda: b''.join([b'x'] * 100000)) for _ in range(8)]\n\
                [x.start() for x in t]; [x.join() for x in t]\nprint(ctypes.CDLL(None).getppid() > 0, 'ä')",
                ],
                "",
            ),
            ("git", &["--version"], ""),
            ("openssl", &["sha256"], "text"),
            ("iconv", &["-f", "UTF-8", "-t", "ISO-8859-1"], "äöü"),
            ("xz", &["-T2", "-c"], "text to be packed"),
        ],
    );
}

#[test]
fn none_of_many_launches_fails() {
    let Some(program) = found("cat") else { return skip("none_of_many_launches_fails", "cat is not installed") };
    let snapshots = Snapshots::of(&program);
    for launch in 0..1000 {
        let file = &snapshots.files()[launch % 2];
        let output = super::run(file, &program, C, &["/etc/hostname"], "");
        assert!(output.status.success(), "launch {launch}: {}: {}", output.status, text(&output.stderr));
    }
}
