//! Tests of writing and reading rows.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use steady_agent::store::{Batch, Reader, StoreError, VersionFacts, Writer};
use steady_model::{LevelSums, ReleaseRow, ReleaseRows, RequestSums};

use crate::made::{PLENTY, batch, file, host_second, levels, process, row, ruler, sums};

#[test]
fn rows_are_read_as_written() {
    let path = file("as-written");
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    let classed = ReleaseRow { class: 2, ..row(1_000, 7, 0, 1, 4) };
    let requests = vec![row(1_000, 7, 0, 1, 5), row(1_000, 7, 1, 2, 1), row(998, 9, 1, 0, 2), classed];
    writer.write(&batch(1_000, requests.clone())).unwrap();
    let reader = Reader::open(&path).unwrap();
    let read = reader.rows("shop", 990, 1_001).unwrap();
    let given = &batch(1_000, vec![]).services[0];
    assert_eq!(read.hosts, ["here"]);
    // The numbers of names may differ, so rows are compared by their names.
    let plain = |rows: &ReleaseRows| {
        let mut all: Vec<_> = rows.requests.iter().map(|row| named(rows, row)).collect();
        all.sort_unstable_by_key(|(second, process, names, sums)| (*second, *process, names.clone(), sums.requests));
        all
    };
    assert_eq!(plain(&read), plain(&ReleaseRows { requests, ..given.clone() }));
    assert_eq!((read.folded, read.lost), (2, 3));
    assert_eq!(
        read.walls.iter().map(|wall| (wall.second, wall.counts.clone())).collect::<Vec<_>>(),
        [(1_000, vec![(3, 1), (7, 2)])]
    );
    assert_eq!(read.seconds, [host_second(1_000, 0.0)]);
    assert_eq!(read.rulers.iter().filter(|row| row.process == 0).collect::<Vec<_>>(), [&ruler(1_000, 0, None)]);
    let of_version = read.processes.iter().find(|row| row.version.is_some()).unwrap();
    assert_eq!(read.versions[of_version.version.unwrap() as usize], given.versions[1]);
    assert_eq!(of_version, &process(1_000, 7, of_version.version, 0));
    assert_eq!(
        read.processes.iter().filter(|row| row.version.is_none()).collect::<Vec<_>>(),
        [&process(1_000, 8, None, 0)]
    );
    let own = read.rulers.iter().find(|row| row.process == 7).unwrap();
    assert_eq!(read.versions[own.version.unwrap() as usize], given.versions[1]);
    assert_eq!(reader.rows("shop", 999, 1_000).unwrap().requests, []);
    assert_eq!(reader.rows("shop", 998, 999).unwrap().requests.len(), 1);
    assert_eq!(
        reader.rows("else", 0, u64::MAX).unwrap(),
        ReleaseRows { service: "else".to_owned(), ..ReleaseRows::default() }
    );
}

#[test]
fn other_users_cannot_open_the_store_or_its_journals() {
    let path = file("private");
    let journal = |suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let mode = |suffix: &str| fs::metadata(journal(suffix)).unwrap().permissions().mode() & 0o777;
    let modes = || ["", "-wal", "-shm"].map(mode);
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    writer.write(&batch(1_000, vec![row(1_000, 7, 0, 1, 5)])).unwrap();
    assert_eq!(modes(), [0o600; 3]);
    // While a reader is open, the journals remain after the writer has ended.
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.rows("shop", 0, 2_000).unwrap().requests.len(), 1);
    drop(writer);
    // Earlier versions created the files with this mode.
    for suffix in ["", "-wal", "-shm"] {
        fs::set_permissions(journal(suffix), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    assert_eq!(modes(), [0o600; 3]);
    drop(reader);
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(journal(suffix)).unwrap();
    }
    assert!(writer.write(&batch(1_001, vec![])).unwrap());
    assert_eq!(modes(), [0o600; 3]);
}

fn named(rows: &ReleaseRows, row: &ReleaseRow) -> (u64, u64, [String; 3], RequestSums) {
    let (version, route) = (&rows.versions[row.version as usize], &rows.routes[row.route as usize]);
    let class = &rows.classes[row.class as usize];
    (row.second, row.process, [version, route, class].map(String::clone), row.sums)
}

