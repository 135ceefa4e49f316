//! The history as a whole: stored runs are found again, also with other processes and after damage to the file.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::{fs, thread};

use proptest::prelude::*;
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode};
use steady_history::{History, HistoryError, Selection, Which};
use steady_linux::clock;
use steady_model::{Absent, Facts, Metric, Nanos, RunKind, Seed, Timestamp};

/// The path of a file for one test. The file does not exist.
fn file(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}.db", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

fn facts(started: u64) -> Facts {
    Facts {
        kind: RunKind::new("compare"),
        started: Timestamp(started),
        hostname: Ok("host".to_owned()),
        kernel: Err(Absent::because("no /proc")),
        revision: Err(Absent::because("no repository")),
        seed: Ok(Seed(u64::MAX)),
        commands: vec!["sort \"a\nb\"".to_owned(), "日本語".to_owned()],
        pairs: Ok(12),
        complete: true,
        primary: Ok(Metric::Cpu),
        verdict: "5.8 % more".to_owned(),
    }
}

/// The facts of a run that has neither pairs nor a metric.
fn load(started: u64) -> Facts {
    let none = |what: &str| Absent::because(format!("load runs have no {what}"));
    Facts {
        kind: RunKind::new("load"),
        commands: vec!["hashes, 5 s of CPU time each".to_owned()],
        pairs: Err(none("pairs")),
        primary: Err(none("primary metric")),
        complete: false,
        verdict: "CPU 1.68x, wall 3.52x".to_owned(),
        ..facts(started)
    }
}

fn numbers(history: &History) -> Vec<i64> {
    history.list(None).unwrap().iter().map(|kept| kept.id).collect()
}

#[test]
fn other_users_cannot_open_the_file() {
    let path = file("private");
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    drop(History::open(&path).unwrap());
    assert_eq!(mode(&path), 0o600);
    // Earlier versions let others read it.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(History::open(&path).unwrap());
    assert_eq!(mode(&path), 0o600);
    // A database that does not exist yet, named by a symbolic link.
    let (link, target) = (file("private-link"), file("private-target"));
    symlink(&target, &link).unwrap();
    drop(History::open(&link).unwrap());
    assert_eq!(mode(&target), 0o600);
    assert!(link.is_symlink());
}

#[test]
fn stored_runs_are_found() {
    let path = file("kept");
    let mut history = History::open(&path).unwrap();
    assert!(matches!(history.find(Which::Last), Err(HistoryError::Empty)));
    assert_eq!(history.insert("a", &facts(1), "record a").unwrap(), 1);
    assert_eq!(history.insert("b", &facts(2), "record b").unwrap(), 2);
    drop(history);
    let history = History::open(&path).unwrap();
    assert_eq!(history.find(Which::Last).unwrap().facts, facts(2));
    assert_eq!(history.find(Which::Id(1)).unwrap().facts, facts(1));
    assert_eq!(history.record(1).unwrap(), "record a");
    assert_eq!(history.list(Some(1)).unwrap()[0].id, 2, "a limit of one gives the last run");
    assert_eq!(numbers(&history), [1, 2]);
    assert!(matches!(history.find(Which::Id(3)), Err(HistoryError::Unknown(3))));
    fs::remove_file(path).unwrap();
}

#[test]
fn runs_of_any_kind_are_listed() {
    let mut history = History::empty().unwrap();
    let novelty = Facts { kind: RunKind::new("novelty"), ..facts(1) };
    history.insert("log", &novelty, "record").unwrap();
    assert_eq!(history.list(None).unwrap()[0].facts, novelty);
}

#[test]
fn a_run_is_not_stored_twice() {
    let mut history = History::empty().unwrap();
    assert_eq!(history.insert("log", &facts(1), "record").unwrap(), 1);
    assert_eq!(history.insert("log", &facts(1), "record").unwrap(), 1);
    assert_eq!(numbers(&history), [1]);
}

