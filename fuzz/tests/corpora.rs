//! Runs the functions of this crate on the inputs that fuzzers found and on files of testdata.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the files below a folder; none if the folder is missing.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("a folder can be read").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Runs `target` on its corpus and on these folders of testdata. Fails if there are no files.
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

/// Adds control characters to each string of each report in turn. None of them may reach an output unescaped.
#[test]
fn control_characters_in_reports_are_escaped() {
    let mut read = 0;
    for file in
        files(&root().join("testdata/reports")).iter().filter(|file| file.extension().is_some_and(|e| e == "json"))
    {
        let json = fs::read_to_string(file).expect("a file can be read");
        let value: serde_json::Value = serde_json::from_str(&json).expect("the file is JSON");
        // Readers compare some strings with others, or accept a few values only. Therefore one string is changed at a
        // time.
        let mut places = Vec::new();
        texts(&value, &mut String::new(), &mut places);
        for place in places {
            // The first two elements of each list are enough.
            if place.split('/').any(|step| step.parse::<u32>().is_ok_and(|index| index > 1)) {
                continue;
            }
            let mut changed = value.clone();
            let text = changed.pointer_mut(&place).expect("the pointer is valid");
            *text = serde_json::Value::from(format!("{}{HOSTILE}", text.as_str().unwrap_or_default()));
            eprintln!("{} {place}", file.display());
            steady_fuzz::reports(changed.to_string().as_bytes());
            read += 1;
        }
    }
    assert!(read > 100, "{read}");
}

const HOSTILE: &str = "\u{1b}[31mEVIL\u{1b}]0;t\u{7}\u{9b}\u{202e}\r\u{7f}\u{2066}\u{61c}";

/// Adds the JSON pointers of all strings in a JSON value to `places`.
fn texts(value: &serde_json::Value, place: &mut String, places: &mut Vec<String>) {
    let mut within = |step: &str, value| {
        let length = place.len();
        place.push('/');
        place.push_str(&step.replace('~', "~0").replace('/', "~1"));
        texts(value, place, places);
        place.truncate(length);
    };
    match value {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| within(name, value)),
        serde_json::Value::Array(all) => {
            all.iter().enumerate().for_each(|(index, value)| within(&index.to_string(), value));
        }
        serde_json::Value::String(_) => places.push(place.clone()),
        _ => {}
    }
}

/// In logs of earlier versions, fields have shorter names, and a command's variables are pairs.
#[test]
fn a_log_of_an_earlier_version_is_read() {
    let text = fs::read_to_string(root().join("fuzz/corpus/log/compare")).expect("a file can be read");
    let record = steady_process::log::read(&text).expect("the log has complete blocks");
    assert!(record.blocks.len() > 5 && record.plan.commands.len() == 2 && record.host.memory.is_ok());
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

/// The seeds have the current format, so the fuzzer starts with cards that the parser accepts.
#[test]
fn seeds_of_cards_are_cards() {
    for name in ["refused", "script-s", "true", "with-hook"] {
        let bytes = std::fs::read(root().join("fuzz/corpus/cards").join(name)).expect("the seed can be read");
        assert!(steady_preload::card::Card::parse(&bytes).is_some(), "{name}");
    }
}