#[test]
fn a_store_of_the_first_version_is_read_and_migrated() {
    let path = file("first-version");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/stores/version-1.db");
    std::fs::copy(kept, &path).unwrap();
    let version = || -> i64 {
        let connection = Connection::open(&path).unwrap();
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    let assert_rows = || {
        let rows = Reader::open(&path).unwrap().rows("shop", 0, 2_000).unwrap();
        let place = |row: &ReleaseRow| (row.second, row.process, row.slot_seconds, row.sums.requests);
        let mut found: Vec<_> = rows.requests.iter().map(place).collect();
        found.sort_unstable();
        assert_eq!(found, [(1_000, 7, 0, 1), (1_000, 7, 0, 8), (1_000, 9, 2, 2), (1_001, 7, 0, 1)]);
        for row in &rows.requests {
            let written =
                RequestSums { levels: LevelSums::default(), wall_log: row.sums.wall_log, ..sums(row.sums.requests) };
            assert_eq!(row.sums, written);
        }
        assert_eq!((rows.rulers.len(), rows.seconds.len(), rows.walls.len()), (4, 2, 1));
        assert_eq!((rows.folded, rows.lost, rows.processes.len(), rows.classes.len()), (4, 6, 0, 0));
    };
    assert_rows();
    assert_eq!(version(), 1, "a reader does not migrate the store");
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    assert_eq!((version(), writer.clock("here").unwrap()), (3, Some(("a boot".to_owned(), 77))));
    assert_rows();
    let classed = ReleaseRow { class: 1, ..row(1_002, 7, 0, 1, 3) };
    writer.write(&batch(1_002, vec![row(1_001, 7, 1, 2, 2), classed])).unwrap();
    let rows = Reader::open(&path).unwrap().rows("shop", 1_001, 2_000).unwrap();
    let requests: Vec<_> = rows.requests.iter().map(|row| (row.sums.requests, row.sums.levels, row.class)).collect();
    assert_eq!(requests, [(3, levels(2), 0), (3, levels(3), 1)], "rows of both formats are added up");
    assert_eq!(rows.classes, ["", "hit"]);
}

#[test]
fn rows_of_a_second_from_several_batches_are_added_up() {
    let path = file("parts");
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    for (now, requests) in [(1_000, 5), (1_001, 2), (1_002, 1)] {
        writer.write(&batch(now, vec![row(1_000, 7, 0, 1, requests)])).unwrap();
    }
    let reader = Reader::open(&path).unwrap();
    let read = reader.rows("shop", 1_000, 1_001).unwrap();
    assert_eq!(read.requests.len(), 1);
    assert_eq!((read.requests[0].sums.requests, read.requests[0].sums.cpu), (8, sums(8).cpu));
    assert_eq!(read.walls.iter().map(|row| row.counts.clone()).collect::<Vec<_>>(), [[(3, 3), (7, 6)]]);
    let services = reader.services().unwrap();
    assert_eq!(services.len(), 1);
    assert_eq!((services[0].first, services[0].last, services[0].requests), (1_000, 1_000, 8));
    assert_eq!(services[0].versions, [VersionFacts { name: "v1".to_owned(), first: 1_000, last: 1_000 }]);
    assert_eq!(reader.last_second().unwrap(), Some(1_002));
    assert_eq!(reader.facts().unwrap().first, Some(1_000));
}

#[test]
fn readers_read_while_the_agent_writes_and_after_it_was_killed() {
    let path = file("killed");
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    writer.write(&batch(1_000, vec![row(1_000, 7, 0, 1, 5)])).unwrap();
    let reader = Reader::open(&path).unwrap();
    writer.write(&batch(1_001, vec![row(1_001, 7, 0, 1, 5)])).unwrap();
    assert_eq!(reader.rows("shop", 0, 2_000).unwrap().requests.len(), 2);
    drop(reader);
    assert!(matches!(Writer::open(&path, PLENTY), Err(StoreError::Taken(_))));
    // A copy of the files as a killed agent leaves them, with a journal that is not checkpointed.
    let killed = file("left");
    for suffix in ["", "-wal"] {
        let of = |path: &std::path::Path| format!("{}{suffix}", path.display());
        std::fs::copy(of(&path), of(&killed)).unwrap();
    }
    drop(writer);
    let path = killed;
    assert_eq!(Reader::open(&path).unwrap().rows("shop", 0, 2_000).unwrap().requests.len(), 2);
    let mut again = Writer::open(&path, PLENTY).unwrap();
    again.write(&batch(1_002, vec![row(1_002, 7, 0, 1, 5)])).unwrap();
    assert_eq!(Reader::open(&path).unwrap().rows("shop", 0, 2_000).unwrap().requests.len(), 3);
}

#[test]
fn newer_and_foreign_databases_are_refused() {
    let open = |path: &std::path::Path| (Writer::open(path, PLENTY).err(), Reader::open(path).err());
    let path = file("newer");
    drop(Writer::open(&path, PLENTY).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let (writing, reading) = open(&path);
    assert!(matches!(writing, Some(StoreError::TooNew { found: 99, .. })), "{writing:?}");
    assert!(matches!(reading, Some(StoreError::TooNew { found: 99, .. })), "{reading:?}");
    let path = file("foreign");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let (writing, reading) = open(&path);
    assert!(matches!(writing, Some(StoreError::Foreign)) && matches!(reading, Some(StoreError::Foreign)));
    let path = file("text");
    std::fs::write(&path, "this file is not a database, and it is longer than the header of one\n".repeat(20)).unwrap();
    let (writing, reading) = open(&path);
    assert!(matches!(writing, Some(StoreError::NotADatabase)) && matches!(reading, Some(StoreError::NotADatabase)));
    let folder = Reader::open(&std::env::temp_dir()).err();
    assert!(matches!(folder, Some(StoreError::IsDirectory)), "{folder:?}");
    let (_, missing) = (0, Reader::open(&file("missing")).err());
    assert!(matches!(missing, Some(StoreError::Missing)));
}

/// "There is no store" would send its user to start an agent that already runs.
#[test]
#[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
fn a_store_that_may_not_be_read_is_not_reported_as_missing() {
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        eprintln!("skipped: a_store_that_may_not_be_read_is_not_reported_as_missing: root may read any file");
        return;
    }
    let path = file("denied");
    drop(Writer::open(&path, PLENTY).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let error = Reader::open(&path).err().unwrap();
    assert!(matches!(error, StoreError::Denied(_)) && error.to_string().contains("permission denied (owner: user "));
}

#[test]
fn an_error_names_the_damaged_second() {
    let path = file("damaged");
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    writer.write(&batch(1_000, vec![row(1_000, 7, 0, 1, 5)])).unwrap();
    Connection::open(&path).unwrap().execute("UPDATE blocks SET rows = x'07'", []).unwrap();
    let error = Reader::open(&path).unwrap().rows("shop", 0, 2_000).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { second: 1_000, .. }), "{error}");
}

