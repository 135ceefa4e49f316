//! `steady judge` on several files: repeated measurements of one comparison are joined into one verdict.

mod steady;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::Value;
use steady::{output_of, primary, run, scratch, steady, work};
use steady_render::{Style, terminal};

/// Measures a comparison `count` times and returns the paths of the exported files.
fn parts(name: &str, count: usize, options: &[&str], commands: [&str; 2]) -> Vec<String> {
    let part = |index: usize| {
        let file: PathBuf = scratch(&format!("{name}-{index}.json"));
        let file = file.to_str().unwrap().to_owned();
        let args = [&["compare", "--quiet", "--samples", "--export-json", &file], options, &commands].concat();
        let (status, _, stderr) = run(&args);
        assert_eq!(status, 0, "{stderr}");
        file
    };
    (0..count).map(part).collect()
}

fn judge(args: &[&str], files: &[String]) -> (i32, String, String) {
    run(&[&["judge"], args, &files.iter().map(String::as_str).collect::<Vec<_>>()].concat())
}

fn remove(files: &[String]) {
    files.iter().for_each(|file| fs::remove_file(file).unwrap());
}

#[test]
fn three_runs_are_joined_into_one_verdict() {
    let (less, more) = (work(1000), work(2000));
    // The layout must be turns: only these pairs show whether sources agree.
    let files = parts("three", 3, &["--metric", "cpu", "--layout", "turns", "--runs", "16"], [&less, &more]);
    let (status, text, stderr) = judge(&[], &files);
    assert_eq!(status, 0, "{stderr}");
    assert!(text.contains("3 sources joined") && text.contains("Verdict of each source by itself"), "{text}");
    assert!(text.contains("The sources agree") || text.contains("The sources differ"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    let (_, json, _) = judge(&["--format", "json"], &files);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["schema"], "steady.judge/1");
    let verdict = primary(&report);
    assert_eq!((&verdict["verdict"], &verdict["metric"]), (&"slower".into(), &"cpu".into()), "{verdict}");
    let sources = report["sources"].as_array().unwrap();
    let pairs: u64 = sources.iter().map(|source| primary(source)["pairs"].as_u64().unwrap()).sum();
    assert_eq!(verdict["pairs"], pairs);
    assert_eq!(sources.len(), 3);
    assert!(report["agreement"]["agree"].is_boolean(), "{}", report["agreement"]);
    for (source, file) in sources.iter().zip(&files) {
        let (_, alone, _) = judge(&["--format", "json"], std::slice::from_ref(file));
        let alone: Value = serde_json::from_str(&alone).unwrap();
        assert_eq!(primary(source), primary(&alone), "the verdict of a source differs from its own report");
        assert_eq!((&source["file"], &source["seed"]), (&Value::from(file.as_str()), &alone["seed"]));
    }

    let exported = scratch("joined.json");
    let name = exported.to_str().unwrap();
    assert_eq!(judge(&["--quiet", "--export-json", name], &files), (0, String::new(), String::new()));
    assert_eq!(fs::read_to_string(&exported).unwrap(), json);
    let (status, _, stderr) = run(&["judge", name]);
    assert_eq!(status, 2, "the joined report can be judged again");
    assert!(stderr.contains("steady.judge/1"), "{stderr}");
    fs::remove_file(exported).unwrap();

    let formats = [
        ("markdown", "| file | verdict |"),
        ("text", "3 sources joined"),
        ("csv", "file,command,name,metric,verdict,"),
    ];
    for (format, wanted) in formats {
        let (status, text, stderr) = judge(&["--format", format], &files);
        assert!(status == 0 && text.contains(wanted), "{format}: {text}{stderr}");
    }

    let mut input =
        steady().args(["judge", &files[0], "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    input.stdin.take().unwrap().write_all(&fs::read(&files[1]).unwrap()).unwrap();
    let (status, text, _) = output_of(input.wait_with_output().unwrap());
    assert!(status == 0 && text.contains("2 sources joined"), "{text}");
    remove(&files);
}

#[test]
fn fail_if_and_require_verdict_set_the_exit_status_of_a_join() {
    let (less, more) = (work(500), work(2000));
    // Without --metric, each run chooses its metric by how long its commands waited, and the runs may differ.
    let files = parts("gate", 2, &["--metric", "cpu", "--runs", "16"], [&less, &more]);
    assert_eq!(judge(&["--quiet"], &files).0, 0);
    assert_eq!(judge(&["--quiet", "--fail-if", "slower>5%"], &files).0, 1);
    assert_eq!(judge(&["--quiet", "--fail-if", "slower>5%"], &files[..1]).0, 1);
    assert_eq!(judge(&["--quiet", "--fail-if", "faster>5%"], &files).0, 0);
    remove(&files);
    let files = parts("few", 2, &["--metric", "cpu", "--runs", "2"], [&less, &more]);
    assert_eq!(judge(&["--quiet", "--require-verdict"], &files).0, 4);
    assert_eq!(judge(&["--quiet", "--require-verdict"], &files[1..]).0, 4);
    remove(&files);
    let files = parts("own", 2, &["--metric", "cpu", "--runs", "16", "--fail-if", "faster>1%"], [&less, &more]);
    let (status, _, stderr) = judge(&["--quiet"], &files);
    assert_eq!(status, 0, "{stderr}");
    remove(&files);
}

#[test]
fn files_that_cannot_be_joined_are_rejected_with_the_reason() {
    let files = parts("one", 2, &["--runs", "6"], ["true", "true"]);
    let others = parts("other", 1, &["--runs", "6", "--resolution", "2%"], ["true", "true"]);
    let refused = |args: &[&str], files: &[String], wanted: &str| {
        let (status, stdout, stderr) = judge(args, files);
        assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(wanted), "{stderr}");
    };
    refused(&[], &[files[0].clone(), others[0].clone()], "--resolution is 1% in");
    refused(&[], &[files[0].clone(), files[0].clone()], "one file");
    let copy = scratch("copy.json");
    fs::copy(&files[0], &copy).unwrap();
    refused(&[], &[files[0].clone(), copy.to_str().unwrap().to_owned()], "the same run");
    refused(&["--samples", "--format", "json"], &files, "--samples is for one comparison");
    refused(&["--export-svg", "/dev/null"], &files, "--export-svg is for load experiments");
    refused(&["--export-svg", "/dev/null"], &files[..1], "--export-svg is for load experiments");
    refused(&[], &[files[0].clone(), "/nonexistent.json".to_owned()], "/nonexistent.json");
    refused(&[], &["-".to_owned(), "-".to_owned()], "one file");
    fs::write(&copy, "{\"schema\": \"steady.judge/1\"}").unwrap();
    refused(&[], &[files[0].clone(), copy.to_str().unwrap().to_owned()], "one of steady judge");
    assert_eq!(run(&["judge"]).0, 2);
    fs::remove_file(copy).unwrap();
    remove(&files);
    remove(&others);
}

/// Changing any digits of an export gives an error or a valid join, never a panic.
#[test]
fn corrupted_samples_cause_no_panic() {
    let files = parts("changed", 2, &["--runs", "14"], ["true", "true"]);
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let second = steady_compare::json::read_record(&texts[1]).unwrap();
    let digits: Vec<usize> =
        texts[0].bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|at| at.0).collect();
    let config = Config { failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..Config::with_cases(150) };
    let changes =
        prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"0123456789.-e".as_slice())), 1..6);
    let joined = std::cell::Cell::new(0);
    let tried = TestRunner::new(config).run(&changes, |changes| {
        let mut text = texts[0].clone().into_bytes();
        changes.iter().for_each(|(at, byte)| text[*at.get(&digits)] = *byte);
        if let Ok(first) = steady_compare::json::read_record(&String::from_utf8(text).unwrap()) {
            let records = vec![("one".to_owned(), first), ("two".to_owned(), second.clone())];
            if let Ok(join) = steady_compare::join(records) {
                let text = terminal::text(&steady_compare::joined_document(&join), Style::default());
                prop_assert!(!text.is_empty());
                prop_assert!(!steady_compare::json::joined_json_text(&join).is_empty());
                joined.set(joined.get() + 1);
            }
        }
        Ok(())
    });
    tried.unwrap();
    assert!(joined.get() > 20, "only {} of the changed files could be joined", joined.get());
    remove(&files);
}

