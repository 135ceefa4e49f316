//! Locks in every form, against files in `testdata/reports`; and the way back from JSON.
//! `STEADY_BLESS=1 cargo test` rewrites the files.

use proptest::prelude::*;
use serde_json::Value;
use steady_model::*;
use steady_report::*;

use crate::by_hand::locked;
use crate::by_hand::locked::{all, deadlocked, many, none, queue, quiet};
use crate::goldens;
use crate::made::HOSTILE;
use crate::values;

#[test]
fn reports_look_as_recorded() {
    goldens::hold(all().into_iter().flat_map(|(name, report)| {
        let text = |width| locks_text(&report, Style { width, color: false });
        let exports = [
            ("json", locks_json_text(&report)),
            ("csv", locks_csv(&report)),
            ("md", locks_markdown(&report)),
            ("html", locks_html(&report)),
        ];
        goldens::forms(name, text, exports)
    }));
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, report) in all() {
        goldens::lines_fit(name, |width| locks_text(&report, Style { width, color: false }));
    }
}

#[test]
fn colours_change_nothing_but_the_colour() {
    let plain = |text: String| {
        let pieces = text.split('\u{1b}').enumerate();
        pieces.map(|(at, piece)| if at == 0 { piece } else { piece.split_once('m').unwrap().1 }).collect::<String>()
    };
    for (_, report) in all() {
        let coloured = locks_text(&report, Style { width: 80, color: true });
        assert!(coloured.contains('\u{1b}'));
        assert_eq!(plain(coloured), locks_text(&report, Style::default()));
    }
}

#[test]
fn json_comes_back_as_it_was() {
    for (name, report) in all() {
        assert_eq!(read_locks_report(&locks_json_text(&report)), Ok(report), "{name}");
    }
}

#[test]
fn every_absent_reading_has_its_reason() {
    fn check(value: &Value, path: &str) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, field)| {
                let open = ["directory", "revision", "cpu_quota", "hypervisor"].contains(&name.as_str());
                let told = fields.contains_key(&format!("{name}_absent")) || open;
                assert!(!field.is_null() || told, "{path}.{name}");
                check(field, &format!("{path}.{name}"));
            }),
            Value::Array(all) => all.iter().for_each(|one| check(one, path)),
            _ => {}
        }
    }
    all().iter().for_each(|(name, report)| check(&locks_json(report), name));
}

#[test]
fn the_first_sentence_answers() {
    let told = |report: &LocksReport| {
        let text = locks_text(report, Style { width: 400, color: false });
        text.lines().next().unwrap().trim_start_matches("steady: ").to_owned()
    };
    assert_eq!(
        told(&queue()),
        "The threads waited 61 % of their lives for locks, nearly all of it for one mutex (L1), mostly taken by push() in src/queue.c:88."
    );
    assert!(told(&deadlocked()).starts_with("Deadlock: thread 78 alice() waited for L1 mutex, which thread 79 bob() had, and that one for L2 mutex, which thread 78 alice() had."), "{}", told(&deadlocked()));
    assert!(told(&none()).starts_with("No locks were watched: /home/me/server (Go:"), "{}", told(&none()));
    assert!(told(&quiet()).starts_with("The threads hardly waited for locks: 0 ms of the 810 ms that they lived."));
    assert!(told(&locked::untaken()).starts_with("No lock was taken, by 1 thread of 1 process."));
    assert!(told(&many()).contains("for locks, 19 % of it for one mutex (L1)."), "{}", told(&many()));
}

#[test]
fn who_waits_for_himself_is_stuck_too() {
    let mut report = deadlocked();
    report.locks[0].waiting = vec![1];
    report.locks[1].waiting = vec![];
    let text = locks_text(&report, Style { width: 400, color: false });
    assert!(text.contains("Deadlock: thread 79 bob() waited for L1 mutex, which it had itself."), "{text}");
    // Whoever has the lock does not wait: then it is only waited for.
    report.locks[0].held_by = Ok(0);
    assert!(!locks_text(&report, Style::default()).contains("Deadlock"));
    report.locks[0].held_by = Err(Absent::because("it was taken for reading"));
    let text = locks_text(&report, Style { width: 400, color: false });
    assert!(!text.contains("Deadlock") && text.contains("who had it is absent: it was taken for reading"), "{text}");
}

#[test]
fn sums_are_short() {
    assert_eq!(locks_summary(&queue()), "61 % waiting for locks, most for a mutex by push() in src/queue.c:88");
    assert_eq!(locks_summary(&deadlocked()), "deadlock");
    assert_eq!(locks_summary(&none()), "no locks were watched");
    assert_eq!(locks_summary(&quiet()), "0 % waiting for locks");
}

