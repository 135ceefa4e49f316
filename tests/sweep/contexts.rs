//! Programs see the same from a snapshot in all contexts: arguments, environment, limits, signals, locale, time zone,
//! streams, namespaces. The contexts, and whether a snapshot may be used in them, are in `testdata/warm/contexts.tsv`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::STEADY;
use crate::lines::{self, Line};
use crate::round::{Outcome, Sandbox, difference};
use crate::steady::{scratch, skip};
use crate::swapped::within;

/// Creates a sandbox with the two test programs and a snapshot of the first. Returns it with the command lines that can
/// run here. Returns `None`, after reporting a skip, without a compiler.
fn prepared(test: &str) -> Option<(Sandbox, Vec<Line>)> {
    let sandbox = Sandbox::with_files(&scratch(test));
    for program in ["probe", "ways"] {
        if let Err(why) = sandbox.compile(program, &[]) {
            skip(test, &why);
            return None;
        }
    }
    let probe = sandbox.root().join("bin/probe");
    let has_snapshot = || sandbox.snapshot(Path::new(STEADY), &[probe.to_str().unwrap()]).0 == 0;
    assert!(within(10, has_snapshot), "{:?}", sandbox.programs(Path::new(STEADY)));
    let (here, elsewhere) = lines::read("contexts").into_iter().partition(can_be_run);
    for line in elsewhere as Vec<Line> {
        skip(test, &format!("a program or root is missing for: {}", line.text));
    }
    Some((sandbox, here))
}

/// Returns whether the programs of a command line are installed, and the privileges for it are available.
fn can_be_run(line: &Line) -> bool {
    const NEED_ROOT: [&str; 4] = ["unshare", "setpriv", "chroot", "chrt"];
    let words = line.text.split([' ', ';', '(', '|', '&']).collect::<BTreeSet<_>>();
    let needs_root = NEED_ROOT.iter().any(|name| words.contains(name));
    let tools = [
        "unshare",
        "setpriv",
        "chrt",
        "taskset",
        "setarch",
        "strace",
        "make",
        "perl",
        "awk",
        "flock",
        "/usr/bin/python3",
    ];
    let missing = tools
        .iter()
        .any(|tool| words.contains(tool) && lines::found(tool.rsplit('/').next().unwrap_or(tool)).is_none());
    !missing && (!needs_root || rustix::process::geteuid().is_root())
}

#[test]
fn programs_see_the_same_in_all_contexts() {
    let Some((sandbox, lines)) = prepared("programs_see_the_same_in_all_contexts") else { return };
    for locale in ["C", "C.UTF-8"] {
        let usual = sandbox.run(&lines, locale, None);
        let again = sandbox.run(&lines, locale, None);
        for round in 0..3 {
            let warm = sandbox.run(&lines, locale, Some(Path::new(STEADY)));
            let mut wrong = Vec::new();
            for (number, line) in lines.iter().enumerate() {
                let (usual, again, warm) = (&usual[number], &again[number], &warm[number]);
                wrong.extend(
                    difference(line, usual, again).map(|text| format!("a second time without snapshots: {text}")),
                );
                wrong.extend(difference(line, usual, warm));
                wrong.extend(wrong_start(line, usual, warm, round));
            }
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}

/// Describes a launch that used a snapshot and should not have, or the reverse.
fn wrong_start(line: &Line, usual: &Outcome, warm: &Outcome, round: usize) -> Option<String> {
    let all = |how: &str| warm.starts.iter().all(|start| start == how);
    let expected = match line.program.as_str() {
        // In the first round a name may be new. It has a snapshot from the second round on.
        "warm" => (all("warm") || round == 0) && !warm.starts.is_empty(),
        "usual" => all("usual") && !warm.starts.is_empty(),
        "any" => true,
        other => panic!("unknown kind of start: {other}"),
    };
    let expected =
        expected && usual.starts.iter().all(|start| start == "usual") && usual.starts.len() == warm.starts.len();
    (!expected).then(|| format!("{}: {}: started {:?}", line.program, line.text, warm.starts))
}

/// Some addresses must be random at each launch, and others are fixed by the snapshot.
#[test]
fn addresses_are_random_at_each_launch() {
    const RANDOM: [&str; 6] = ["stack", "mmap", "vdso", "brk", "canary", "guard"];
    let Some((sandbox, _)) = prepared("addresses_are_random_at_each_launch") else { return };
    let script = "for i in $(seq 40); do $P addresses; done";
    let mut command = sandbox.command(STEADY, "C");
    let output = command.args(["warm", "--", "bash", "-c", script]).output().expect("steady starts");
    let text = String::from_utf8(output.stdout).expect("the output is UTF-8");
    let starts = std::fs::read_to_string(sandbox.root().join("log")).expect("the program writes a log");
    assert_eq!(starts.lines().filter(|start| *start == "warm").count(), 40, "{starts}");
    let values = |name: &str| -> BTreeSet<&str> {
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(kind, _)| *kind == name)
            .map(|(_, value)| value)
            .collect()
    };
    for name in RANDOM {
        assert!(values(name).len() >= 39, "{name}: {:?}", values(name));
    }
    for name in ["program", "library"] {
        assert_eq!(
            values(name).len(),
            2,
            "the addresses are not fixed by the two snapshots: {name} {:?}",
            values(name)
        );
    }
    let (program, library) = (values("program"), values("library"));
    let probe = sandbox.root().join("bin/probe");
    assert_eq!(sandbox.snapshot(Path::new(STEADY), &[probe.to_str().unwrap()]).0, 0);
    let mut command = sandbox.command(STEADY, "C");
    let output = command.args(["warm", "--", "bash", "-c", script]).output().expect("steady starts");
    let addresses = String::from_utf8(output.stdout).expect("the output is UTF-8");
    for old in program.iter().chain(&library) {
        assert!(!addresses.contains(*old), "{old} is also in the new snapshot");
    }
}
