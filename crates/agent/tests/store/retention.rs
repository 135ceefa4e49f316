//! Tests of the limits of age and size, and of downsampling.

use steady_agent::store::{Keep, Reader, Writer};
use steady_model::{Assignment, LevelSums, ReleaseRow};

use crate::made::{PLENTY, batch, file, levels, process, row};

#[test]
fn rows_beyond_the_age_limit_are_removed() {
    let path = file("age");
    let mut writer = Writer::open(&path, Keep { seconds: 60, ..PLENTY }).unwrap();
    for second in 1_000..1_200 {
        writer.write(&batch(second, vec![row(second, 7, 0, 1, 5)])).unwrap();
        writer.enforce_limits(second).unwrap();
    }
    let reader = Reader::open(&path).unwrap();
    let read = reader.rows("shop", 0, 2_000).unwrap();
    let first = read.requests.iter().map(|row| row.second).min();
    assert_eq!((first, read.requests.len()), (Some(1_139), 61));
    // Rows of wall times have the first second of their ten-second interval.
    assert_eq!(read.walls.iter().map(|row| row.second).min(), Some(1_140));
}

#[test]
fn the_oldest_rows_are_removed_at_the_size_limit() {
    let path = file("size");
    let most = 2 << 20;
    let mut writer = Writer::open(&path, Keep { bytes: most, ..PLENTY }).unwrap();
    for second in 1_000..1_400 {
        // Rows with large blobs: all processes and numbers are different.
        let rows = (0..200).map(|number| {
            let mut row = row(second, second * 1_000 + number, 0, 1, 5);
            row.sums.log_squared = (second + number) as f64 * 0.123;
            row.sums.levels = LevelSums::default();
            row
        });
        writer.write(&batch(second, rows.collect())).unwrap();
        writer.enforce_limits(second).unwrap();
        let size: u64 = ["", "-wal", "-shm"].iter().map(|suffix| size_of(&path, suffix)).sum();
        assert!(size <= most, "{size} bytes in second {second}");
    }
    let reader = Reader::open(&path).unwrap();
    let read = reader.rows("shop", 0, 2_000).unwrap();
    let stored: u64 = read.requests.iter().map(|row| row.sums.requests).sum();
    let service = &reader.services().unwrap()[0];
    assert_eq!((service.requests, service.last), (stored, 1_399), "only what is stored is counted");
    // Rows of the first of these seconds may have been removed too.
    let before = reader.removed_before().unwrap().unwrap();
    assert!((before..before + 2).contains(&read.seconds[0].second) && service.first.abs_diff(before) < 2, "{before}");
    let seconds: Vec<u64> = read.seconds.iter().map(|at| at.second).collect();
    assert_eq!(seconds.last(), Some(&1_399));
    assert!(seconds.is_sorted() && seconds[0] > 1_200 && seconds.len() > 40, "{seconds:?}");
    assert_eq!(seconds.len() as u64, 1_400 - seconds[0], "no second in between was removed");
}

#[test]
fn a_store_whose_limit_was_lowered_shrinks() {
    let path = file("lowered");
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    for second in 1_000..1_400 {
        writer.write(&batch(second, (0..100).map(|number| row(second, number, 0, 1, 5)).collect())).unwrap();
    }
    drop(writer);
    let most = 1 << 20;
    assert!(size_of(&path, "") > 2 * most);
    let mut writer = Writer::open(&path, Keep { bytes: most, ..PLENTY }).unwrap();
    for _ in 0..60 {
        writer.enforce_limits(1_400).unwrap();
    }
    let size: u64 = ["", "-wal", "-shm"].iter().map(|suffix| size_of(&path, suffix)).sum();
    assert!(size <= most && size > most / 2, "{size} bytes");
}

fn size_of(path: &std::path::Path, suffix: &str) -> u64 {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    std::fs::metadata(name).map_or(0, |facts| facts.len())
}