#[test]
fn a_removed_store_is_created_again() {
    let path = file("removed");
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    let mut write = |second| writer.write(&batch(second, vec![row(second, 7, 0, 1, 5)]));
    let seconds = || {
        let rows = Reader::open(&path).unwrap().rows("shop", 0, 2_000).unwrap();
        rows.requests.iter().map(|row| row.second).collect::<Vec<_>>()
    };
    assert!(!write(1_000).unwrap());
    std::fs::remove_file(&path).unwrap();
    assert!(write(1_001).unwrap());
    assert_eq!(seconds(), [1_001]);
    // A file that took its place is not the open one.
    std::fs::rename(&path, path.with_extension("moved")).unwrap();
    std::fs::write(&path, "").unwrap();
    assert!(write(1_002).unwrap());
    assert_eq!(seconds(), [1_002]);
    // Nothing is stored while the file cannot be created.
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(write(1_003).is_err() && write(1_003).is_err());
    std::fs::remove_dir(&path).unwrap();
    assert!(write(1_003).unwrap() && !write(1_004).unwrap());
    assert_eq!(seconds(), [1_003, 1_004]);
}

#[test]
fn a_store_that_replaces_the_open_one_keeps_its_rows() {
    let journal = |path: &std::path::Path| path.with_extension("db-wal");
    for with_journal in [false, true] {
        let [path, other] = ["replaced", "replacing"].map(file);
        let row_at = |second| batch(second, vec![row(second, 7, 0, 1, 5)]);
        let mut replacing = Writer::open(&other, PLENTY).unwrap();
        replacing.write(&row_at(1_000)).unwrap();
        let mut writer = Writer::open(&path, PLENTY).unwrap();
        writer.write(&row_at(1_001)).unwrap();
        if with_journal {
            fs::rename(journal(&other), journal(&path)).unwrap();
        } else {
            drop(replacing);
        }
        fs::rename(&other, &path).unwrap();
        assert!(writer.write(&row_at(1_002)).unwrap() && !writer.write(&row_at(1_003)).unwrap());
        let rows = Reader::open(&path).unwrap().rows("shop", 0, 2_000).unwrap();
        let seconds: Vec<u64> = rows.requests.iter().map(|row| row.second).collect();
        assert_eq!(seconds, [1_000, 1_002, 1_003], "with its journal: {with_journal}");
    }
}

#[test]
fn a_file_that_replaces_the_store_is_checked_as_at_the_start() {
    let [path, linked] = ["unchecked", "linked"].map(file);
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    fs::write(&linked, "").unwrap();
    fs::remove_file(&path).unwrap();
    fs::hard_link(&linked, &path).unwrap();
    let error = writer.write(&batch(1_000, vec![row(1_000, 7, 0, 1, 5)])).unwrap_err();
    assert!(error.to_string().contains("several names"), "{error}");
}

#[test]
fn clock_offsets_are_stored_by_host() {
    let path = file("clocks");
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    assert_eq!(writer.clock("here").unwrap(), None);
    writer.keep_clock("here", "boot-1", 77, 1_000).unwrap();
    writer.keep_clock("here", "boot-2", -3, 1_000).unwrap();
    writer.write(&Batch::default()).unwrap();
    assert_eq!(writer.clock("here").unwrap(), Some(("boot-2".to_owned(), -3)));
}