/// Devices are endless, and other JSON must be rejected before it is parsed into values.
#[test]
fn files_that_are_not_exports_are_rejected_with_little_memory() {
    let refused = |file: &str, wanted: &str| {
        // The limit on address space, in KiB, has room for the text of 32 MiB, but not for its parsed values.
        let script = "ulimit -v 600000; exec \"$0\" judge \"$1\"";
        let args = ["-c", script, env!("CARGO_BIN_EXE_steady"), file];
        let (status, _, stderr) = output_of(std::process::Command::new("sh").args(args).output().unwrap());
        assert!(status == 2 && stderr.contains(wanted), "{status} {stderr}");
    };
    refused("/dev/zero", "it is a device");
    refused("/", "it is a directory");
    let large = scratch("large.json");
    fs::write(&large, format!("{{\"a\": [{}0]}}", "0,".repeat(16 << 20))).unwrap();
    refused(large.to_str().unwrap(), "its schema is missing");
    // A sparse file, which uses no disk space.
    let file = fs::File::create(&large).unwrap();
    file.set_len(300 << 20).unwrap();
    let (status, _, stderr) = run(&["judge", large.to_str().unwrap()]);
    assert!(status == 2 && stderr.contains("larger than 256 MiB"), "{stderr}");
    fs::remove_file(large).unwrap();
}
