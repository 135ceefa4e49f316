//! What runs beside the measured commands, what they find in their environment, and where their output goes.

mod steady;

use std::fs;
use std::path::Path;

use steady::{json, run, scratch, steady, told};

/// A script that notes `word`, and what it finds in its environment.
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
fn each_command_may_have_its_own_script() {
    let notes = scratch("own");
    json(0, &["--runs", "1", "--setup", &note("first", &notes), "--setup", &note("second", &notes), "true", "true"]);
    assert_eq!(lines(&notes), ["first 0 setup", "second 1 setup"]);
    fs::remove_file(&notes).unwrap();
    let (status, _, stderr) = run(&["compare", "--cleanup", "a", "--cleanup", "b", "true", "true", "true"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("--cleanup is given 2 times for 3 commands"), "{stderr}");
}

#[test]
fn what_was_set_up_is_cleaned_up_after_a_failure() {
    let notes = scratch("failure");
    let cleanup = note("cleanup", &notes);
    let (status, _, stderr) = run(&["compare", "--cleanup", &cleanup, "true", "false"]);
    assert_eq!(status, 3, "{stderr}");
    assert_eq!(lines(&notes), ["cleanup 0 cleanup", "cleanup 1 cleanup"]);
    fs::remove_file(&notes).unwrap();
    // The second command's setup fails: both are cleaned up, for what half of it did may be there.
    let (status, _, stderr) =
        run(&["compare", "--setup", "true", "--setup", "exit 7", "--cleanup", &cleanup, "true", "true"]);
    assert_eq!(status, 3);
    assert!(stderr.contains("the --setup command 'exit 7' exited with status 7"), "{stderr}");
    assert_eq!(lines(&notes), ["cleanup 0 cleanup", "cleanup 1 cleanup"]);
    fs::remove_file(&notes).unwrap();
}

/// Interrupts a comparison with `setup` of `sh -c COMMAND` and itself once there is a file `ready`, and says which
/// commands were cleaned up.
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
fn what_was_set_up_is_cleaned_up_after_an_interruption() {
    let ready = scratch("interruption-of-a-run");
    let command = format!("touch {}; sleep 5", ready.display());
    assert_eq!(interrupted(&ready, "true", &command), ["cleanup 0 cleanup", "cleanup 1 cleanup"]);
    // The second command's setup never began.
    let ready = scratch("interruption-of-a-setup");
    let setup = format!("touch {}; sleep 5", ready.display());
    assert_eq!(interrupted(&ready, &setup, "true"), ["cleanup 0 cleanup"]);
}

#[test]
fn a_failing_conclusion_is_told() {
    let (status, _, stderr) = run(&["compare", "--conclude", "exit 3", "true", "true"]);
    assert_eq!(status, 3);
    assert!(stderr.contains("the --conclude command 'exit 3' exited with status 3"), "{stderr}");
}

#[test]
fn output_goes_where_it_is_sent() {
    let file = scratch("output");
    let name = file.to_str().unwrap();
    json(0, &["--runs", "2", "--output", name, "echo one", "echo two"]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(["one\n", "two\n"].contains(&text.as_str()), "every run writes it anew: {text}");
    fs::remove_file(&file).unwrap();
    json(0, &["--runs", "2", "--output", "null", "--output", name, "echo one", "echo two"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
    fs::remove_file(&file).unwrap();
    let (_, stdout, _) = run(&["compare", "--quiet", "--runs", "2", "--output", "inherit", "echo one", "echo two"]);
    assert_eq!(stdout.matches("one\n").count(), stdout.matches("two\n").count());
    assert!(stdout.contains("one\n"), "{stdout}");
    let report =
        json(0, &["--runs", "6", "--output", "pipe", "head -c 3000000 /dev/zero", "head -c 3000000 /dev/zero"]);
    assert_eq!(report["runs"], 12, "a pipe is read to its end");
}

#[test]
fn output_that_cannot_be_written_is_told_at_once() {
    let (status, _, stderr) = run(&["compare", "--output", "/nonexistent/x", "true", "true"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("--output '/nonexistent/x'"), "{stderr}");
}

#[test]
fn an_outer_steady_does_not_show_through() {
    let inner =
        "sh -c 'test \"$STEADY_COMMAND\" = 0 -o \"$STEADY_COMMAND\" = 1 && env | grep -c ^STEADY_RUN= | grep -qx 1'";
    let mut outer = steady();
    outer.args(["compare", "--runs", "2", inner, inner]).env("STEADY_COMMAND", "9").env("STEADY_RUN", "outer");
    let (status, _, stderr) = told(outer.output().unwrap());
    assert_eq!(status, 0, "{stderr}");
}
