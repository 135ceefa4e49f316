//! Locks in every form, against files in `testdata/reports`; and the way back from JSON.
//! `STEADY_BLESS=1 cargo test` rewrites the files.

mod made;

use made::{all, deadlocked, hostile, many, none, queue, quiet, untaken};
use proptest::prelude::*;
use serde_json::Value;
use steady_feature::attended::AttendedCommand;
use steady_feature::flags::Form;
use steady_feature::{Record, Report};
use steady_locks::*;
use steady_model::*;
use steady_render::Style;
use steady_render::json::description;
use steady_testing::goldens::{shown, text};
use steady_testing::made::HOSTILE;
use steady_testing::{goldens, made as shared, values};

fn json(record: &LocksRecord) -> Value {
    serde_json::from_str(&record.json(false)).unwrap()
}

fn summary(record: &LocksRecord) -> String {
    record.facts().verdict
}

#[test]
fn reports_look_as_recorded() {
    goldens::hold(all().into_iter().flat_map(|(name, record)| goldens::of_report(name, &record, false)));
}

#[test]
fn the_schema_is_as_recorded() {
    goldens::hold_schema(&SCHEMA, description::<LocksRecord>(&SCHEMA));
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, report) in all() {
        goldens::lines_fit(name, |width| text(&report, width));
    }
}

#[test]
fn colours_change_nothing_but_the_colour() {
    let plain = |text: String| {
        let pieces = text.split('\u{1b}').enumerate();
        pieces.map(|(at, piece)| if at == 0 { piece } else { piece.split_once('m').unwrap().1 }).collect::<String>()
    };
    for (_, report) in all() {
        let coloured = report.rendered(Form::Text, Style { width: 80, color: true }, false);
        assert!(coloured.contains('\u{1b}'));
        assert_eq!(plain(coloured), text(&report, 80));
    }
}

