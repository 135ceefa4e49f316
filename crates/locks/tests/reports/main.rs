//! Reports on locks in every format, compared with golden files in `testdata/reports`, and reading them back from JSON.
//! `STEADY_BLESS=1 cargo test` rewrites the golden files.

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
fn reports_match_the_golden_files() {
    goldens::check(all().into_iter().flat_map(|(name, record)| goldens::of_report(name, &record, false)));
}

/// A wait that is much longer than all holds is no property of the lock.
#[test]
fn a_wait_for_a_preempted_holder_is_explained() {
    let with = |wait: f64, hold: f64| {
        let mut record = queue();
        record.locks[0].wait_max_seconds = Ok(shared::seconds(wait));
        record.locks[0].hold_max_seconds = Ok(shared::seconds(hold));
        text(&record, 1000)
    };
    let long = with(0.064_5, 0.000_006_58);
    let sentence = "The longest wait for L1 was 64.5 ms, but the longest timed hold 6.58 µs. The thread that held L1 \
                    then was probably preempted";
    assert!(long.contains(sentence), "{long}");
    assert!(!with(0.064_5, 0.008).contains("preempted"), "eight threads hold it for 64 ms");
    assert!(!with(0.001_5, 0.000_001).contains("preempted"), "shorter than a time slice");
    assert!(!text(&deadlocked(), 1000).contains("preempted"));
    let mut hardly = queue();
    hardly.locks[0].wait_max_seconds = Ok(shared::seconds(0.064_5));
    hardly.locks[0].hold_max_seconds = Ok(shared::seconds(0.000_006_58));
    let lifetimes = hardly.thread_seconds;
    hardly.locks.iter_mut().for_each(|lock| lock.wait_seconds = Ok(shared::seconds(0.005 * lifetimes)));
    assert!(!text(&hardly, 1000).contains("preempted"), "threads hardly waited for the lock");
}

#[test]
fn the_gain_of_one_process_of_several_names_it() {
    let mut record = queue();
    let text_of_one = text(&record, 1000);
    assert!(text_of_one.contains("If threads never waited for L1"), "{text_of_one}");
    record.processes.push(record.processes[0].clone());
    let text = text(&record, 1000);
    assert!(text.contains("If threads of process 4242 never waited for L1"), "{text}");
    assert!(text.contains("shorter, and less if another process takes as long."), "{text}");
}

#[test]
fn unwatched_waits_have_an_error_and_no_wait_is_no_estimate() {
    let mut record = queue();
    let line = |record: &LocksRecord| {
        let text = text(record, 1000).replace('\u{a0}', " ");
        text.lines().find(|line| line.contains("futexes")).unwrap().to_owned()
    };
    let futexes = record.futexes.as_mut().unwrap();
    (futexes.other_seconds, futexes.other_off_by_seconds) = (shared::seconds(1.2), shared::seconds(0.1));
    futexes.looks = 400;
    let found = line(&record);
    assert!(found.contains("waited for about 1.20 s ±0.10 for none of the watched"), "{found}");
    assert!(found.ends_with("estimated from 400 samples"), "{found}");
    let futexes = record.futexes.as_mut().unwrap();
    (futexes.other_seconds, futexes.other_off_by_seconds) = (Nanos::ZERO, Nanos::ZERO);
    assert!(line(&record).ends_with("no wait for anything that was not watched, in 400 samples"), "{}", line(&record));
}

#[test]
fn the_mean_hold_is_marked_if_not_all_holds_were_timed() {
    let head = |record: &LocksRecord| {
        record.rendered(Form::Markdown, Style::default(), false).replace('\u{a0}', " ").contains("mean hold (about)")
    };
    let mut record = queue();
    assert!(head(&record));
    for lock in &mut record.locks {
        lock.holds_timed_contended = Ok(lock.contended);
        lock.holds_timed_sampled = Ok(lock.acquisitions - lock.contended);
    }
    assert!(!head(&record));
}

#[test]
fn the_schema_matches_the_golden_file() {
    goldens::check_schema(&SCHEMA, description::<LocksRecord>(&SCHEMA));
}

#[test]
fn lines_fit_every_width() {
    for (name, report) in all() {
        goldens::lines_fit(name, |width| text(&report, width));
    }
}

