//! Programs have the same output, errors, status and files from snapshots and without, on the command lines of
//! `testdata/warm`.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::STEADY;
use crate::lines::{self, Line, PACKAGES, TABLES};
use crate::round::{Outcome, Sandbox, difference};
use crate::steady::{at_length, scratch, skip};
use crate::store::ProgramStatus;

/// Programs that must be refused, and a part of the reason. All other programs of the tables must get snapshots.
const REFUSED: [(&str, &str); 1] = [("ldconfig", "static")];

/// Lists installed programs of the packages without command lines as skipped, because other releases have programs that
/// are not in the tables. With `./test --all`, at least 95 % of the programs must have command lines.
#[test]
fn nearly_every_program_of_the_packages_has_lines() {
    let test = "nearly_every_program_of_the_packages_has_lines";
    let known: BTreeSet<String> = TABLES.iter().flat_map(|name| lines::read(name)).map(|line| line.program).collect();
    let programs: BTreeSet<String> = PACKAGES.iter().flat_map(|package| lines::programs_of(package)).collect();
    if programs.is_empty() {
        return skip(test, "no Debian package is installed here");
    }
    let unknown = |name: &&String| !known.contains(*name) && !is_another_name(name, &known);
    let without: Vec<&str> = programs.iter().filter(unknown).map(String::as_str).collect();
    assert!(
        !at_length() || 20 * without.len() <= programs.len(),
        "of {} programs these have no command line: {without:?}",
        programs.len()
    );
    if !without.is_empty() {
        skip(test, &format!("no command line for {}", without.join(", ")));
    }
}

/// Returns whether a program is the same file as one of the known programs.
fn is_another_name(name: &str, known: &BTreeSet<String>) -> bool {
    let file = |name: &str| {
        let about = std::fs::metadata(lines::found(name)?).ok()?;
        Some((about.dev(), about.ino()))
    };
    file(name).is_some_and(|found| known.iter().any(|other| file(other) == Some(found)))
}

/// Compares the lines of a table with snapshots and without. With `./test --all`, all lines run in both locales, twice
/// without snapshots and three times with them. Otherwise every second line of each program runs in UTF-8 and every fifth
/// of these in C, once without snapshots and twice with them.
fn assert_same_with_snapshots(name: &str) {
    let (test, steady) = (format!("table {name}"), Path::new(STEADY));
    let mut lines = on_this_machine(&test, lines::table(name));
    if !at_length() {
        lines = every_second(lines);
    }
    let sandbox = Sandbox::with_files(&scratch(&format!("sweep-{name}")));
    let programs = create_snapshots(&sandbox, &lines);
    for locale in ["C.UTF-8", "C"] {
        let step = if at_length() || locale == "C.UTF-8" { 1 } else { 5 };
        let lines: Vec<Line> = lines.iter().step_by(step).cloned().collect();
        let usual = sandbox.run(&lines, locale, None);
        if at_length() {
            assert_same(&lines, &usual, &sandbox.run(&lines, locale, None), "a second time without snapshots");
        }
        // Snapshots belong to a name. Programs that scripts start by another name request theirs in this round.
        assert_same(&lines, &usual, &sandbox.run(&lines, locale, Some(steady)), "the first time under steady warm");
        sandbox.settle(steady);
        let (rounds, before) = (if at_length() { 2 } else { 1 }, sandbox.programs(steady));
        for _ in 0..rounds {
            assert_same(&lines, &usual, &sandbox.run(&lines, locale, Some(steady)), "from snapshots");
        }
        assert_started_from_snapshots(&lines, rounds, &programs, &before, &sandbox.programs(steady));
    }
}

/// Returns the first, third, ... line of each program.
fn every_second(lines: Vec<Line>) -> Vec<Line> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let is_chosen = |line: &Line| {
        let count = seen.entry(line.program.clone()).or_default();
        *count += 1;
        *count % 2 == 1
    };
    lines.into_iter().filter(is_chosen).collect()
}