#[test]
fn json_comes_back_as_it_was() {
    for (name, report) in all() {
        assert_eq!(LocksRecord::read(&report.json(false)), Ok(report), "{name}");
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
    all().iter().for_each(|(name, report)| check(&json(report), name));
}

#[test]
fn the_first_sentence_answers() {
    let told = |report: &LocksRecord| {
        let text = text(report, 400);
        text.lines().next().unwrap().trim_start_matches("steady: ").to_owned()
    };
    assert_eq!(
        told(&queue()),
        "The threads waited 61 % of their lives for locks, nearly all of it for one mutex (L1), mostly taken by push() in src/queue.c:88."
    );
    assert!(told(&deadlocked()).starts_with("Deadlock: thread 78 alice() waited for L1 mutex, which thread 79 bob() had, and that one for L2 mutex, which thread 78 alice() had."), "{}", told(&deadlocked()));
    assert!(told(&none()).starts_with("No locks were watched: /home/me/server (Go:"), "{}", told(&none()));
    assert!(told(&quiet()).starts_with("The threads hardly waited for locks: 0 ms of the 810 ms that they lived."));
    assert!(told(&untaken()).starts_with("No lock was taken, by 1 thread of 1 process."));
    assert!(told(&many()).contains("for locks, 19 % of it for one mutex (L1)."), "{}", told(&many()));
}

#[test]
fn who_waits_for_himself_is_stuck_too() {
    let mut report = deadlocked();
    report.locks[0].waiting = vec![1];
    report.locks[1].waiting = vec![];
    let told = text(&report, 400);
    assert!(told.contains("Deadlock: thread 79 bob() waited for L1 mutex, which it had itself."), "{told}");
    // Whoever has the lock does not wait: then it is only waited for.
    report.locks[0].held_by = Ok(0);
    assert!(!text(&report, 80).contains("Deadlock"));
    report.locks[0].held_by = Err(Absent::because("it was taken for reading"));
    let told = text(&report, 400);
    assert!(!told.contains("Deadlock") && told.contains("absent: it was taken for reading"), "{told}");
}

#[test]
fn sums_are_short() {
    assert_eq!(summary(&queue()), "61 % waiting for locks, most for a mutex by push() in src/queue.c:88");
    assert_eq!(summary(&deadlocked()), "deadlock");
    assert_eq!(summary(&none()), "no locks were watched");
    assert_eq!(summary(&quiet()), "0 % waiting for locks");
}

#[test]
fn texts_of_others_break_nothing() {
    let report = hostile();
    let text = text(&report, 80);
    assert!(!text.contains(['\u{202e}', '\u{1b}']), "{text}");
    assert!(summary(&report).len() < 2 * HOSTILE.len());
    let page = shown(&report, Form::Html);
    assert!(!page.contains("<script") && !page.contains("]]>") && !page.contains("\" onload="), "{page}");
    let markdown = shown(&report, Form::Markdown);
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
    let text = queue().json(false);
    let broken = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        LocksRecord::read(&text.replacen(from, to, 1)).unwrap_err().to_string()
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
        let csv = report.csv();
        assert_eq!(csv.lines().count(), 1 + report.locks.len(), "{name}");
        let head = fields(csv.lines().next().unwrap());
        assert!(csv.lines().all(|line| fields(line) == head), "{name}: {csv}");
    }
    let csv = queue().csv();
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

/// Readings of so many times.
fn times<const N: usize>() -> impl Strategy<Value = [Reading<Nanos>; N]> {
    prop::collection::vec(values::reading(values::nanos()), N).prop_map(|times| times.try_into().unwrap())
}

/// A lock of one of two processes, that one of three threads may have.
fn lock() -> impl Strategy<Value = LockUse> {
    let site = (code_place(), any::<u64>(), any::<u64>(), values::nanos()).prop_map(|site| {
        let (CodePlace { function, line, module, offset }, acquisitions, contended, wait_seconds) = site;
        LockSite { function, line, module, offset, acquisitions, contended, wait_seconds }
    });
    let counts = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>());
    let who = (prop::collection::vec(0..3_usize, 0..4), values::reading(0..3_usize), 0..2_usize);
    let timed = prop::collection::vec(values::reading(any::<u64>()), 3);
    let told = (times(), times(), times(), timed);
    let places = (prop::collection::vec(site, 0..3), values::reading(code_place()));
    let kind = (prop::sample::select(LockKind::ALL.to_vec()), any::<u64>(), any::<bool>());
    (counts, who, told, places, kind).prop_map(|(counts, who, told, places, kind)| {
        let (waits, holds, [gain_seconds], timed) = told;
        let [wait_seconds, wait_median_seconds, wait_p99_seconds, wait_max_seconds] = waits;
        let [hold_seconds, hold_mean_seconds, hold_median_seconds, hold_p99_seconds, hold_max_seconds] = holds;
        let [waits, holds_timed_contended, holds_timed_sampled] = timed.try_into().unwrap();
        LockUse {
            id: 0,
            kind: kind.0,
            process: who.2,
            address: kind.1,
            destroyed: kind.2,
            acquisitions: counts.0,
            contended: counts.1,
            given_up: counts.2,
            waits,
            wait_seconds,
            wait_median_seconds,
            wait_p99_seconds,
            wait_max_seconds,
            hold_seconds,
            hold_mean_seconds,
            hold_median_seconds,
            hold_p99_seconds,
            hold_max_seconds,
            holds_timed_contended,
            holds_timed_sampled,
            threads: counts.3,
            gain_seconds,
            made_at: places.1,
            waiting: who.0,
            held_by: who.1,
            sites: places.0,
        }
    })
}

fn thread() -> impl Strategy<Value = LockThread> {
    let times = (values::nanos(), values::nanos(), values::nanos(), values::nanos());
    let places = (values::reading(code_place()), values::reading(code_place()));
    let named = (0..2_usize, any::<u32>(), values::reading(values::ratio()));
    (named, places, times).prop_map(|(named, (start, waits_at), times)| LockThread {
        process: named.0,
        tid: named.1,
        start,
        waits_at,
        life_seconds: times.0,
        wait_seconds: times.1,
        wait_ratio: named.2,
        wait_events_seconds: times.2,
        wait_joins_seconds: times.3,
    })
}

