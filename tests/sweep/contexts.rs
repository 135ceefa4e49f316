//! However a program is started, it sees what it sees as usual: arguments, environment, limits, signals, locale, time zone,
//! streams, namespaces; from a snapshot where one may be used, and as usual where not. `testdata/warm/contexts.tsv` has the
//! ways.

use std::collections::BTreeSet;
use std::path::Path;

use crate::STEADY;
use crate::lines::{self, Line};
use crate::round::{Done, Place, difference};
use crate::steady::{scratch, skip};
use crate::swapped::within;

/// A place with the made programs, the first of them warm; and the lines whose programs there are here.
fn prepared(test: &str) -> Option<(Place, Vec<Line>)> {
    let place = Place::make(&scratch(test));
    for program in ["probe", "ways"] {
        if let Err(why) = place.compile(program, &[]) {
            skip(test, &why);
            return None;
        }
    }
    let probe = place.root().join("bin/probe");
    let taken = || place.snapshot(Path::new(STEADY), &[probe.to_str().unwrap()]).0 == 0;
    assert!(within(10, taken), "{:?}", place.kept(Path::new(STEADY)));
    let (here, elsewhere) = lines::read("contexts").into_iter().partition(can_be_run);
    for line in elsewhere as Vec<Line> {
        skip(test, &format!("a program or root is missing for: {}", line.text));
    }
    Some((place, here))
}

/// Whether the programs are there that the line begins with, and root where it takes root.
fn can_be_run(line: &Line) -> bool {
    const OF_ROOT: [&str; 4] = ["unshare", "setpriv", "chroot", "chrt"];
    let rest = line.text.split([' ', ';', '(', '|', '&']).collect::<BTreeSet<_>>();
    let takes_root = OF_ROOT.iter().any(|name| rest.contains(name));
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
    let missing =
        tools.iter().any(|tool| rest.contains(tool) && lines::found(tool.rsplit('/').next().unwrap_or(tool)).is_none());
    !missing && (!takes_root || rustix::process::geteuid().is_root())
}

#[test]
fn however_it_is_started() {
    let Some((place, lines)) = prepared("however_it_is_started") else { return };
    for locale in ["C", "C.UTF-8"] {
        let usual = place.run(&lines, locale, None);
        let again = place.run(&lines, locale, None);
        for round in 0..3 {
            let warm = place.run(&lines, locale, Some(Path::new(STEADY)));
            let mut wrong = Vec::new();
            for (number, line) in lines.iter().enumerate() {
                let (usual, again, warm) = (&usual[number], &again[number], &warm[number]);
                wrong.extend(difference(line, usual, again).map(|told| format!("as usual, a second time: {told}")));
                wrong.extend(difference(line, usual, warm));
                wrong.extend(started_wrongly(line, usual, warm, round));
            }
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}

/// Whether it was started in another way than the table says.
fn started_wrongly(line: &Line, usual: &Done, warm: &Done, round: usize) -> Option<String> {
    let all = |how: &str| warm.starts.iter().all(|start| start == how);
    let right = match line.program.as_str() {
        // What is named anew is known by its name from the second time on.
        "warm" => (all("warm") || round == 0) && !warm.starts.is_empty(),
        "usual" => all("usual") && !warm.starts.is_empty(),
        "any" => true,
        other => panic!("no way to be started: {other}"),
    };
    let right = right && usual.starts.iter().all(|start| start == "usual") && usual.starts.len() == warm.starts.len();
    (!right).then(|| format!("{}: {}: started {:?}", line.program, line.text, warm.starts))
}

/// The addresses that must be drawn anew by each launch, and those that a snapshot fixes.
#[test]
fn addresses_are_drawn_at_each_launch() {
    const FRESH: [&str; 6] = ["stack", "mmap", "vdso", "brk", "canary", "guard"];
    let Some((place, _)) = prepared("addresses_are_drawn_at_each_launch") else { return };
    let script = "for i in $(seq 40); do $P addresses; done";
    let mut command = place.command(STEADY, "C");
    let told = command.args(["warm", "--", "bash", "-c", script]).output().expect("steady starts");
    let text = String::from_utf8(told.stdout).expect("it prints text");
    let starts = std::fs::read_to_string(place.root().join("log")).expect("it notes how it was started");
    assert_eq!(starts.lines().filter(|start| *start == "warm").count(), 40, "{starts}");
    let values = |name: &str| -> BTreeSet<&str> {
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(kind, _)| *kind == name)
            .map(|(_, value)| value)
            .collect()
    };
    for name in FRESH {
        assert!(values(name).len() >= 39, "{name}: {:?}", values(name));
    }
    for name in ["program", "library"] {
        assert_eq!(values(name).len(), 2, "two snapshots, each with its own: {name} {:?}", values(name));
    }
    let (program, library) = (values("program"), values("library"));
    let probe = place.root().join("bin/probe");
    assert_eq!(place.snapshot(Path::new(STEADY), &[probe.to_str().unwrap()]).0, 0);
    let mut command = place.command(STEADY, "C");
    let told = command.args(["warm", "--", "bash", "-c", script]).output().expect("steady starts");
    let anew = String::from_utf8(told.stdout).expect("it prints text");
    for old in program.iter().chain(&library) {
        assert!(!anew.contains(*old), "{old} was drawn anew");
    }
}
