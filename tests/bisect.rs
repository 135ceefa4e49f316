//! `steady bisect`: finds the commit of a git repository that changed the cost of a command.

mod steady;

use std::process::{Command, Stdio};

use serde_json::Value;
use steady::repository::{Repository, busy};
use steady::{eventually, output_of, skip};

/// A repository with ten commits after the tag `good`. `make.sh` builds `prog`, which is slower from commit `at` on, and
/// fails at the commits of `broken`.
fn history(name: &str, at: usize, broken: &[usize]) -> Repository {
    let repository = Repository::new(name);
    for number in 0..=10 {
        let make = if broken.contains(&number) {
            "#!/bin/sh\necho no compiler; exit 1\n"
        } else {
            "#!/bin/sh\ncp source prog\n"
        };
        repository.write("make.sh", make);
        repository.write("source", &busy(if number >= at { 16_000 } else { 8_000 }));
        repository.write("number", &number.to_string());
        repository.commit(&format!("Change {number}"));
        if number == 0 {
            repository.git(&["tag", "good"]);
        }
    }
    repository
}

/// A `steady` command in the repository, with a history of its own.
fn steady(repository: &Repository, args: &[&str]) -> Command {
    let mut command = repository.steady("", args);
    command.env("XDG_DATA_HOME", repository.folder.join("data"));
    command
}

fn bisect(repository: &Repository, args: &[&str]) -> (i32, String, String) {
    output_of(steady(repository, &[&["bisect"], args].concat()).output().unwrap())
}

fn json(repository: &Repository, args: &[&str]) -> (i32, Value) {
    let (status, stdout, stderr) = bisect(repository, &[&["--format", "json"], args].concat());
    (status, serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}")))
}