fn process() -> impl Strategy<Value = LockedProcess> {
    let folded = (any::<u64>(), any::<u64>(), any::<u64>(), values::nanos());
    let flags = (any::<bool>(), any::<bool>());
    let named = (any::<u32>(), values::reading(".{0,20}"));
    (named, flags, values::nanos(), any::<u32>(), folded).prop_map(|(named, flags, life_seconds, threads, folded)| {
        LockedProcess {
            pid: named.0,
            program: named.1,
            forked: flags.0,
            life_seconds,
            ended_itself: flags.1,
            threads,
            folded_locks: folded.0,
            folded_acquisitions: folded.1,
            folded_contended: folded.2,
            folded_wait_seconds: folded.3,
        }
    })
}

fn report() -> impl Strategy<Value = LocksRecord> {
    let programs = prop::collection::vec(".{0,20}", 0..3);
    let futexes =
        (values::nanos(), values::nanos(), values::nanos(), any::<u64>(), programs).prop_map(|futexes| FutexWaits {
            wait_seconds: futexes.0,
            other_seconds: futexes.1,
            other_off_by_seconds: futexes.2,
            looks: futexes.3,
            unwatched_programs: futexes.4,
        });
    let lists = (
        prop::collection::vec(lock(), 0..4),
        prop::collection::vec(thread(), 3),
        prop::collection::vec(process(), 2),
        values::reading(futexes),
    );
    let order = prop::sample::select(vec![LockOrder::Wait, LockOrder::Contended, LockOrder::Acquisitions]);
    let ended = prop_oneof![any::<i32>().prop_map(Outcome::Exited), any::<i32>().prop_map(Outcome::Signalled)];
    let facts = (order, ended, values::nanos(), values::nanos(), 1..u64::MAX, any::<(u32, u32)>());
    let command = (".*", prop::collection::vec(".*", 1..4), values::path())
        .prop_map(|(name, argv, program)| AttendedCommand { name, argv, program });
    (command, values::host(), values::reading(".{0,20}"), lists, facts).prop_map(
        |(command, host, revision, (locks, threads, processes, futexes), facts)| {
            let record = LocksRecord {
                command,
                started: Timestamp(1_795_171_242),
                host,
                revision,
                ended: facts.1,
                wall_seconds: facts.2,
                cpu_seconds: facts.3,
                thread_seconds: 0.0,
                wait_seconds: 0.0,
                wait_ratio: Ok(0.0),
                wait_events_seconds: 0.0,
                wait_joins_seconds: 0.0,
                sampled_one_in: facts.4,
                order: facts.0,
                processes,
                unwatched_processes: facts.5.0,
                locks: (1..).zip(locks).map(|(id, lock)| LockUse { id, ..lock }).collect(),
                threads,
                futexes,
                left_behind: facts.5.1,
            };
            record.summed()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_report_comes_back_and_shows(report in report()) {
        prop_assert_eq!(LocksRecord::read(&report.json(false)), Ok(report.clone()));
        goldens::lines_fit_but_paths("any", &[60, 80, 132], |width| text(&report, width));
        let page = shown(&report, Form::Html);
        prop_assert!(!page.contains("NaN") && page.ends_with("</html>\n"));
        shown(&report, Form::Markdown);
        report.csv();
        let _ = summary(&report);
    }

    #[test]
    fn no_change_of_the_json_makes_it_panic(
        which in 0..7_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), values::odd_value()), 1..4)
    ) {
        let value = values::changed(json(&all()[which].1), changes);
        if let Ok(report) = LocksRecord::read(&value.to_string()) {
            text(&report, 80);
            shown(&report, Form::Html);
            shown(&report, Form::Markdown);
            report.csv();
        }
    }

    #[test]
    fn no_garbage_makes_it_panic(which in 0..7_usize, at in any::<prop::sample::Index>(), garbage in any::<u8>()) {
        let (garbled, cut) = values::garbled(all()[which].1.json(false), &at, garbage);
        let _ = LocksRecord::read(&garbled);
        prop_assert!(LocksRecord::read(&cut).is_err());
    }

    #[test]
    fn nothing_can_be_left_out(which in 0..7_usize, at in any::<prop::sample::Index>()) {
        let report = &all()[which].1;
        let (name, value) = values::without_a_field(json(report), &at);
        // Without a field it is refused, or the field is but derived from others or says why those that stand beside it are null.
        if let Ok(read) = LocksRecord::read(&value.to_string()) {
            prop_assert_eq!(&read, report, "{}", name);
        }
    }
}