/// Returns the lines whose programs are installed; reports the others as skipped.
fn on_this_machine(test: &str, lines: Vec<Line>) -> Vec<Line> {
    let (here, missing): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| lines::found(&line.program).is_some());
    let missing: BTreeSet<_> = missing.into_iter().map(|line| line.program).collect();
    if !missing.is_empty() {
        skip(test, &format!("not on this machine: {}", missing.into_iter().collect::<Vec<_>>().join(", ")));
    }
    here
}

/// Creates snapshots of all programs of the lines. Returns the path and the status of each program; for a script, those
/// of its interpreter.
fn create_snapshots(sandbox: &Sandbox, lines: &[Line]) -> BTreeMap<String, (PathBuf, ProgramStatus)> {
    let steady = Path::new(STEADY);
    let names: BTreeSet<&str> = lines.iter().map(|line| line.program.as_str()).collect();
    let mut programs = BTreeMap::new();
    for name in names {
        let path = lines::found(name).expect("the program is installed");
        let (_, statuses) = sandbox.snapshot(steady, &[path.to_str().expect("the path is UTF-8")]);
        let (mut path, mut program) = (path, statuses.into_iter().next().expect("the report has the program"));
        if program.state == "script" {
            path = PathBuf::from(&program.interpreter);
            let (_, of_interpreter) = sandbox.snapshot(steady, &[&program.interpreter]);
            program = of_interpreter.into_iter().next().expect("the report has the interpreter");
        }
        let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
        match refused {
            Some((_, why)) => {
                assert!(program.state == "refused" && program.reason.contains(why), "{name}: {program:?}")
            }
            None => assert_eq!(program.state, "warm", "{name}: {program:?}"),
        }
        programs.insert(name.to_owned(), (path.canonicalize().expect("the program exists"), program));
    }
    programs
}

fn assert_same(lines: &[Line], usual: &[Outcome], other: &[Outcome], how: &str) {
    let different: Vec<String> = lines
        .iter()
        .zip(usual.iter().zip(other))
        .filter_map(|(line, (usual, other))| difference(line, usual, other))
        .collect();
    assert!(different.is_empty(), "{how}:\n{}", different.join("\n"));
}

/// Panics unless every line has started its program from a snapshot in each round.
fn assert_started_from_snapshots(
    lines: &[Line],
    rounds: u64,
    programs: &BTreeMap<String, (PathBuf, ProgramStatus)>,
    before: &BTreeMap<String, ProgramStatus>,
    after: &BTreeMap<String, ProgramStatus>,
) {
    let mut least: BTreeMap<&Path, u64> = BTreeMap::new();
    for line in lines {
        let (path, program) = &programs[&line.program];
        if program.state == "warm" {
            *least.entry(path).or_default() += rounds;
        }
    }
    let launches = |all: &BTreeMap<String, ProgramStatus>, path: &Path| {
        all.get(path.to_str().unwrap_or_default()).map_or(0, |program| program.warm)
    };
    let short: Vec<String> = least
        .iter()
        .map(|(path, least)| (path, least, launches(after, path) - launches(before, path)))
        .filter(|(_, least, launches)| launches < least)
        .map(|(path, least, launches)| format!("{}: {launches} of at least {least}", path.display()))
        .collect();
    assert!(short.is_empty(), "not started from snapshots often enough:\n{}", short.join("\n"));
}

#[test]
fn coreutils_are_the_same_from_snapshots() {
    assert_same_with_snapshots("coreutils");
}

#[test]
fn text_tools_are_the_same_from_snapshots() {
    assert_same_with_snapshots("text");
}

#[test]
fn archivers_are_the_same_from_snapshots() {
    assert_same_with_snapshots("archives");
}

#[test]
fn perl_is_the_same_from_snapshots() {
    assert_same_with_snapshots("perl");
}

#[test]
fn python_is_the_same_from_snapshots() {
    assert_same_with_snapshots("python");
}

#[test]
fn git_is_the_same_from_snapshots() {
    assert_same_with_snapshots("git");
}

#[test]
fn shells_and_scripts_are_the_same_from_snapshots() {
    assert_same_with_snapshots("shells");
}

#[test]
fn openssl_is_the_same_from_snapshots() {
    assert_same_with_snapshots("openssl");
}

#[test]
fn charsets_and_other_programs_are_the_same_from_snapshots() {
    assert_same_with_snapshots("locales");
}