#[test]
fn colours_do_not_change_the_text() {
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
fn records_are_read_back_from_json_unchanged() {
    for (name, report) in all() {
        assert_eq!(LocksRecord::read(&report.json(false)), Ok(report), "{name}");
    }
}

/// Earlier versions timed the first hold of each lock and wrote no number.
#[test]
fn records_of_earlier_versions_timed_the_first_hold() {
    let mut earlier = json(&queue());
    earlier.as_object_mut().unwrap().remove("timed_first");
    let record = LocksRecord::read(&earlier.to_string()).unwrap();
    assert_eq!(record, LocksRecord { timed_first: 1, ..queue() });
    let sampled = "of the others, the first of each lock and on average one in 1,024";
    let lines = |record: &LocksRecord| text(record, 1000);
    assert!(lines(&record).contains(&format!("{sampled}\n")), "{}", lines(&record));
    assert!(lines(&queue()).contains(&format!("{sampled}, and the hold times of the first 256 of each lock\n")));
}

#[test]
fn every_null_has_a_reason() {
    fn check(value: &Value, path: &str) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, field)| {
                let open = ["directory", "revision", "cpu_quota", "hypervisor"].contains(&name.as_str());
                let has_reason = fields.contains_key(&format!("{name}_absent")) || open;
                assert!(!field.is_null() || has_reason, "{path}.{name}");
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
    let answer = |report: &LocksRecord| {
        let text = text(report, 400);
        text.lines().next().unwrap().trim_start_matches("steady: ").to_owned()
    };
    assert_eq!(
        answer(&queue()),
        "The threads waited for locks during 61 % of their lifetimes, nearly all of it for one mutex (L1), mostly \
         requested by push() in src/queue.c:88."
    );
    let begins = |report: &LocksRecord, text: &str| assert!(answer(report).starts_with(text), "{}", answer(report));
    begins(
        &deadlocked(),
        "Deadlock: thread 78 alice() waited for L1 mutex, held by thread 79 bob(), which waited for L2 mutex, held by \
         thread 78 alice().",
    );
    begins(&none(), "No locks were watched: /home/me/server: a Go program;");
    begins(&quiet(), "The threads hardly waited for locks: 0 ms of their total lifetime of 810 ms.");
    begins(&untaken(), "No lock was acquired (1 thread in 1 process).");
    let many = answer(&many());
    assert!(many.contains("of their lifetimes, 19 % of it for one mutex (L1)."), "{many}");
}

#[test]
fn semaphores_and_conditions_of_python_are_called_locks() {
    let mut report = queue();
    let of_python = |function: &str| {
        let module = Ok("/usr/bin/python3".into());
        Ok(CodePlace { module, offset: 1, function: Ok(function.into()), line: Err(Absent::because("no lines")) })
    };
    report.locks.remove(0);
    (report.locks[0].id, report.locks[1].id) = (1, 2);
    report.locks[0].kind = LockKind::Semaphore;
    report.threads.iter_mut().for_each(|thread| thread.wait_seconds = Nanos::ZERO);
    let answer = |report: &LocksRecord| text(report, 400).split("\n\n").next().unwrap().to_owned();
    let report = report.summed();
    assert!(answer(&report).contains("hardly waited for locks"), "{}", answer(&report));
    for function in ["PyThread_allocate_lock", "create_gil"] {
        let mut report = report.clone();
        report.locks[0].made_at = of_python(function);
        let answer = answer(&report);
        let begin = "steady: The threads waited for locks of Python during 4.5 % of their lifetimes, all of it for one \
                     semaphore (L1)";
        assert!(answer.replace('\u{a0}', " ").starts_with(begin) && !answer.contains("that is for events"), "{answer}");
        assert_eq!(summary(&report), "4.5 % waiting for locks of Python");
        report.locks[0].kind = LockKind::Condition;
        // Reading recognises it, also in records of versions that did not write the field.
        let report = LocksRecord::read(&report.json(false).replace("\"probably_gil\": false,", "")).unwrap();
        let is_gil = function == "create_gil";
        let shows = |shown: &str, words: &str| {
            assert_eq!(shown.replace(['\u{a0}', '\n'], " ").contains(words), is_gil, "{shown}")
        };
        shows(&text(&report, 400), "for one condition (L1, probably the GIL)");
        for form in [Form::Text, Form::Markdown, Form::Html] {
            shows(&shown(&report, form), "L1 condition, probably the GIL");
        }
        assert_eq!(report.csv().lines().nth(1).unwrap().ends_with(",true"), is_gil);
        shows(&report.json(false), "\"probably_gil\": true");
    }
}

#[test]
fn waits_that_were_given_up_are_counted_separately() {
    let words = |report: &LocksRecord| text(report, 132).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut report = queue();
    assert!(!words(&report).contains("given up"));
    (report.locks[0].given_up, report.locks[1].given_up) = (3, 1);
    let words = words(&report);
    assert!(words.contains("L1 mutex 1,204,331 311,204 26 % 3 13.0 s"), "{words}");
    let fact = "given up 3 waits for locks and 1 wait for conditions and semaphores ended without success";
    assert!(words.contains(fact) && words.contains("All waiting times include them"), "{words}");
}

#[test]
fn a_thread_that_waits_for_itself_is_a_deadlock() {
    let mut report = deadlocked();
    report.locks[0].waiting = vec![1];
    report.locks[1].waiting = vec![];
    let report_text = text(&report, 400);
    assert!(
        report_text.contains("Deadlock: thread 79 bob() waited for L1 mutex, which it held itself."),
        "{report_text}"
    );
    // The holder of the lock waits for nothing, so there is no deadlock.
    report.locks[0].held_by = Ok(0);
    assert!(!text(&report, 80).contains("Deadlock"));
    report.locks[0].held_by = Err(Absent::because("several threads may hold it, or none"));
    let report_text = text(&report, 400);
    assert!(
        !report_text.contains("Deadlock") && report_text.contains("not measured: several threads may hold it, or none"),
        "{report_text}"
    );
}

#[test]
fn summaries_are_short() {
    assert_eq!(summary(&queue()), "61 % waiting for locks, mostly a mutex requested by push() in src/queue.c:88");
    assert_eq!(summary(&deadlocked()), "deadlock");
    assert_eq!(summary(&none()), "no locks were watched");
    assert_eq!(summary(&quiet()), "0 % waiting for locks");
}

#[test]
fn hostile_names_do_not_break_reports() {
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
fn invalid_json_is_rejected_with_the_path_of_the_field() {
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

/// Counts the fields of a line of CSV. No field contains a line break.
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
    assert!(second.ends_with(",push /home/me/queue/src/queue.c:88,10.07,3,false"), "{second}");
}

fn code_place() -> impl Strategy<Value = CodePlace> {
    let texts = (values::reading(".{0,20}"), values::reading(".{0,20}"), values::reading(".{0,20}"));
    (texts, any::<u64>()).prop_map(|((module, function, line), offset)| CodePlace { module, offset, function, line })
}

/// Generates `N` readings of times.
fn times<const N: usize>() -> impl Strategy<Value = [Reading<Nanos>; N]> {
    prop::collection::vec(values::reading(values::nanos()), N).prop_map(|times| times.try_into().unwrap())
}

/// Generates a lock of one of two processes; one of three threads may hold it.
fn lock() -> impl Strategy<Value = LockUse> {
    let site = (code_place(), any::<u64>(), any::<u64>(), values::nanos()).prop_map(|site| {
        let (CodePlace { function, line, module, offset }, acquisitions, contended, wait_seconds) = site;
        LockSite { function, line, module, offset, acquisitions, contended, wait_seconds }
    });
    let counts = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>());
    let who = (prop::collection::vec(0..3_usize, 0..4), values::reading(0..3_usize), 0..2_usize);
    let timed = prop::collection::vec(values::reading(any::<u64>()), 3);
    let readings = (times(), times(), times(), timed);
    let places = (prop::collection::vec(site, 0..3), values::reading(code_place()));
    let kind = (prop::sample::select(LockKind::ALL.to_vec()), any::<u64>(), any::<bool>());
    (counts, who, readings, places, kind).prop_map(|(counts, who, readings, places, kind)| {
        let (waits, holds, [gain_seconds], timed) = readings;
        let [wait_seconds, wait_median_seconds, wait_p99_seconds, wait_max_seconds] = waits;
        let [hold_seconds, hold_mean_seconds, hold_median_seconds, hold_p99_seconds, hold_max_seconds] = holds;
        let [waits, holds_timed_contended, holds_timed_sampled] = timed.try_into().unwrap();
        LockUse {
            probably_gil: false,
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
    let facts = (order, ended, values::nanos(), values::nanos(), (1..u64::MAX, any::<u64>()), any::<(u32, u32)>());
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
                sampled_one_in: facts.4.0,
                timed_first: facts.4.1,
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
    fn any_record_is_read_back_and_rendered(report in report()) {
        prop_assert_eq!(LocksRecord::read(&report.json(false)), Ok(report.clone()));
        goldens::lines_fit_but_paths("any", &[60, 80, 132], |width| text(&report, width));
        let page = shown(&report, Form::Html);
        prop_assert!(!page.contains("NaN") && page.ends_with("</html>\n"));
        shown(&report, Form::Markdown);
        report.csv();
        let _ = summary(&report);
    }

    #[test]
    fn no_change_of_the_json_causes_a_panic(
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
    fn no_garbage_causes_a_panic(which in 0..7_usize, at in any::<prop::sample::Index>(), garbage in any::<u8>()) {
        let (garbled, cut) = values::garbled(all()[which].1.json(false), &at, garbage);
        let _ = LocksRecord::read(&garbled);
        prop_assert!(LocksRecord::read(&cut).is_err());
    }
}

#[test]
fn no_needed_field_can_be_omitted() {
    for (_, report) in all() {
        for (name, value) in values::without_each_field(&json(&report)) {
            // Reading fails, or the omitted field is derived from others, or it is the reason of a null. Records of
            // earlier versions do not have `timed_first`.
            if let Ok(read) = LocksRecord::read(&value.to_string()) {
                assert!(read == report || name == "timed_first", "{name}: {read:?}");
            }
        }
    }
}