#[test]
fn the_commit_is_found_and_nothing_is_left() {
    let repository = history("bisect-found", 7, &[6]);
    let words = ["good..HEAD", "--build", "./make.sh", "--budget", "40s", "./prog"];
    let (status, text, stderr) = bisect(&repository, &words);
    assert_eq!(status, 0, "{text}{stderr}");
    // Commit 6 cannot be built, so it may have changed the cost, too, unless its parent was never measured.
    let is_named = ["raised", "multiplied"].iter().any(|verb| text.contains(&format!("{verb} the CPU time")));
    assert!(is_named && text.contains("Change 7"), "{text}");
    assert!(stderr.contains("confirming ") && stderr.contains("on fresh pairs"), "{stderr}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
    let (status, listed, _) = output_of(steady(&repository, &["history", "list"]).output().unwrap());
    assert!(status == 0 && listed.contains("./prog"), "{listed}");
}

#[test]
fn each_export_has_the_commit() {
    let repository = history("bisect-exports", 2, &[]);
    let (status, record) = json(&repository, &["good..HEAD", "--build", "./make.sh", "--budget", "40s", "./prog"]);
    assert_eq!((status, &record["outcome"], &record["candidates"]), (0, &"found".into(), &serde_json::json!([2])));
    assert_eq!(record["commits"][2]["subject"], "Change 2");
    assert_eq!(record["commits"].as_array().unwrap().len(), 11);
}

#[test]
fn equal_ends_have_no_commit() {
    let repository = history("bisect-same", 99, &[]);
    // With the usual confidence, one run in twenty finds a change.
    let confident = ["--confidence", "99.9%", "--resolution", "20%", "--budget", "40s"];
    let words = [&confident[..], &["--build", "./make.sh", "good..HEAD", "./prog"]].concat();
    let (status, text, stderr) = bisect(&repository, &words);
    assert!(status == 4 && text.contains("There is no commit to find"), "{text}{stderr}");
}

#[test]
fn a_comparison_has_the_pairs_that_its_confidence_needs() {
    let repository = history("bisect-confident", 99, &[]);
    let words = ["good..HEAD~9", "--build", "./make.sh", "--budget", "5s", "--confidence", "99.9%", "sleep 0.1"];
    let (_, record) = json(&repository, &words);
    assert!(record["comparisons"][0]["pairs"].as_u64().unwrap() >= 12, "{}", record["comparisons"][0]);
}

/// The pairs of the first comparison must fit into the whole budget, not only into the part for this comparison.
#[test]
fn a_budget_that_is_too_small_for_one_verdict_is_refused() {
    let repository = history("bisect-small", 99, &[]);
    let (status, text, stderr) = bisect(&repository, &["good..HEAD~9", "--budget", "2s", "sleep 0.9"]);
    assert!(status == 2 && stderr.contains("the budget of 2 s is too small"), "{status} {text}{stderr}");
    assert!(stderr.contains("use --budget ") && !stderr.contains("--runs"), "{stderr}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}

/// What a script needs may not exist at every commit.
#[test]
fn a_commit_in_which_a_script_fails_is_skipped() {
    let repository = history("bisect-script", 7, &[5]);
    let words = ["good..HEAD", "--prepare", "./make.sh", "--build", "cp source prog", "--budget", "40s", "./prog"];
    let (status, record) = json(&repository, &words);
    assert_eq!((status, &record["outcome"]), (0, &"found".into()), "{record}");
    let skipped = record["commits"][5]["skipped"].as_str();
    assert!(skipped.is_none_or(|why| why.contains("--prepare")), "{record}");
    assert!(record["candidates"].as_array().unwrap().contains(&7.into()), "{record}");
}

/// An object may be missing, as one of a submodule or of Git LFS.
#[test]
fn a_commit_that_cannot_be_checked_out_is_skipped() {
    let repository = history("bisect-missing", 5, &[]);
    let blob = repository.git(&["rev-parse", "HEAD~5:number"]);
    let (folder, file) = blob.trim().split_at(2);
    std::fs::remove_file(repository.repo().join(".git/objects").join(folder).join(file)).unwrap();
    let words = ["HEAD~6..HEAD~4", "--build", "./make.sh", "--budget", "40s", "./prog"];
    let (status, record) = json(&repository, &words);
    assert_eq!((status, &record["outcome"]), (0, &"found".into()), "{record}");
    let skipped = record["commits"][1]["skipped"].as_str().unwrap_or_default();
    assert!(skipped.contains("could not be checked out"), "{record}");
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}

/// Otherwise all commits after the disk became full would be left out.
#[test]
fn a_full_disk_ends_the_search() {
    let repository = history("bisect-full", 7, &[]);
    let script = "mount -t tmpfs -o size=8m tmpfs \"$TMPDIR\" || exit 77; \
                  exec \"$STEADY\" bisect good..HEAD --budget 40s --build './make.sh && head -c 3m /dev/zero >big' ./prog";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).stdin(Stdio::null());
    command.env("STEADY", env!("CARGO_BIN_EXE_steady")).env("TMPDIR", repository.folder.join("tmp"));
    command.env("XDG_DATA_HOME", repository.folder.join("data"));
    let output = command.current_dir(repository.repo()).output().map(output_of);
    match output.ok().filter(|(status, _, stderr)| *status != 77 && !stderr.starts_with("unshare")) {
        None => skip("a_full_disk_ends_the_search", "no mount namespace"),
        Some((status, text, stderr)) => {
            assert!(status == 2 && stderr.contains("' is full; the last"), "{status}: {text}{stderr}");
        }
    }
}

#[test]
fn a_search_that_is_interrupted_or_killed_continues() {
    let repository = history("bisect-continue", 5, &[]);
    let words = ["bisect", "good..HEAD", "--build", "./make.sh", "--budget", "60s", "./prog"];
    for signal in ["INT", "KILL"] {
        let mut child = steady(&repository, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let state = || {
            let folder = repository.folder.join("data/steady/bisect");
            std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some())
        };
        assert!(eventually(state), "no state was stored");
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        if signal == "INT" {
            let (status, text, stderr) = output_of(child.wait_with_output().unwrap());
            assert!(status == 130 && text.contains("Interrupted: the same command"), "{text}{stderr}");
        } else {
            child.wait().unwrap();
        }
    }
    let (status, text, stderr) = bisect(&repository, &words[1..]);
    assert!(stderr.contains("this continues an earlier search"), "{stderr}");
    assert!(status == 0 && text.contains("Change 5"), "{text}{stderr}");
    assert!(text.contains("in earlier runs") && text.contains("60 s for this run"), "{text}");
    let (_, _, stderr) = bisect(&repository, &[&words[1..], &["--budget", "1s"]].concat());
    assert!(!stderr.contains("this continues"), "{stderr}");
    assert!(eventually(|| repository.leftovers_unless_busy().is_some_and(|left| left.is_empty())));
}

#[test]
fn a_search_that_is_interrupted_in_its_first_comparison_keeps_nothing() {
    let repository = history("bisect-first", 5, &[]);
    let ready = repository.folder.join("ready");
    let command = format!("sh -c 'touch {}; sleep 0.2'", ready.display());
    let words = ["bisect", "good..HEAD", "--budget", "60s", &command];
    let child = steady(&repository, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| ready.exists()), "nothing ran");
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let (status, _, stderr) = output_of(child.wait_with_output().unwrap());
    assert!(status == 130 && stderr.contains("only complete comparisons are kept"), "{stderr}");
}

#[test]
fn a_search_that_tests_no_change_says_so() {
    let repository = history("bisect-unused", 3, &[]);
    let (status, _, stderr) = bisect(&repository, &["good..HEAD", "--budget", "3s", "true"]);
    assert!(status == 4 && stderr.contains("no run opened a file of its commit"), "{status}: {stderr}");
    let (_, _, stderr) =
        bisect(&repository, &["good..HEAD", "--build", "chmod +x prog; true", "--budget", "3s", "sh prog"]);
    assert!(!stderr.contains("opened a file"), "{stderr}");
}

#[test]
fn wrong_usage_says_what_to_write() {
    let repository = history("bisect-usage", 3, &[0]);
    repository.git(&["checkout", "-q", "-b", "side", "good"]);
    repository.write("side", "x");
    repository.commit("Side");
    for (args, why, status) in [
        (&["good", "./prog"][..], "write GOOD..BAD", 2),
        (&["good....main", "./prog"], "write GOOD..BAD", 2),
        (&["good..WORK", "./prog"], "only commits can be searched", 2),
        (&["side...main", "--build", "./make.sh", "./prog"], "the build of", 2),
        (&["good..good", "./prog"], "both ends are the same commit", 2),
        (&["good..nothing", "./prog"], "there is no commit 'nothing'", 2),
        (&["side..main", "./prog"], "not on the line of first parents", 2),
        (&["main..good", "./prog"], "write good..main", 2),
        (&["good..main", ""], "a command is empty", 2),
        (&["good..main", "--build", "./make.sh", "./prog"], "the build of", 2),
        (&["good..main", "./prog"], "--build COMMAND builds a revision", 2),
    ] {
        let (found, stdout, stderr) = bisect(&repository, args);
        assert!(found == status && stderr.contains(why), "{args:?}: {found} {stdout}{stderr}");
    }
    assert!(repository.leftovers().is_empty(), "{:?}", repository.leftovers());
}
