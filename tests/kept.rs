//! Nothing lost: what is kept of a comparison that is killed, fails, or finds no room for what it has to tell.

mod steady;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use steady::{data_home, eventually, scratch, skip, steady, told};

/// A data directory for one test.
fn own(test: &str) -> PathBuf {
    data_home().join(test)
}

/// The runs in the history.
fn runs(home: &Path) -> Vec<Value> {
    let words = ["history", "list", "--format", "json"];
    let (status, stdout, stderr) = told(steady().env("XDG_DATA_HOME", home).args(words).output().unwrap());
    assert_eq!((status, stderr.as_str()), (0, ""));
    let list: Value = serde_json::from_str(&stdout).unwrap();
    list["runs"].as_array().unwrap().clone()
}

/// The logs that lie in a data directory.
fn logs(home: &Path) -> Vec<PathBuf> {
    let entries = home.join("steady/logs").read_dir().into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Compares, with the data in `home`, what is quickly done; status, standard output, standard error.
fn compare_in(home: &Path) -> (i32, String, String) {
    let words = ["compare", "--runs", "6", "true", "true"];
    told(steady().env("XDG_DATA_HOME", home).args(words).output().unwrap())
}

/// A command that notes in a file that it has run, and in which pair.
fn noting(notes: &Path) -> String {
    format!("sh -c 'echo $STEADY_RUN $STEADY_COMMAND >>{}'", notes.display())
}

/// The numbers of the pairs of which both commands had noted that they ran.
fn pairs_noted(notes: &Path) -> Vec<u64> {
    let mut runs: BTreeMap<u64, u32> = BTreeMap::new();
    for line in fs::read_to_string(notes).unwrap_or_default().lines() {
        if let Ok(pair) = line.split(' ').next().unwrap_or_default().parse() {
            *runs.entry(pair).or_default() += 1;
        }
    }
    runs.into_iter().filter(|(_, runs)| *runs == 2).map(|(pair, _)| pair).collect()
}

fn killed_keeps_all_but_the_pair_in_flight(layout: &str) {
    let (home, notes) = (own(&format!("killed-{layout}")), scratch(&format!("notes-{layout}")));
    let command = noting(&notes);
    // A first pair that both have noted may be in flight still, and then there is nothing to keep.
    for (kill, enough) in [2, 20, 100].into_iter().enumerate() {
        let words = ["compare", "--quiet", "--layout", layout, "--runs", "1000000", &command, &command];
        let mut child = steady().env("XDG_DATA_HOME", &home).args(words).stderr(Stdio::null()).spawn().unwrap();
        while pairs_noted(&notes).len() < enough {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The launchers end what they are at, and let go of the log.
        assert!(eventually(|| runs(&home).len() == kill + 1), "{enough}: {:?}", logs(&home));
        let run = runs(&home).pop().unwrap();
        let (noted, kept) = (pairs_noted(&notes).len() as u64, run["pairs"].as_u64().unwrap());
        assert!(kept + 1 >= noted && kept <= noted, "{kept} of {noted} are kept");
        assert_eq!(run["complete"], false);
        fs::remove_file(&notes).unwrap();
    }
    assert!(logs(&home).is_empty(), "each is imported once");
    assert_eq!(runs(&home).len(), 3);
    let words = ["history", "report", "last", "--format", "json"];
    let (status, stdout, _) = told(steady().env("XDG_DATA_HOME", &home).args(words).output().unwrap());
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((status, &report["ending"], &report["pairs"]), (0, &"interrupted".into(), &runs(&home)[2]["pairs"]));
}

#[test]
fn killed_in_turns_it_keeps_all_but_the_pair_in_flight() {
    killed_keeps_all_but_the_pair_in_flight("turns");
}

#[test]
fn killed_in_duets_it_keeps_all_but_the_pair_in_flight() {
    if fs::read_to_string("/sys/devices/system/cpu/online").is_ok_and(|online| online.trim() == "0") {
        return skip("killed_in_duets_it_keeps_all_but_the_pair_in_flight", "one CPU");
    }
    killed_keeps_all_but_the_pair_in_flight("duet");
}

/// How many rows of a load experiment are in its log.
fn rows_logged(home: &Path) -> usize {
    let text = logs(home).first().map_or_else(String::new, |log| fs::read_to_string(log).unwrap_or_default());
    // One that is being written does not count.
    text.split_inclusive('\n').filter(|line| line.starts_with("{\"row\":") && line.ends_with('\n')).count()
}

#[test]
fn a_killed_load_experiment_keeps_all_rows_but_the_one_in_flight() {
    let home = own("killed-load");
    for (kill, enough) in [1, 4].into_iter().enumerate() {
        let words = ["load", "--quiet", "--cpu-time", "30ms", "--procs", "1..200"];
        let mut child = steady().env("XDG_DATA_HOME", &home).args(words).stderr(Stdio::null()).spawn().unwrap();
        while rows_logged(&home) < enough {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        }
        let before = rows_logged(&home);
        child.kill().unwrap();
        child.wait().unwrap();
        // A helper that was just being started has the log too, until it is: on a machine with more to do, for seconds.
        let imported = eventually(|| runs(&home).len() == kill + 1);
        assert!(imported, "{enough}: {:?}, {:?}", logs(&home), runs(&home));
        let run = runs(&home).pop().unwrap();
        assert_eq!((&run["kind"], &run["complete"]), (&"load".into(), &false.into()), "{run}");
        let words = ["history", "report", "last", "--format", "json"];
        let (status, stdout, _) = told(steady().env("XDG_DATA_HOME", &home).args(words).output().unwrap());
        let report: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((status, &report["ending"]), (0, &"interrupted".into()));
        assert!(report["rows"].as_array().unwrap().len() >= before, "{before} rows were logged");
    }
    assert!(logs(&home).is_empty(), "each is imported once");
}

#[test]
fn a_living_comparison_is_left_alone() {
    let (home, notes) = (own("living"), scratch("living"));
    let command = noting(&notes);
    let words = ["compare", "--quiet", "--runs", "1000000", &command, &command];
    let mut child = steady().env("XDG_DATA_HOME", &home).args(words).stderr(Stdio::null()).spawn().unwrap();
    while pairs_noted(&notes).len() < 5 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
    }
    assert!(runs(&home).is_empty());
    assert_eq!(logs(&home).len(), 1);
    // Another comparison ends meanwhile.
    assert_eq!(compare_in(&home).0, 0);
    assert_eq!((runs(&home).len(), logs(&home).len()), (1, 1));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(runs(&home)[1]["complete"], false, "it was interrupted");
    assert!(logs(&home).is_empty());
    fs::remove_file(notes).unwrap();
}

#[test]
fn what_was_measured_before_a_failure_is_kept() {
    let (home, count) = (own("failure"), scratch("failure"));
    let fails = |after: u32| format!("sh -c 'echo >>{0}; [ $(wc -l <{0}) -le {after} ]'", count.display());
    for (after, kept) in [(0, 0), (40, 1)] {
        let words = ["compare", "--runs", "100", "true", &fails(after)];
        let (status, _, stderr) = told(steady().env("XDG_DATA_HOME", &home).args(words).output().unwrap());
        assert_eq!((status, stderr.lines().count()), (3, 1), "{stderr}");
        assert!(logs(&home).is_empty());
        assert_eq!(runs(&home).len(), kept);
        fs::remove_file(&count).unwrap();
    }
    let run = &runs(&home)[0];
    assert!(run["complete"] == false && run["pairs"].as_u64() > Some(20), "{run}");
}

/// Compares while the database takes nothing, so that the log stays; its path.
fn log_that_stays(home: &Path) -> PathBuf {
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
    let home = own("twice");
    let log = log_that_stays(&home);
    let text = fs::read(&log).unwrap();
    assert_eq!(runs(&home).len(), 2);
    assert!(!log.exists());
    fs::write(&log, text).unwrap();
    assert_eq!(runs(&home).len(), 2);
    assert!(!log.exists());
}

#[test]
fn a_log_that_makes_no_sense_is_put_aside_and_an_empty_one_removed() {
    let home = own("senseless");
    let log = log_that_stays(&home);
    let text = fs::read_to_string(&log).unwrap();
    // Longer than any run can have been.
    let (before, after) = text.split_once("\"wall_seconds\":").unwrap();
    let after = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    fs::write(&log, format!("{before}\"wall_seconds\":18400000000000000000{after}")).unwrap();
    fs::write(log.with_file_name("empty.log"), "").unwrap();
    assert_eq!(runs(&home).len(), 1);
    assert_eq!(logs(&home), [log.with_extension("unreadable")]);
}

#[test]
fn the_data_are_for_the_user_alone() {
    let home = own("private");
    assert_eq!(compare_in(&home).0, 0);
    let mode = home.join("steady").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Whether a comparison went on, and said on one line why it is not kept.
fn went_on(ended: &(i32, String, String), why: &str) {
    let (status, stdout, stderr) = ended;
    assert_eq!(*status, 0, "{stderr}");
    assert!(stdout.contains("Seed") && !stdout.contains("History"), "{stdout}");
    assert!(stderr.starts_with("steady: not kept in the history: ") && stderr.contains(why), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn without_a_home_the_comparison_goes_on() {
    let mut command = steady();
    command.env_remove("XDG_DATA_HOME").env_remove("HOME").args(["compare", "--runs", "6", "true", "true"]);
    went_on(&told(command.output().unwrap()), "neither XDG_DATA_HOME nor HOME");
    let mut command = steady();
    let (status, _, stderr) =
        told(command.env_remove("XDG_DATA_HOME").env_remove("HOME").args(["history", "list"]).output().unwrap());
    assert_eq!(status, 125);
    assert!(stderr.contains("neither XDG_DATA_HOME nor HOME"), "{stderr}");
}

#[test]
fn what_a_damaged_database_cannot_take_stays_in_its_log() {
    let home = own("damaged");
    let database = home.join("steady/history.db");
    assert_eq!(compare_in(&home).0, 0);
    let whole = fs::read(&database).unwrap();
    let garbage = "no database\n".repeat(1000);
    fs::write(&database, &garbage).unwrap();
    went_on(&compare_in(&home), "not a database");
    assert_eq!(fs::read_to_string(&database).unwrap(), garbage, "it is left alone");
    let listed = steady().env("XDG_DATA_HOME", &home).args(["history", "list"]).output().unwrap();
    assert_eq!(told(listed).0, 125);
    assert_eq!(logs(&home).len(), 1);
    fs::write(&database, whole).unwrap();
    assert_eq!(runs(&home).len(), 2);
    assert!(runs(&home).iter().all(|run| run["complete"] == true && run["pairs"] == 6), "both came to their end");
    assert!(logs(&home).is_empty());
}

#[test]
fn what_a_locked_database_cannot_take_stays_in_its_log() {
    let home = own("locked");
    assert_eq!(compare_in(&home).0, 0);
    let other = rusqlite::Connection::open(home.join("steady/history.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    went_on(&compare_in(&home), "locked");
    drop(other);
    assert_eq!(runs(&home).len(), 2);
}

#[test]
fn a_database_of_a_newer_version_is_told() {
    let home = own("newer");
    assert_eq!(compare_in(&home).0, 0);
    let other = rusqlite::Connection::open(home.join("steady/history.db")).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    drop(other);
    went_on(&compare_in(&home), "newer version");
}

/// Compares in a file system of its own that is mounted with `options`; `None` where none can be mounted here.
fn compare_on_tmpfs(test: &str, options: &str) -> Option<(i32, String, String)> {
    let folder = scratch(test);
    fs::create_dir_all(&folder).unwrap();
    let script = format!("mount -t tmpfs -o {options} tmpfs {0} || exit 77; shift; exec \"$@\"", folder.display());
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh", "x"]);
    command.arg(env!("CARGO_BIN_EXE_steady")).args(["compare", "--runs", "6", "true", "true"]);
    let output = command.env("XDG_DATA_HOME", &folder).stdin(Stdio::null()).output();
    fs::remove_dir_all(&folder).unwrap();
    output.ok().map(told).filter(|(status, _, stderr)| *status != 77 && !stderr.starts_with("unshare"))
}

#[test]
fn on_a_full_disk_the_comparison_goes_on() {
    // Room for nothing, for a log only, and for a part of the database.
    for kibibytes in [4, 16, 32] {
        match compare_on_tmpfs("full", &format!("size={kibibytes}k")) {
            Some(told) => went_on(&told, ""),
            None => return skip("on_a_full_disk_the_comparison_goes_on", "no file system can be mounted"),
        }
    }
}

#[test]
fn on_a_disk_that_cannot_be_written_the_comparison_goes_on() {
    match compare_on_tmpfs("read-only", "ro") {
        Some(told) => went_on(&told, "Read-only"),
        None => skip("on_a_disk_that_cannot_be_written_the_comparison_goes_on", "no file system can be mounted"),
    }
}

#[test]
fn a_run_is_kept_before_its_report_is_written() {
    let home = own("unread");
    // Samples are more than a pipe holds, and nobody reads them.
    let words = ["costs", "--only", "system_call", "--repetitions", "3000", "--samples", "--format", "json"];
    let mut child = steady().env("XDG_DATA_HOME", &home).args(words).stdout(Stdio::piped()).spawn().unwrap();
    assert!(eventually(|| runs(&home).len() == 1));
    assert!(child.try_wait().unwrap().is_none(), "it waits for a reader");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(runs(&home)[0]["complete"], true);
    fs::remove_dir_all(&home).unwrap();
}
