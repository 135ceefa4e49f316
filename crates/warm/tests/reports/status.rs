//! Compares the reports of `steady warm status`, `why` and `snapshot` in every form with files in `testdata/reports`.
//! `STEADY_BLESS=1 cargo test` rewrites the files.

use steady_feature::Report;
use steady_feature::flags::Form;
use steady_model::*;
use steady_render::Style;
use steady_warm::*;

use crate::goldens;

/// A name with characters that have a meaning in HTML, Markdown, CSV or a terminal.
const HOSTILE: &str = "/x</title><script>alert(1)</script>\" onload='y' | `z` &amp; \n,\"\u{202e}\u{1b}[31m<!-- ]]>";

fn program(path: &str, state: ProgramState) -> KeptProgram {
    KeptProgram {
        program: path.to_owned(),
        state,
        snapshots: 0,
        size_bytes: Bytes(0),
        warm_launches: Err(Absent::because("it has no snapshots")),
        missed_launches: Err(Absent::because("it has no snapshots")),
        created: Ok(Timestamp(1_795_171_000)),
        hook_inside: false,
        answer: None,
    }
}

fn warm(path: &str, launches: u64, hook_inside: bool) -> KeptProgram {
    KeptProgram {
        snapshots: 2,
        size_bytes: Bytes(4_521_984),
        warm_launches: Ok(launches),
        missed_launches: Ok(launches / 100),
        hook_inside,
        ..program(path, ProgramState::Warm)
    }
}

fn store() -> StoreFacts {
    let launches =
        Launches { warm: 18_204, no_card: 31, refused: 12, environment: 2, other_way: 1, ..Launches::default() };
    StoreFacts {
        directory: "/home/u/.cache/steady/warm/379cb4c9-9446-4ab7-b3a6-1c4342b5497f-59f72bde-u1000-v1-f0956fffc0d8a9b4"
            .into(),
        size_bytes: Bytes(61_341_696),
        limit_bytes: Bytes(512 << 20),
        keeper: true,
        requested: 1,
        requested_programs: vec!["/usr/bin/expr".to_owned()],
        launches: Ok(launches),
        capture_cpu_seconds: Ok(Nanos(412_000_000)),
        trouble: None,
    }
}

pub(crate) fn all() -> Vec<(&'static str, StatusRecord)> {
    let report = |question, store, programs| StatusRecord { question, now: Timestamp(1_795_171_242), store, programs };
    let script_of = |state| ProgramState::Script {
        interpreter: "/bin/sh".to_owned(),
        argument: Some("-e".to_owned()),
        interpreter_program: "/usr/bin/dash".to_owned(),
        interpreter_state: Box::new(state),
    };
    let script = script_of(ProgramState::Warm);
    let refused = ProgramState::Refused { reason: "it runs with its owner's rights (setuid)".to_owned() };
    let reason = "'/lib/x86_64-linux-gnu/libc.so.6', which it loads, has changed since the capture".to_owned();
    let stale = ProgramState::Stale { reason };
    let answer = |program: KeptProgram, against: &[&str]| KeptProgram {
        answer: Some(Answer::new(against.iter().map(|why| (*why).to_owned()).collect())),
        ..program
    };
    let unknown = KeptProgram {
        created: Err(Absent::because("it has not been captured")),
        ..program("/bin/new", ProgramState::Unknown)
    };
    let some = vec![
        warm("/usr/bin/basename", 9_000, false),
        warm("/usr/bin/bash", 204, true),
        program("/usr/local/share/a-long-way/to/a/program/that/has/a/long/name", stale),
        program("/usr/bin/sudo", refused.clone()),
        program("/usr/local/bin/configure", script.clone()),
        program(HOSTILE, ProgramState::Refused { reason: HOSTILE.to_owned() }),
    ];
    let troubled = StoreFacts {
        keeper: false,
        requested: 0,
        requested_programs: vec![],
        launches: Err(Absent::because("the counts cannot be read: No such file or directory")),
        capture_cpu_seconds: Err(Absent::because("the counts cannot be read: No such file or directory")),
        trouble: Some("'/usr/bin/cat': no process could be started and traced: Operation not permitted".to_owned()),
        ..store()
    };
    let why = vec![
        answer(warm("/usr/bin/cat", 10, false), &[]),
        answer(
            warm("/usr/bin/sort", 10, false),
            &["LD_BIND_NOW configures the loader or the C library", "the data (ulimit -d) is limited"],
        ),
        answer(unknown.clone(), &["it has not been captured yet"]),
        answer(program("/tmp/script", script.clone()), &[]),
        answer(program("/tmp/new-script", script.clone()), &["it is not in the store yet"]),
    ];
    let snapshot = vec![
        warm("/usr/bin/cat", 0, false),
        program("/usr/bin/sudo", refused.clone()),
        program("/tmp/script", script),
        program("/tmp/other-script", script_of(refused)),
        unknown,
    ];
    let none = Absent::because("nothing has been stored since the last boot");
    vec![
        ("warm-status", report(Question::Status, Ok(store()), some)),
        ("warm-status-trouble", report(Question::Status, Ok(troubled), vec![])),
        ("warm-status-none", report(Question::Status, Err(none), vec![])),
        ("warm-why", report(Question::Why, Ok(store()), why)),
        ("warm-snapshot", report(Question::Snapshot, Ok(store()), snapshot)),
    ]
}

fn text(record: &StatusRecord, width: usize) -> String {
    record.rendered(Form::Text, Style { width, color: false }, false)
}

fn shown(record: &StatusRecord, form: Form) -> String {
    record.rendered(form, Style::default(), false)
}

#[test]
fn reports_of_the_store_look_as_recorded() {
    goldens::check(all().into_iter().flat_map(|(name, record)| {
        let exports = [
            ("json", record.json(false)),
            ("csv", record.csv()),
            ("md", shown(&record, Form::Markdown)),
            ("html", shown(&record, Form::Html)),
        ];
        goldens::forms(name, |width| text(&record, width), exports)
    }));
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, record) in all() {
        if record.question != Question::Status {
            goldens::lines_fit(name, |width| text(&record, width));
            continue;
        }
        goldens::lines_fit_but_paths(name, &[40, 50, 60, 72, 80, 100, 132], |width| text(&record, width));
    }
}

#[test]
fn hostile_names_break_no_form() {
    for (name, record) in all() {
        assert!(!shown(&record, Form::Html).contains("<script>"), "{name}");
        let lines = record.csv();
        assert!(!lines.contains('\u{1b}') || lines.contains("\"/x"), "{name}");
        let text = text(&record, 80);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{name}");
    }
}

#[test]
fn json_has_its_kind_and_a_reason_for_each_null() {
    for (name, record) in all() {
        let json: serde_json::Value = serde_json::from_str(&record.json(false)).unwrap();
        assert_eq!(json["schema"], "steady.warm/1");
        let kind = match record.question {
            Question::Status => "status",
            Question::Snapshot => "snapshot",
            Question::Why => "why",
        };
        assert_eq!(json["kind"], kind, "{name}");
        for program in json["programs"].as_array().unwrap() {
            for field in ["warm_launches", "missed_launches", "created"] {
                assert_eq!(program[field].is_null(), program[format!("{field}_absent")].is_string(), "{name}: {field}");
            }
        }
        assert_eq!(json["store"].is_null(), json["store_absent"].is_string());
    }
}