#[test]
fn texts_of_others_break_nothing() {
    let report = locked::hostile();
    let text = locks_text(&report, Style::default());
    assert!(!text.contains(['\u{202e}', '\u{1b}']), "{text}");
    assert!(locks_summary(&report).len() < 2 * HOSTILE.len());
    let page = locks_html(&report);
    assert!(!page.contains("<script") && !page.contains("]]>") && !page.contains("\" onload="), "{page}");
    let markdown = locks_markdown(&report);
    assert!(
        !markdown.replace("\\<script", "").lines().any(|line| line.starts_with("| ") && line.contains("<script")),
        "{markdown}"
    );
    for table in markdown.split("\n\n").filter(|part| part.starts_with("| ")) {
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        let head = columns(table.lines().next().unwrap());
        assert!(table.lines().take_while(|line| line.starts_with('|')).all(|line| columns(line) == head), "{table}");
    }
}

#[test]
fn what_is_broken_is_refused_with_its_place() {
    let text = locks_json_text(&queue());
    let broken = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        read_locks_report(&text.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert!(broken("steady.locks/1", "steady.compare/1").contains("a command's locks"));
    assert!(broken("steady.locks/1", "steady.locks/2").contains("newer"));
    assert!(broken("\"wall_seconds\": 2", "\"wall_seconds\": -2").contains("wall_seconds"));
    assert!(broken("\"kind\": \"mutex\"", "\"kind\": \"mutt\"").contains("kind"));
    assert!(broken("\"id\": 1", "\"id\": 2").contains("locks[0].id"));
    assert!(broken("\"process\": 0", "\"process\": 1").contains("process"));
    assert!(broken("\"address\": \"0x", "\"address\": \"0y").contains("locks[0].address"));
    assert!(broken("\"wait_max_seconds\": 0", "\"wait_max_seconds\": null, \"x\": 0").contains("wait_max_seconds"));
    assert!(broken("\"waiting\": []", "\"waiting\": [9]").contains("waiting"));
    assert!(broken("\"held_by\": null", "\"held_by\": 9").contains("held_by"));
}

/// The fields of a line of CSV, none of which holds a line's end.
fn fields(line: &str) -> usize {
    let (mut commas, mut inside) = (0, false);
    for letter in line.chars() {
        match letter {
            '"' => inside = !inside,
            ',' if !inside => commas += 1,
            _ => {}
        }
    }
    commas + 1
}

#[test]
fn csv_has_a_line_per_lock() {
    for (name, report) in all().into_iter().filter(|(name, _)| *name != "locks-hostile") {
        let csv = locks_csv(&report);
        assert_eq!(csv.lines().count(), 1 + report.locks.len(), "{name}");
        let head = fields(csv.lines().next().unwrap());
        assert!(csv.lines().all(|line| fields(line) == head), "{name}: {csv}");
    }
    let csv = locks_csv(&queue());
    let second = csv.lines().nth(1).unwrap();
    assert!(
        second
            .starts_with("1,mutex,4242,/home/me/queue/build/queue,0x55d012345040,false,1204331,311204,0,311204,12.98,"),
        "{second}"
    );
    assert!(second.ends_with(",push /home/me/queue/src/queue.c:88,10.07,2"), "{second}");
}

fn code_place() -> impl Strategy<Value = CodePlace> {
    let texts = (values::reading(".{0,20}"), values::reading(".{0,20}"), values::reading(".{0,20}"));
    (texts, any::<u64>()).prop_map(|((module, function, line), offset)| CodePlace { module, offset, function, line })
}

fn times() -> impl Strategy<Value = LockTimes> {
    let each = (values::nanos(), values::nanos(), values::nanos(), values::nanos());
    (any::<u64>(), each).prop_map(|(count, (total, median, p99, most))| LockTimes { count, total, median, p99, most })
}

fn holds() -> impl Strategy<Value = LockHolds> {
    (times(), values::nanos(), any::<u64>()).prop_map(|(times, mean, timed_sampled)| LockHolds {
        total: times.total,
        mean,
        median: times.median,
        p99: times.p99,
        most: times.most,
        timed_contended: times.count,
        timed_sampled,
    })
}

/// A lock of one of two processes, that one of three threads may have.
fn lock() -> impl Strategy<Value = LockUse> {
    let site = (code_place(), any::<u64>(), any::<u64>(), values::nanos())
        .prop_map(|(place, acquisitions, contended, wait)| LockSite { place, acquisitions, contended, wait });
    let counts = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>());
    let who = (prop::collection::vec(0..3_usize, 0..4), values::reading(0..3_usize), 0..2_usize);
    let told = (values::reading(times()), values::reading(holds()), values::reading(values::nanos()));
    let places = (prop::collection::vec(site, 0..3), values::reading(code_place()));
    let kind = (prop::sample::select(LockKind::ALL.to_vec()), any::<u64>(), any::<bool>());
    (counts, who, told, places, kind).prop_map(|(counts, who, told, places, kind)| LockUse {
        id: 0,
        kind: kind.0,
        process: who.2,
        address: kind.1,
        destroyed: kind.2,
        acquisitions: counts.0,
        contended: counts.1,
        given_up: counts.2,
        waits: told.0,
        holds: told.1,
        threads: counts.3,
        sites: places.0,
        made_at: places.1,
        waiting: who.0,
        held_by: who.1,
        gain: told.2,
    })
}

