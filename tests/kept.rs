//! The history after failures: runs that are killed or fail, full disks, damaged or locked databases.

mod steady;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use steady::{allowed_cpus, data_home, eventually, output_of, scratch, skip, steady};

/// Returns the data directory of one test.
fn data_of(test: &str) -> PathBuf {
    data_home().join(test)
}

/// Returns the runs in the history.
fn runs(home: &Path) -> Vec<Value> {
    let args = ["history", "list", "--format", "json"];
    let (status, stdout, stderr) = output_of(steady().env("XDG_DATA_HOME", home).args(args).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
    let list: Value = serde_json::from_str(&stdout).unwrap();
    list["runs"].as_array().unwrap().clone()
}

/// Returns the logs in a data directory.
fn logs(home: &Path) -> Vec<PathBuf> {
    let entries = home.join("steady/logs").read_dir().into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Runs a short comparison with its data in `home`. Returns the exit status, standard output and standard error.
fn compare_in(home: &Path) -> (i32, String, String) {
    let args = ["compare", "--runs", "6", "true", "true"];
    output_of(steady().env("XDG_DATA_HOME", home).args(args).output().unwrap())
}

/// Returns a command that appends the number of its pair to a file.
fn noting(notes: &Path) -> String {
    format!("sh -c 'echo $STEADY_RUN $STEADY_COMMAND >>{}'", notes.display())
}

/// Returns the numbers of the pairs whose commands have both written to the file.
fn pairs_noted(notes: &Path) -> Vec<u64> {
    let mut runs: BTreeMap<u64, u32> = BTreeMap::new();
    for line in fs::read_to_string(notes).unwrap_or_default().lines() {
        if let Ok(pair) = line.split(' ').next().unwrap_or_default().parse() {
            *runs.entry(pair).or_default() += 1;
        }
    }
    runs.into_iter().filter(|(_, runs)| *runs == 2).map(|(pair, _)| pair).collect()
}

fn assert_a_kill_loses_at_most_one_pair(layout: &str) {
    let (home, notes) = (data_of(&format!("killed-{layout}")), scratch(&format!("notes-{layout}")));
    let command = noting(&notes);
    // After one pair the log may still be empty, because `steady` writes a pair after its commands have ended.
    for (kill, enough) in [2, 20, 100].into_iter().enumerate() {
        let args = ["compare", "--quiet", "--layout", layout, "--runs", "1000000", &command, &command];
        let mut child = steady().env("XDG_DATA_HOME", &home).args(args).stderr(Stdio::null()).spawn().unwrap();
        while pairs_noted(&notes).len() < enough {
            assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The log is imported once the launchers, which inherit it, have ended.
        assert!(eventually(|| runs(&home).len() == kill + 1), "{enough}: {:?}", logs(&home));
        let run = runs(&home).pop().unwrap();
        let (noted, stored) = (pairs_noted(&notes).len() as u64, run["pairs"].as_u64().unwrap());
        assert!(stored + 1 >= noted && stored <= noted, "{stored} of {noted} pairs are stored");
        assert_eq!(run["complete"], false);
        fs::remove_file(&notes).unwrap();
    }
    assert!(logs(&home).is_empty(), "imported logs are not removed");
    assert_eq!(runs(&home).len(), 3);
    let args = ["history", "report", "last", "--format", "json"];
    let (status, stdout, _) = output_of(steady().env("XDG_DATA_HOME", &home).args(args).output().unwrap());
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((status, &report["ending"], &report["pairs"]), (0, &"interrupted".into(), &runs(&home)[2]["pairs"]));
}

#[test]
fn a_kill_during_turns_loses_at_most_one_pair() {
    assert_a_kill_loses_at_most_one_pair("turns");
}

#[test]
fn a_kill_during_duets_loses_at_most_one_pair() {
    if allowed_cpus().len() < 2 {
        return skip("a_kill_during_duets_loses_at_most_one_pair", "one CPU");
    }
    assert_a_kill_loses_at_most_one_pair("duet");
}

/// Returns the number of complete rows of a load experiment in its log.
fn rows_logged(home: &Path) -> usize {
    let text = logs(home).first().map_or_else(String::new, |log| fs::read_to_string(log).unwrap_or_default());
    // A row without a newline is being written.
    text.split_inclusive('\n').filter(|line| line.starts_with("{\"row\":") && line.ends_with('\n')).count()
}

#[test]
fn a_killed_load_experiment_keeps_its_complete_rows() {
    let home = data_of("killed-load");
    for (kill, enough) in [1, 4].into_iter().enumerate() {
        let args = ["load", "--quiet", "--cpu-time", "30ms", "--procs", "1..40"];
        let mut child = steady().env("XDG_DATA_HOME", &home).args(args).stderr(Stdio::null()).spawn().unwrap();
        while rows_logged(&home) < enough {
            assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
            std::thread::sleep(Duration::from_millis(2));
        }
        let before = rows_logged(&home);
        child.kill().unwrap();
        child.wait().unwrap();
        // A helper that is being started holds the log until its exec, which may take seconds on a busy machine.
        let imported = eventually(|| runs(&home).len() == kill + 1);
        assert!(imported, "{enough}: {:?}, {:?}", logs(&home), runs(&home));
        let run = runs(&home).pop().unwrap();
        assert_eq!((&run["kind"], &run["complete"]), (&"load".into(), &false.into()), "{run}");
        let args = ["history", "report", "last", "--format", "json"];
        let (status, stdout, _) = output_of(steady().env("XDG_DATA_HOME", &home).args(args).output().unwrap());
        let report: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((status, &report["ending"]), (0, &"interrupted".into()));
        assert!(report["rows"].as_array().unwrap().len() >= before, "{before} rows were logged");
    }
    assert!(logs(&home).is_empty(), "imported logs are not removed");
}

#[test]
fn the_log_of_a_running_comparison_is_not_imported() {
    let (home, notes) = (data_of("living"), scratch("living"));
    let command = noting(&notes);
    let args = ["compare", "--quiet", "--runs", "1000000", &command, &command];
    let mut child = steady().env("XDG_DATA_HOME", &home).args(args).stderr(Stdio::null()).spawn().unwrap();
    while pairs_noted(&notes).len() < 5 {
        assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
    }
    assert!(runs(&home).is_empty());
    assert_eq!(logs(&home).len(), 1);
    // Another comparison ends during the first one.
    assert_eq!(compare_in(&home).0, 0);
    assert_eq!((runs(&home).len(), logs(&home).len()), (1, 1));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(runs(&home)[1]["complete"], false, "an interrupted run is complete");
    assert!(logs(&home).is_empty());
    fs::remove_file(notes).unwrap();
}

#[test]
fn pairs_before_a_failure_are_stored() {
    let (home, count) = (data_of("failure"), scratch("failure"));
    let fails = |after: u32| format!("sh -c 'echo >>{0}; [ $(wc -l <{0}) -le {after} ]'", count.display());
    for (after, stored) in [(0, 0), (40, 1)] {
        let args = ["compare", "--runs", "100", "true", &fails(after)];
        let (status, _, stderr) = output_of(steady().env("XDG_DATA_HOME", &home).args(args).output().unwrap());
        assert_eq!((status, stderr.lines().count()), (3, 1), "{stderr}");
        assert!(logs(&home).is_empty());
        assert_eq!(runs(&home).len(), stored);
        fs::remove_file(&count).unwrap();
    }
    let run = &runs(&home)[0];
    assert!(run["complete"] == false && run["pairs"].as_u64() > Some(20), "{run}");
}

/// Runs a comparison while the database rejects writes, so that its log is not imported. Returns the path of the log.
fn unimported_log(home: &Path) -> PathBuf {
    assert_eq!(compare_in(home).0, 0);
    let other = rusqlite::Connection::open(home.join("steady/history.db")).unwrap();
    let version: i64 = other.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    assert_eq!(compare_in(home).0, 0);
    other.pragma_update(None, "user_version", version).unwrap();
    logs(home).pop().unwrap()
}

#[test]
fn a_log_that_was_imported_but_not_removed_is_not_imported_again() {
    let home = data_of("twice");
    let log = unimported_log(&home);
    let text = fs::read(&log).unwrap();
    assert_eq!(runs(&home).len(), 2);
    assert!(!log.exists());
    fs::write(&log, text).unwrap();
    assert_eq!(runs(&home).len(), 2);
    assert!(!log.exists());
}

#[test]
fn logs_are_imported_in_the_order_in_which_their_runs_started() {
    let home = data_of("order");
    let one = unimported_log(&home);
    let kept = home.join("kept");
    fs::rename(&one, &kept).unwrap();
    // Starts are stored in whole seconds.
    std::thread::sleep(Duration::from_millis(1100));
    let other = unimported_log(&home);
    let (first, last) = if one < other { (&one, &other) } else { (&other, &one) };
    // The name of the log of the later run comes first.
    fs::rename(&other, home.join("later")).unwrap();
    fs::rename(&kept, last).unwrap();
    fs::rename(home.join("later"), first).unwrap();
    let runs = runs(&home);
    let started = |number: u64| runs.iter().find(|run| run["id"] == number).unwrap()["started"].to_string();
    // The second comparison that was stored is number 2.
    assert!(started(3) < started(4), "{runs:?}");
}

#[test]
fn an_invalid_log_is_renamed_and_an_empty_one_removed() {
    let home = data_of("senseless");
    let log = unimported_log(&home);
    let text = fs::read_to_string(&log).unwrap();
    // An impossible duration.
    let (before, after) = text.split_once("\"wall_seconds\":").unwrap();
    let after = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    fs::write(&log, format!("{before}\"wall_seconds\":18400000000000000000{after}")).unwrap();
    fs::write(log.with_file_name("empty.log"), "").unwrap();
    assert_eq!(runs(&home).len(), 1);
    assert_eq!(logs(&home), [log.with_extension("unreadable")]);
}

#[test]
fn only_the_user_can_access_the_data_directory() {
    let home = data_of("private");
    assert_eq!(compare_in(&home).0, 0);
    let mode = home.join("steady").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Panics unless a comparison succeeded and reported on one line why it is not stored.
fn assert_succeeded_unstored(output: &(i32, String, String), why: &str) {
    let (status, stdout, stderr) = output;
    assert_eq!(*status, 0, "{stderr}");
    assert!(stdout.contains("Seed") && !stdout.contains("History"), "{stdout}");
    assert!(stderr.starts_with("steady: not stored in the history: ") && stderr.contains(why), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn without_a_home_directory_comparisons_work() {
    let mut command = steady();
    command.env_remove("XDG_DATA_HOME").env_remove("HOME").args(["compare", "--runs", "6", "true", "true"]);
    assert_succeeded_unstored(&output_of(command.output().unwrap()), "neither XDG_DATA_HOME nor HOME");
    // A home directory that does not exist is not created.
    let missing = scratch("missing.home");
    let mut command = steady();
    command.env_remove("XDG_DATA_HOME").env("HOME", &missing).args(["compare", "--runs", "6", "true", "true"]);
    assert_succeeded_unstored(&output_of(command.output().unwrap()), "neither XDG_DATA_HOME nor HOME");
    assert!(!missing.exists());
    let mut command = steady();
    let (status, _, stderr) =
        output_of(command.env_remove("XDG_DATA_HOME").env_remove("HOME").args(["history", "list"]).output().unwrap());
    assert_eq!(status, 125);
    assert!(stderr.contains("neither XDG_DATA_HOME nor HOME"), "{stderr}");
}

#[test]
fn with_a_damaged_database_runs_stay_in_their_logs() {
    let home = data_of("damaged");
    let database = home.join("steady/history.db");
    assert_eq!(compare_in(&home).0, 0);
    let valid = fs::read(&database).unwrap();
    let garbage = "no database\n".repeat(1000);
    fs::write(&database, &garbage).unwrap();
    assert_succeeded_unstored(&compare_in(&home), "not a database");
    assert_eq!(fs::read_to_string(&database).unwrap(), garbage, "the damaged database was changed");
    let listed = steady().env("XDG_DATA_HOME", &home).args(["history", "list"]).output().unwrap();
    assert_eq!(output_of(listed).0, 125);
    assert_eq!(logs(&home).len(), 1);
    fs::write(&database, valid).unwrap();
    assert_eq!(runs(&home).len(), 2);
    assert!(runs(&home).iter().all(|run| run["complete"] == true && run["pairs"] == 6), "a run is not complete");
    assert!(logs(&home).is_empty());
}

#[test]
fn with_a_locked_database_runs_stay_in_their_logs() {
    let home = data_of("locked");
    assert_eq!(compare_in(&home).0, 0);
    let other = rusqlite::Connection::open(home.join("steady/history.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_succeeded_unstored(&compare_in(&home), "locked");
    drop(other);
    assert_eq!(runs(&home).len(), 2);
}

#[test]
fn a_database_of_a_newer_version_is_reported() {
    let home = data_of("newer");
    assert_eq!(compare_in(&home).0, 0);
    let other = rusqlite::Connection::open(home.join("steady/history.db")).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    drop(other);
    assert_succeeded_unstored(&compare_in(&home), "newer version");
}

/// Runs a comparison with its data on a tmpfs that is mounted with `options`. Returns `None` if none can be mounted.
fn compare_on_tmpfs(test: &str, options: &str) -> Option<(i32, String, String)> {
    let folder = scratch(test);
    fs::create_dir_all(&folder).unwrap();
    let script = format!("mount -t tmpfs -o {options} tmpfs {0} || exit 77; shift; exec \"$@\"", folder.display());
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh", "x"]);
    command.arg(env!("CARGO_BIN_EXE_steady")).args(["compare", "--runs", "6", "true", "true"]);
    let output = command.env("XDG_DATA_HOME", &folder).stdin(Stdio::null()).output();
    fs::remove_dir_all(&folder).unwrap();
    output.ok().map(output_of).filter(|(status, _, stderr)| *status != 77 && !stderr.starts_with("unshare"))
}

#[test]
fn on_a_full_disk_comparisons_work() {
    // Space for nothing, for a log only, and for a part of the database.
    for kibibytes in [4, 16, 32] {
        match compare_on_tmpfs("full", &format!("size={kibibytes}k")) {
            Some(output) => assert_succeeded_unstored(&output, ""),
            None => return skip("on_a_full_disk_comparisons_work", "no file system can be mounted"),
        }
    }
}

#[test]
fn on_a_read_only_disk_comparisons_work() {
    match compare_on_tmpfs("read-only", "ro") {
        Some(output) => assert_succeeded_unstored(&output, "Read-only"),
        None => skip("on_a_read_only_disk_comparisons_work", "no file system can be mounted"),
    }
}

#[test]
fn a_run_is_stored_before_its_report_is_written() {
    let home = data_of("unread");
    // The report does not fit into the pipe, which is not read, even if there was time for only a few samples.
    let args = ["costs", "--only", "system_call", "--repetitions", "3000", "--samples", "--format", "json"];
    let mut child = steady().env("XDG_DATA_HOME", &home).args(args).stdout(Stdio::piped()).spawn().unwrap();
    rustix::pipe::fcntl_setpipe_size(child.stdout.as_ref().unwrap(), 4096).unwrap();
    assert!(eventually(|| runs(&home).len() == 1));
    assert!(child.try_wait().unwrap().is_none(), "the process does not wait for a reader");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(runs(&home)[0]["complete"], true);
    fs::remove_dir_all(&home).unwrap();
}
