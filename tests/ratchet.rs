//! `steady compare --ratchet`: a loop that accepts only what is certainly better.

mod steady;

use std::fs;

use steady::{run, scratch, steady, work};

/// Compares a candidate with the accepted command. Returns the exit status, standard output and standard error.
fn tried(file: &str, accepted: &str, candidate: &str) -> (i32, String, String) {
    let (markdown, json) = (markdown(file), format!("{file}.json"));
    let options = ["compare", "--no-history", "--budget", "4s", "--export-markdown", &markdown, "--ratchet", file];
    let tried = run(&[&options[..], &["--samples", "--export-json", &json, accepted, candidate]].concat());
    if tried.0 < 2 {
        assert_eq!(state(&json)["accepted"], tried.0 == 0, "the record has the same result: {}", tried.2);
        assert_eq!(run(&["judge", &json]).0, tried.0);
    }
    tried
}

/// The report of the last comparison of a loop as Markdown, which also has the command line that repeats it.
fn markdown(file: &str) -> String {
    format!("{file}.md")
}

/// Text without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn state(file: &str) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn a_loop_keeps_what_is_better_and_nothing_else() {
    let file = scratch("loop.json").display().to_string();
    let (status, text, stderr) = tried(&file, &work(60), &work(4000));
    assert!(status == 1 && stderr.contains("Not accepted: the first comparison found no improvement"), "{stderr}");
    let text = flat(&text);
    assert!(
        text.contains("first comparison of candidate 1 of a loop, which accepts nothing: the candidate is not promis"),
        "{text}"
    );
    let text = fs::read_to_string(markdown(&file)).unwrap();
    assert!(text.contains("gave the first comparison of candidate 1 its budget"), "{text}");
    assert!(!text.contains("steady compare"), "{text}");
    assert_eq!((&state(&file)["candidates"], &state(&file)["tests"]), (&1.into(), &0.into()));
    let (status, text, stderr) = tried(&file, &work(4000), &work(60));
    assert!(status == 0 && stderr.contains("Accepted.") && text.contains("less CPU time"), "{text}{stderr}");
    assert!(
        flat(&text).contains("second comparison of candidate 2 of a loop, on fresh pairs: the candidate is accepted."),
        "{text}"
    );
    let found = state(&file);
    assert_eq!((&found["candidates"], &found["tests"]), (&2.into(), &1.into()));
    let accepted = &found["accepted"][0];
    assert_eq!(accepted["candidate"], 2);
    assert!(accepted["high"].as_f64().unwrap() < 0.0, "{accepted}");
    // A program is not better than itself, except by chance.
    let (status, _, stderr) = tried(&file, &work(60), &work(60));
    assert!(status == 1 && stderr.contains("candidates so far: 3"), "{stderr}");
    let other = ["compare", "--no-history", "--confidence", "99%", "--ratchet", &file, "true", "true"];
    let (status, _, stderr) = run(&other);
    assert!(status == 2 && stderr.contains("began with --confidence 95%"), "{stderr}");
}

#[test]
fn only_one_comparison_of_a_loop_runs_at_a_time() {
    let file = scratch("busy.json").display().to_string();
    let words = ["compare", "--no-history", "--budget", "20s", "--ratchet", &file, "sleep 0.1", "sleep 0.1"];
    let mut first = steady().args(words).stdout(std::process::Stdio::null()).spawn().unwrap();
    for _ in 0..500 {
        if fs::read_to_string(&file).is_ok_and(|text| !text.is_empty()) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (status, _, stderr) = tried(&file, "true", "true");
    assert!(status == 2 && stderr.contains("another comparison of this loop is running"), "{stderr}");
    // A killed comparison has counted its candidate, and does not block the loop.
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(state(&file)["candidates"], 1);
    let (status, _, stderr) = tried(&file, &work(60), &work(4000));
    assert!(status == 1 && stderr.contains("candidates so far: 2"), "{stderr}");
}

#[test]
fn a_candidate_that_hangs_is_killed_and_a_link_stays_a_link() {
    let (file, link) = (scratch("linked.json"), scratch("link.json"));
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let link_text = link.display().to_string();
    let words = ["compare", "--no-history", "--budget", "2s", "--ratchet", &link_text, "true", "sleep 600"];
    let (status, _, stderr) = run(&words);
    assert!(status == 3 && stderr.contains("time limit"), "{stderr}");
    assert!(link.is_symlink());
    assert_eq!(state(&file.display().to_string())["candidates"], 1);
}

#[test]
fn other_files_and_options_are_refused() {
    let file = scratch("other.json").display().to_string();
    fs::write(&file, "{\"a\": 1}").unwrap();
    let usage = |words: &[&str], part: &str| {
        let (status, _, stderr) = run(&[&["compare", "--no-history", "--ratchet"], words].concat());
        assert!(status == 2 && stderr.contains(part), "{words:?}: {stderr}");
    };
    usage(&[&file, "true", "true"], "not a file of a loop");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\": 1}");
    usage(&["/dev/null", "true", "true"], "not a file");
    usage(&["/nonexistent/x", "true", "true"], "No such file");
    usage(&[&file, "true"], "two commands");
    usage(&[&file, "true", "true", "true"], "two commands");
    usage(&[&file, "--runs", "9", "true", "true"], "cannot be used with");
    usage(&[&file, "--fail-if", "slower>1%", "true", "true"], "cannot be used with");
}