#[test]
fn old_seconds_are_downsampled_and_slots_stay() {
    let path = file("tens");
    let mut writer = Writer::open(&path, PLENTY).unwrap();
    for second in 1_000..1_040 {
        let mut slot = row(second, 7, 1, 0, 3);
        (slot.assignment, slot.slot_seconds, slot.second_of_pair) = (Assignment::Slot, 1, second % 2 == 1);
        let classed = ReleaseRow { class: 1, ..row(second, 7, 0, 1, 2) };
        let mut batch = batch(second, vec![row(second, 7, 0, 1, 5), slot, classed]);
        batch.services[0].processes.push(process(second, 7, Some(0), 1));
        writer.write(&batch).unwrap();
    }
    let before = Reader::open(&path).unwrap().rows("shop", 0, 2_000).unwrap();
    drop(writer);
    // More than half of this limit is used, so that the store is downsampled.
    let limit = Reader::open(&path).unwrap().facts().unwrap().bytes * 5 / 4 * 2;
    let mut writer = Writer::open(&path, Keep { bytes: limit, ..PLENTY }).unwrap();
    let downsampled: usize = (0..9).map(|_| writer.enforce_limits(1_035 + 15 * 60).unwrap().downsampled).sum();
    assert_eq!(downsampled, 3, "the last interval is not old enough");
    let after = Reader::open(&path).unwrap().rows("shop", 0, 2_000).unwrap();
    let of = |rows: &steady_model::ReleaseRows, assignment| {
        let rows: Vec<_> = rows.requests.iter().filter(|row| row.assignment == assignment).copied().collect();
        (
            rows.len(),
            rows.iter().map(|row| row.sums.requests).sum::<u64>(),
            rows.iter().map(|row| row.sums.cpu).sum::<f64>(),
        )
    };
    assert_eq!(of(&before, Assignment::Slot), of(&after, Assignment::Slot));
    let ((many, requests, cpu), (few, again, same)) = (of(&before, Assignment::Random), of(&after, Assignment::Random));
    assert_eq!((many, few, requests, cpu), (2 * 40, 2 * (3 + 10), again, same));
    let of_interval = |class: &str| {
        let place = after.classes.iter().position(|name| name == class).unwrap() as u32;
        let of_class = |row: &&ReleaseRow| row.second == 1_010 && row.class == place && row.slot_seconds == 0;
        after.requests.iter().filter(of_class).map(|row| row.sums.levels).collect::<Vec<_>>()
    };
    assert_eq!((of_interval(""), of_interval("hit")), (vec![levels(50)], vec![levels(20)]));
    let cpu = |rows: &steady_model::ReleaseRows, slot_seconds| {
        let of_slots = rows.processes.iter().filter(|row| row.slot_seconds == slot_seconds);
        let of_slots: Vec<(f64, f64)> = of_slots.map(|row| (row.cpu, row.requests_cpu)).collect();
        let sums = of_slots.iter().fold((0.0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
        (of_slots.len(), sums)
    };
    assert_eq!(cpu(&before, 1), cpu(&after, 1), "rows of slots stay as they are");
    assert_eq!((cpu(&before, 0), cpu(&after, 0)), ((80, (80.0 * 9e8, 80.0 * 7e8)), (26, (80.0 * 9e8, 80.0 * 7e8))));
    assert_eq!(after.requests.iter().filter(|row| row.second < 1_010 && row.slot_seconds == 0).count(), 2);
    let spans = |rows: &steady_model::ReleaseRows| -> Vec<u32> {
        [(1_009, Assignment::Slot), (1_010, Assignment::Random), (1_035, Assignment::Random)]
            .map(|at| {
                rows.requests.iter().find(|row| (row.second, row.assignment) == at).map_or(0, |row| row.span_seconds)
            })
            .into()
    };
    assert_eq!((spans(&before), spans(&after)), (vec![1, 1, 1], vec![1, 10, 1]));
    let readings = |rows: &steady_model::ReleaseRows| rows.rulers.iter().map(|row| row.sums.readings).sum::<u64>();
    assert_eq!(readings(&before), readings(&after));
    let busy = after.seconds.iter().find(|at| at.second == 1_010).unwrap().busy.unwrap();
    assert!((busy - 0.45).abs() < 1e-12 && after.seconds.len() == 13, "{busy}");
    assert_eq!((before.folded, before.lost), (after.folded, after.lost));
    let walls = |rows: &steady_model::ReleaseRows| {
        rows.walls.iter().flat_map(|row| &row.counts).map(|(_, count)| u64::from(*count)).sum::<u64>()
    };
    assert_eq!((walls(&before), after.walls.len()), (walls(&after), 4));
}

#[test]
fn unused_names_are_removed() {
    let path = file("names");
    let mut writer = Writer::open(&path, Keep { seconds: 100, ..PLENTY }).unwrap();
    for second in 1_000..1_600 {
        let mut batch = batch(second, vec![row(second, 7, 0, 1, 5)]);
        batch.services[0].versions[0] = format!("v{second}");
        writer.write(&batch).unwrap();
        writer.enforce_limits(second).unwrap();
    }
    let names: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM names", [], |row| row.get(0))
        .unwrap();
    assert!((100..300).contains(&names), "{names}");
    let reader = Reader::open(&path).unwrap();
    let read = reader.rows("shop", 0, 2_000).unwrap();
    assert!(read.versions.contains(&"v1599".to_owned()) && read.routes.contains(&"/item/<id>".to_owned()));
    assert!(reader.services().unwrap()[0].versions.len() < 200);
}