fn thread() -> impl Strategy<Value = LockThread> {
    let times = (values::nanos(), values::nanos(), values::nanos(), values::nanos());
    let places = (values::reading(code_place()), values::reading(code_place()));
    (0..2_usize, any::<u32>(), places, times).prop_map(|(process, tid, (start, waits_at), times)| {
        let (life, wait, wait_events, wait_joins) = times;
        LockThread { process, tid, start, waits_at, life, wait, wait_events, wait_joins }
    })
}

fn process() -> impl Strategy<Value = LockedProcess> {
    let folded = (any::<u64>(), any::<u64>(), any::<u64>(), values::nanos())
        .prop_map(|(locks, acquisitions, contended, wait)| FoldedLocks { locks, acquisitions, contended, wait });
    let flags = (any::<bool>(), any::<bool>());
    (any::<u32>(), values::reading(".{0,20}"), flags, values::nanos(), any::<u32>(), folded).prop_map(
        |(pid, program, (forked, ended_itself), life, threads, folded)| LockedProcess {
            pid,
            program,
            forked,
            life,
            ended_itself,
            threads,
            folded,
        },
    )
}

fn report() -> impl Strategy<Value = LocksReport> {
    let futexes =
        (values::nanos(), values::nanos(), values::nanos(), any::<u64>(), prop::collection::vec(".{0,20}", 0..3))
            .prop_map(|(total, other, off_by, looks, unwatched)| FutexWaits { total, other, off_by, looks, unwatched });
    let lists = (
        prop::collection::vec(lock(), 0..4),
        prop::collection::vec(thread(), 3),
        prop::collection::vec(process(), 2),
        values::reading(futexes),
    );
    let order = prop::sample::select(vec![LockOrder::Wait, LockOrder::Contended, LockOrder::Acquisitions]);
    let ended = prop_oneof![any::<i32>().prop_map(Outcome::Exited), any::<i32>().prop_map(Outcome::Signalled)];
    let facts = (order, ended, values::nanos(), values::nanos(), 1..u64::MAX, any::<(u32, u32)>());
    (values::command(), values::host(), values::reading(".{0,20}"), lists, facts).prop_map(
        |(command, host, revision, (locks, threads, processes, futexes), facts)| LocksReport {
            command,
            started: Timestamp(1_795_171_242),
            host,
            revision,
            ended: facts.1,
            wall: facts.2,
            cpu: facts.3,
            sampled_one_in: facts.4,
            order: facts.0,
            processes,
            unwatched: facts.5.0,
            locks: (1..).zip(locks).map(|(id, lock)| LockUse { id, ..lock }).collect(),
            threads,
            futexes,
            left_behind: facts.5.1,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_report_comes_back_and_shows(report in report()) {
        prop_assert_eq!(read_locks_report(&locks_json_text(&report)), Ok(report.clone()));
        goldens::lines_fit_but_paths("any", &[60, 80, 132], |width| locks_text(&report, Style { width, color: false }));
        let page = locks_html(&report);
        prop_assert!(!page.contains("NaN") && page.ends_with("</html>\n"));
        locks_markdown(&report);
        locks_csv(&report);
        locks_summary(&report);
    }

    #[test]
    fn no_change_of_the_json_makes_it_panic(
        which in 0..7_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), values::odd_value()), 1..4)
    ) {
        let value = values::changed(locks_json(&all()[which].1), changes);
        if let Ok(report) = read_locks_report(&value.to_string()) {
            locks_text(&report, Style::default());
            locks_html(&report);
            locks_markdown(&report);
            locks_csv(&report);
        }
    }

    #[test]
    fn no_garbage_makes_it_panic(which in 0..7_usize, at in any::<prop::sample::Index>(), garbage in any::<u8>()) {
        let (garbled, cut) = values::garbled(locks_json_text(&all()[which].1), &at, garbage);
        let _ = read_locks_report(&garbled);
        prop_assert!(read_locks_report(&cut).is_err());
    }

    #[test]
    fn nothing_can_be_left_out(which in 0..7_usize, at in any::<prop::sample::Index>()) {
        let report = &all()[which].1;
        let (name, value) = values::without_a_field(locks_json(report), &at);
        // Without a field it is refused, or the field is but derived from others or says why those that stand beside it are null.
        if let Ok(read) = read_locks_report(&value.to_string()) {
            prop_assert_eq!(&read, report, "{}", name);
        }
    }
}