#[test]
fn removed_runs_are_gone_and_their_numbers_are_not_reused() {
    let mut history = History::empty().unwrap();
    let fill = |history: &mut History, from: u64| {
        for at in from..from + 4 {
            history.insert(&at.to_string(), &facts(at), "record").unwrap();
        }
    };
    fill(&mut history, 1);
    let gone = Selection::These(vec![Which::Id(1), Which::Id(9)]);
    assert!(matches!(history.remove(&gone), Err(HistoryError::Unknown(9))));
    assert_eq!(numbers(&history), [1, 2, 3, 4], "a failed removal removed a run");
    // A run that is given twice is removed once.
    assert_eq!(history.remove(&Selection::These(vec![Which::Last, Which::Id(4)])).unwrap(), 1);
    assert!(matches!(history.record(4), Err(HistoryError::Damaged { id: 4, .. })), "its record is gone too");
    assert_eq!(history.remove(&Selection::Before(Timestamp(3))).unwrap(), 2);
    assert_eq!(numbers(&history), [3]);
    fill(&mut history, 5);
    assert_eq!(numbers(&history), [3, 5, 6, 7, 8], "number 4 is used again");
    assert_eq!(history.remove(&Selection::All).unwrap(), 5);
    assert_eq!(history.remove(&Selection::All).unwrap(), 0);
}

#[test]
fn the_file_shrinks_when_runs_are_removed() {
    let path = file("shrinks");
    let mut history = History::open(&path).unwrap();
    let empty = fs::metadata(&path).unwrap().len();
    let mut noise = 1u64;
    let mut letter = || {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + (noise >> 58) as u8)
    };
    let record: String = (0..1_000_000).map(|_| letter()).collect();
    history.insert("large", &facts(1), &record).unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 500_000);
    history.remove(&Selection::All).unwrap();
    assert!(fs::metadata(&path).unwrap().len() <= empty + 8192);
    fs::remove_file(path).unwrap();
}

/// Repeats a step that has waited in vain for other writers, as may happen on a busy machine. It must have waited for
/// about 5 s.
fn patiently<T>(mut step: impl FnMut() -> Result<T, HistoryError>) -> T {
    for _ in 0..20 {
        let begun = clock::monotonic();
        match step() {
            Err(HistoryError::Database(error))
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && clock::monotonic() - begun > Nanos(4_500_000_000) => {}
            other => return other.unwrap(),
        }
    }
    panic!("the database stays locked");
}

#[test]
fn several_processes_can_write_concurrently() {
    let path = file("several");
    let write = |writer: usize| {
        let path = path.clone();
        thread::spawn(move || {
            for run in 0..10 {
                let mut history = patiently(|| History::open(&path));
                patiently(|| history.insert(&format!("{writer}-{run}"), &facts(1), "record"));
            }
        })
    };
    let writers: Vec<_> = (0..4).map(write).collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(History::open(&path).unwrap().list(None).unwrap().len(), 40);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_not_changed() {
    let path = file("none");
    fs::write(&path, "not a database, but long enough to be taken for one\n".repeat(100)).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(History::open(&path), Err(HistoryError::Database(_))));
    assert!(fs::read(&path).unwrap() == before);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_newer_schema_is_refused_and_not_changed() {
    let path = file("newer");
    let newer = Connection::open(&path).unwrap();
    newer.execute_batch("CREATE TABLE runs (id INTEGER, novelty TEXT); PRAGMA user_version = 1000").unwrap();
    drop(newer);
    let before = fs::read(&path).unwrap();
    let Err(error) = History::open(&path) else { panic!("it was opened") };
    assert!(matches!(error, HistoryError::TooNew { found: 1000, .. }));
    assert!(error.to_string().contains("newer version"), "{error}");
    assert!(fs::read(&path).unwrap() == before);
    fs::remove_file(path).unwrap();
}

#[test]
fn an_empty_file_becomes_a_history() {
    let path = file("empty");
    fs::write(&path, "").unwrap();
    assert_eq!(numbers(&History::open(&path).unwrap()), [0i64; 0]);
    let version = "PRAGMA user_version";
    let found: i64 = Connection::open(&path).unwrap().query_row(version, [], |row| row.get(0)).unwrap();
    assert_eq!(found, 2);
    fs::remove_file(path).unwrap();
}

/// Copies a history of an earlier version, and returns the path of the copy.
fn copy_of_version(version: u32) -> PathBuf {
    let name = format!("version-{version}");
    let copy = file(&name);
    fs::copy(kept_version(version), &copy).unwrap();
    copy
}

fn kept_version(version: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/history/version-{version}.db"))
}

/// Every later version must read a history of the first version. The current program cannot write one.
#[test]
fn a_history_of_version_1_is_read() {
    let copy = copy_of_version(1);
    let mut history = History::open(&copy).unwrap();
    let runs = history.list(None).unwrap();
    assert_eq!(runs[0].facts, facts(1_795_171_242));
    assert_eq!((runs[1].facts.complete, runs[1].id), (false, 2));
    assert_eq!([history.record(1).unwrap(), history.record(2).unwrap()], ["a record", "another record"]);
    assert_eq!(history.insert("second.log", &facts(1), "").unwrap(), 2);
    assert_eq!(history.insert("third.log", &load(1), "").unwrap(), 3);
    assert_eq!(history.find(Which::Id(3)).unwrap().facts, load(1));
    fs::remove_file(copy).unwrap();
}

/// With `STEADY_BLESS=1`, the history of the second version is written if it is missing, and never overwritten.
#[test]
fn a_history_of_version_2_is_read() {
    let kept = kept_version(2);
    if !kept.exists() && std::env::var_os("STEADY_BLESS").is_some_and(|value| value == "1") {
        let mut history = History::open(&kept).unwrap();
        history.insert("first.log", &facts(1_795_171_242), "a record").unwrap();
        history.insert("second.log", &load(1_795_171_300), "another record").unwrap();
    }
    let copy = copy_of_version(2);
    let mut history = History::open(&copy).unwrap();
    let runs = history.list(None).unwrap();
    assert_eq!([&runs[0].facts, &runs[1].facts], [&facts(1_795_171_242), &load(1_795_171_300)]);
    assert_eq!(history.record(2).unwrap(), "another record");
    assert_eq!(history.insert("second.log", &facts(1), "").unwrap(), 2);
    assert_eq!(history.insert("third.log", &facts(1), "").unwrap(), 3);
    fs::remove_file(copy).unwrap();
}

/// Any value of a column.
fn garbage() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Real),
        ".*".prop_map(Value::Text),
        any::<Vec<u8>>().prop_map(Value::Blob),
        Just(Value::Null),
    ]
}

