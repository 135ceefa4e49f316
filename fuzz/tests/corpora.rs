//! Gives what fuzzers found, and what testdata has, to the functions that they tried to break.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files below a folder; none where it is missing.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("a folder can be read").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Gives `target` all of its corpus and of these folders of testdata, of which there must be some files.
fn replay(name: &str, target: fn(&[u8]), seeds: &[&str]) {
    let mut folders = vec![root().join("fuzz/corpus").join(name)];
    folders.extend(seeds.iter().map(|seed| root().join("testdata").join(seed)));
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| files(folder)).collect();
    assert!(!files.is_empty(), "nothing to replay for {name}");
    for file in files {
        eprintln!("{}", file.display());
        target(&fs::read(&file).expect("a file can be read"));
    }
}

#[test]
fn reports() {
    replay("reports", steady_fuzz::reports, &["reports"]);
}

#[test]
fn log() {
    replay("log", steady_fuzz::log, &[]);
}

#[test]
fn kernel() {
    replay("kernel", steady_fuzz::kernel, &["trees", "netlink"]);
}

#[test]
fn cards() {
    replay("cards", steady_fuzz::cards, &[]);
}

#[test]
fn datagrams() {
    replay("datagrams", steady_fuzz::datagrams, &[]);
}

#[test]
fn areas() {
    replay("areas", steady_fuzz::areas, &[]);
}

#[test]
fn answers() {
    replay("answers", steady_fuzz::answers, &["fleet"]);
}

/// The seeds are cards of the present format, so that the fuzzer begins with what is accepted.
#[test]
fn seeds_of_cards_are_cards() {
    for name in ["refused", "script-s", "true", "with-hook"] {
        let bytes = std::fs::read(root().join("fuzz/corpus/cards").join(name)).expect("it is there");
        assert!(steady_preload::card::Card::parse(&bytes).is_some(), "{name}");
    }
}
