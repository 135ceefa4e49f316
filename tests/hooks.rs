//! `steady compare` with --setup, --prepare, --conclude, --cleanup and --relink, their environment, and --output.

mod steady;

use std::fs;
use std::path::Path;

use steady::{json, output_of, run, scratch, steady};

/// Returns a script that appends `word` and the variables of its environment to a file.
fn note(word: &str, notes: &Path) -> String {
    format!("echo {word} $STEADY_COMMAND $STEADY_RUN >>{}", notes.display())
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn scripts_run_in_their_order() {
    let notes = scratch("hooks");
    let [setup, prepare, conclude, cleanup] =
        ["setup", "prepare", "conclude", "cleanup"].map(|word| note(word, &notes));
    let command = format!("sh -c '{}'", note("run", &notes));
    json(
        0,
        &[
            &["--runs", "3", "--warmup", "1", "--setup", &setup, "--prepare", &prepare][..],
            &["--conclude", &conclude, "--cleanup", &cleanup, &command, &command],
        ]
        .concat(),
    );
    let found = lines(&notes);
    fs::remove_file(&notes).unwrap();
    assert_eq!(found[..2], ["setup 0 setup", "setup 1 setup"]);
    assert_eq!(found[found.len() - 2..], ["cleanup 0 cleanup", "cleanup 1 cleanup"]);
    let runs = &found[2..found.len() - 2];
    assert_eq!(runs.len(), 3 * 2 * 4, "a warm-up and three pairs: {found:#?}");
    for (index, run) in runs.chunks(3).enumerate() {
        let block = ["warmup", "0", "1", "2"][index / 2];
        let command = run[1].split(' ').nth(1).unwrap();
        assert_eq!(run, ["prepare", "run", "conclude"].map(|word| format!("{word} {command} {block}")));
    }
}

#[test]
fn each_command_can_have_its_own_script() {
    let notes = scratch("own");
    json(0, &["--runs", "1", "--setup", &note("first", &notes), "--setup", &note("second", &notes), "true", "true"]);
    assert_eq!(lines(&notes), ["first 0 setup", "second 1 setup"]);
    fs::remove_file(&notes).unwrap();
    let (status, _, stderr) = run(&["compare", "--cleanup", "a", "--cleanup", "b", "true", "true", "true"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("--cleanup is given 2 times for 3 commands"), "{stderr}");
}

#[test]
fn cleanup_runs_after_a_failure() {
    let notes = scratch("failure");
    let cleanup = note("cleanup", &notes);
    let (status, _, stderr) = run(&["compare", "--cleanup", &cleanup, "true", "false"]);
    assert_eq!(status, 3, "{stderr}");
    assert_eq!(lines(&notes), ["cleanup 0 cleanup", "cleanup 1 cleanup"]);
    fs::remove_file(&notes).unwrap();
    // If the second setup fails, both cleanups run, because the setup may have done part of its work.
    let (status, _, stderr) =
        run(&["compare", "--setup", "true", "--setup", "exit 7", "--cleanup", &cleanup, "true", "true"]);
    assert_eq!(status, 3);
    assert!(stderr.contains("the --setup command 'exit 7' exited with status 7; it printed nothing"), "{stderr}");
    assert_eq!(lines(&notes), ["cleanup 0 cleanup", "cleanup 1 cleanup"]);
    fs::remove_file(&notes).unwrap();
}

#[test]
fn a_result_is_reported_although_the_cleanup_failed() {
    let (status, stdout, stderr) = run(&["compare", "--runs", "6", "--cleanup", "exit 7", "true", "true"]);
    assert_eq!(status, 3, "{stderr}");
    assert!(stdout.contains("Seed"), "{stdout}");
    assert!(stderr.contains("the --cleanup command 'exit 7' exited with status 7"), "{stderr}");
}

/// Compares `sh -c COMMAND` with itself and interrupts the comparison once the file `ready` exists. Returns the lines
/// that the cleanups wrote.
fn interrupted(ready: &Path, setup: &str, command: &str) -> Vec<String> {
    let notes = scratch("interruption");
    let cleanup = note("cleanup", &notes);
    let command = format!("sh -c '{command}'");
    let mut child = steady()
        .args(["compare", "--budget", "60s", "--quiet", "--setup", setup, "--cleanup", &cleanup, &command, &command])
        .spawn()
        .unwrap();
    assert!(steady::eventually(|| ready.exists()));
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let cleaned = lines(&notes);
    fs::remove_file(&notes).unwrap();
    fs::remove_file(ready).unwrap();
    cleaned
}

#[test]
fn the_output_of_a_script_that_fails_is_shown_once() {
    let script = "echo one; echo two >&2; exit 4";
    let words = ["compare", "--no-history", "--prepare", script, "true", "true"];
    let (status, _, stderr) = run(&words);
    assert_eq!(status, 3, "{stderr}");
    assert!(stderr.contains("exited with status 4; the last lines of its output:\n  one\n  two"), "{stderr}");
    let (_, _, stderr) = run(&[&words[..], &["--show-output"]].concat());
    assert!(stderr.contains("one\ntwo\n") && !stderr.contains("last lines"), "{stderr}");
}

#[test]
fn cleanup_runs_after_an_interruption() {
    let ready = scratch("interruption-of-a-run");
    let command = format!("touch {}; sleep 5", ready.display());
    assert_eq!(interrupted(&ready, "true", &command), ["cleanup 0 cleanup", "cleanup 1 cleanup"]);
    // The setup of the second command was not started, so it has no cleanup.
    let ready = scratch("interruption-of-a-setup");
    let setup = format!("touch {}; sleep 5", ready.display());
    assert_eq!(interrupted(&ready, &setup, "true"), ["cleanup 0 cleanup"]);
}

#[test]
fn a_failing_conclude_script_is_an_error() {
    let (status, _, stderr) = run(&["compare", "--conclude", "exit 3", "true", "true"]);
    assert_eq!(status, 3);
    assert!(stderr.contains("the --conclude command 'exit 3' exited with status 3"), "{stderr}");
}

#[test]
fn output_goes_to_the_requested_target() {
    let file = scratch("output");
    let name = file.to_str().unwrap();
    json(0, &["--runs", "2", "--output", name, "echo one", "echo two"]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(["one\n", "two\n"].contains(&text.as_str()), "runs do not replace the file: {text}");
    fs::remove_file(&file).unwrap();
    json(0, &["--runs", "2", "--output", "null", "--output", name, "echo one", "echo two"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
    fs::remove_file(&file).unwrap();
    let (_, stdout, _) = run(&["compare", "--quiet", "--runs", "2", "--output", "inherit", "echo one", "echo two"]);
    assert_eq!(stdout.matches("one\n").count(), stdout.matches("two\n").count());
    assert!(stdout.contains("one\n"), "{stdout}");
    let report =
        json(0, &["--runs", "6", "--output", "pipe", "head -c 3000000 /dev/zero", "head -c 3000000 /dev/zero"]);
    assert_eq!(report["runs"], 12, "a pipe is not read to its end");
}

#[test]
fn an_output_file_that_cannot_be_created_is_a_usage_error() {
    let (status, _, stderr) = run(&["compare", "--output", "/nonexistent/x", "true", "true"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("--output '/nonexistent/x'"), "{stderr}");
}

#[test]
fn variables_of_an_outer_steady_are_replaced() {
    let inner =
        "sh -c 'test \"$STEADY_COMMAND\" = 0 -o \"$STEADY_COMMAND\" = 1 && env | grep -c ^STEADY_RUN= | grep -qx 1'";
    let mut outer = steady();
    outer.args(["compare", "--runs", "2", inner, inner]).env("STEADY_COMMAND", "9").env("STEADY_RUN", "outer");
    let (status, _, stderr) = output_of(outer.output().unwrap());
    assert_eq!(status, 0, "{stderr}");
}

#[test]
fn programs_are_linked_again_for_each_draw() {
    let notes = scratch("relink");
    let relink = format!("echo $STEADY_LAYOUT >>{}", notes.display());
    let record = json(0, &["--samples", "--runs", "240", "--relink", &relink, "true", "true"]);
    let numbers = lines(&notes);
    fs::remove_file(&notes).unwrap();
    let draws = record["samples"]["blocks"].as_array().unwrap().last().unwrap()["draw"].as_u64().unwrap() + 1;
    // The warm-up has a draw, too.
    assert_eq!(numbers.len() as u64, 2 * (draws + 1));
    let mut distinct = numbers.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), numbers.len());
    let verdict = &record["verdicts"][0];
    assert_eq!((&verdict["unit"], verdict["pairs"].as_u64()), (&"draw".into(), Some(draws)));
    let (status, _, stderr) = run(&["compare", "--no-history", "--relink", "exit 9", "true", "true"]);
    assert!(status == 3 && stderr.contains("relink"), "{status} {stderr}");
    let (status, _, stderr) = run(&["compare", "--no-history", "--relink", "true", "true"]);
    assert!(status == 2 && stderr.contains("two commands"), "{status} {stderr}");
}