const COLUMNS: [&str; 18] = [
    "log",
    "kind",
    "started",
    "hostname",
    "hostname_absent",
    "kernel",
    "kernel_absent",
    "revision",
    "revision_absent",
    "seed",
    "seed_absent",
    "commands",
    "pairs",
    "pairs_absent",
    "complete",
    "metric",
    "metric_absent",
    "verdict",
];

/// The bytes of a history with twenty runs.
static TWENTY_RUNS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = file("twenty");
    let mut history = History::open(&path).unwrap();
    for run in 0..20 {
        history.insert(&run.to_string(), &facts(run), "record").unwrap();
    }
    drop(history);
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    bytes
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_row_with_garbage_is_reported_and_can_be_removed(column in prop::sample::select(&COLUMNS[..]), value in garbage()) {
        let path = file("garbage");
        let mut history = History::open(&path).unwrap();
        history.insert("log", &facts(1), "record").unwrap();
        let raw = Connection::open(&path).unwrap();
        // SQLite refuses values that the column's type forbids.
        if raw.execute(&format!("UPDATE runs SET {column} = ?1"), [&value]).is_ok()
            && let Err(error) = history.list(None)
        {
            prop_assert!(error.to_string().contains("steady history remove 1"), "{}", error);
        }
        if raw.execute("UPDATE records SET json = ?1", [&value]).is_ok() {
            prop_assert!(!matches!(history.record(1), Ok(text) if text == "record"));
        }
        prop_assert_eq!(history.remove(&Selection::These(vec![Which::Id(1)])).unwrap(), 1);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_garbled_file_never_panics(place in any::<prop::sample::Index>(), bytes in any::<[u8; 16]>()) {
        let path = file("garbled");
        let mut whole = TWENTY_RUNS.clone();
        let at = place.index(whole.len() - bytes.len());
        whole[at..at + bytes.len()].copy_from_slice(&bytes);
        fs::write(&path, whole).unwrap();
        if let Ok(mut history) = History::open(&path) {
            let _ = (history.list(None), history.record(3), history.insert("new", &facts(1), "record"));
        }
        fs::remove_file(&path).unwrap();
    }
}
