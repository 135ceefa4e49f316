//! Programs started from their snapshots do what they do as usual: output, errors, status and files, on the command lines
//! of `testdata/warm`.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::STEADY;
use crate::lines::{self, Line, PACKAGES, TABLES};
use crate::round::{Done, Place, difference};
use crate::steady::{at_length, scratch, skip};
use crate::store::Kept;

/// Programs that may be refused, and a part of why. All others of the tables must have snapshots.
const REFUSED: [(&str, &str); 1] = [("ldconfig", "static")];

/// Packages of another release, or of another choice of packages, bring programs that no table knows: these are listed. The
/// tables must have lines for nearly all programs.
#[test]
fn nearly_every_program_of_the_packages_has_lines() {
    let test = "nearly_every_program_of_the_packages_has_lines";
    let known: BTreeSet<String> = TABLES.iter().flat_map(|name| lines::read(name)).map(|line| line.program).collect();
    let programs: BTreeSet<String> = PACKAGES.iter().flat_map(|package| lines::programs_of(package)).collect();
    if programs.is_empty() {
        return skip(test, "no package of Debian's is installed here");
    }
    let unknown = |name: &&String| !known.contains(*name) && !is_another_name(name, &known);
    let without: Vec<&str> = programs.iter().filter(unknown).map(String::as_str).collect();
    assert!(20 * without.len() <= programs.len(), "of {} programs no line starts {without:?}", programs.len());
    if !without.is_empty() {
        skip(test, &format!("no line starts {}", without.join(", ")));
    }
}

/// Whether a program is one of these by another name: a hard link.
fn is_another_name(name: &str, known: &BTreeSet<String>) -> bool {
    let file = |name: &str| {
        let about = std::fs::metadata(lines::found(name)?).ok()?;
        Some((about.dev(), about.ino()))
    };
    file(name).is_some_and(|found| known.iter().any(|other| file(other) == Some(found)))
}

/// Runs a table as usual and from snapshots. At length these are all lines in both locales, twice as usual, which must be the
/// same already, and three times from snapshots. Otherwise it runs all lines in UTF-8 and every fifth in C, once as usual and
/// twice from snapshots.
fn sweep(name: &str) {
    let (test, steady) = (format!("sweep of {name}"), Path::new(STEADY));
    let lines = on_this_machine(&test, lines::table(name));
    let place = Place::make(&scratch(&format!("sweep-{name}")));
    let kept = take(&place, &lines);
    for locale in ["C.UTF-8", "C"] {
        let step = if at_length() || locale == "C.UTF-8" { 1 } else { 5 };
        let lines: Vec<Line> = lines.iter().step_by(step).cloned().collect();
        let usual = place.run(&lines, locale, None);
        if at_length() {
            same(&lines, &usual, &place.run(&lines, locale, None), "as usual, a second time");
        }
        // What is called by another name than before, as scripts' interpreters are, gets its snapshots by that name.
        same(&lines, &usual, &place.run(&lines, locale, Some(steady)), "with the hook, the first time");
        place.settle(steady);
        let (rounds, before) = (if at_length() { 2 } else { 1 }, place.kept(steady));
        for _ in 0..rounds {
            same(&lines, &usual, &place.run(&lines, locale, Some(steady)), "from snapshots");
        }
        started(&lines, rounds, &kept, &before, &place.kept(steady));
    }
}

/// The lines of programs that there are here.
fn on_this_machine(test: &str, lines: Vec<Line>) -> Vec<Line> {
    let (here, missing): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| lines::found(&line.program).is_some());
    let missing: BTreeSet<_> = missing.into_iter().map(|line| line.program).collect();
    if !missing.is_empty() {
        skip(test, &format!("not on this machine: {}", missing.into_iter().collect::<Vec<_>>().join(", ")));
    }
    here
}

/// Has all programs of the lines taken; what is kept of each, where interpreters stand for their scripts.
fn take(place: &Place, lines: &[Line]) -> BTreeMap<String, (PathBuf, Kept)> {
    let steady = Path::new(STEADY);
    let names: BTreeSet<&str> = lines.iter().map(|line| line.program.as_str()).collect();
    let mut kept = BTreeMap::new();
    for name in names {
        let path = lines::found(name).expect("it was found before");
        let (_, told) = place.snapshot(steady, &[path.to_str().expect("paths are text")]);
        let (mut path, mut told) = (path, told.into_iter().next().expect("one is told of"));
        if told.state == "script" {
            path = PathBuf::from(&told.interpreter);
            let (_, of_interpreter) = place.snapshot(steady, &[&told.interpreter]);
            told = of_interpreter.into_iter().next().expect("one is told of");
        }
        let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
        match refused {
            Some((_, why)) => assert!(told.state == "refused" && told.reason.contains(why), "{name}: {told:?}"),
            None => assert_eq!(told.state, "warm", "{name}: {told:?}"),
        }
        kept.insert(name.to_owned(), (path.canonicalize().expect("it is there"), told));
    }
    kept
}

fn same(lines: &[Line], usual: &[Done], other: &[Done], how: &str) {
    let different: Vec<String> = lines
        .iter()
        .zip(usual.iter().zip(other))
        .filter_map(|(line, (usual, other))| difference(line, usual, other))
        .collect();
    assert!(different.is_empty(), "{how}:\n{}", different.join("\n"));
}

/// Every line has started its program from a snapshot, each time.
fn started(
    lines: &[Line],
    rounds: u64,
    kept: &BTreeMap<String, (PathBuf, Kept)>,
    before: &BTreeMap<String, Kept>,
    after: &BTreeMap<String, Kept>,
) {
    let mut least: BTreeMap<&Path, u64> = BTreeMap::new();
    for line in lines {
        let (path, told) = &kept[&line.program];
        if told.state == "warm" {
            *least.entry(path).or_default() += rounds;
        }
    }
    let launches = |all: &BTreeMap<String, Kept>, path: &Path| {
        all.get(path.to_str().unwrap_or_default()).map_or(0, |kept| kept.warm)
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
fn coreutils_do_what_they_do_as_usual() {
    sweep("coreutils");
}

#[test]
fn text_tools_do_what_they_do_as_usual() {
    sweep("text");
}

#[test]
fn archivers_do_what_they_do_as_usual() {
    sweep("archives");
}

#[test]
fn perl_does_what_it_does_as_usual() {
    sweep("perl");
}

#[test]
fn python_does_what_it_does_as_usual() {
    sweep("python");
}

#[test]
fn git_does_what_it_does_as_usual() {
    sweep("git");
}

#[test]
fn shells_and_scripts_do_what_they_do_as_usual() {
    sweep("shells");
}

#[test]
fn openssl_does_what_it_does_as_usual() {
    sweep("openssl");
}

#[test]
fn charsets_and_other_programs_do_what_they_do_as_usual() {
    sweep("locales");
}
