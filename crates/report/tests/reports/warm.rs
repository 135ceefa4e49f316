//! What is kept of programs, in every form, against files in `testdata/reports`; `STEADY_BLESS=1 cargo test` rewrites them.

use steady_model::*;
use steady_report::{
    Style, warm_status_csv, warm_status_html, warm_status_json_text, warm_status_markdown, warm_status_text,
};

use crate::goldens;

/// A name that would end whatever it stands in.
const HOSTILE: &str = "/x</title><script>alert(1)</script>\" onload='y' | `z` &amp; \n,\"\u{202e}\u{1b}[31m<!-- ]]>";

fn program(path: &str, state: WarmState) -> KeptProgram {
    KeptProgram {
        program: path.to_owned(),
        state,
        copies: 0,
        size: Bytes(0),
        warm_launches: Err(Absent::because("it has no snapshots")),
        usual_launches: Err(Absent::because("it has no snapshots")),
        taken: Ok(Timestamp(1_795_171_000)),
        hook_inside: false,
        against: None,
    }
}

fn warm(path: &str, launches: u64, hook_inside: bool) -> KeptProgram {
    KeptProgram {
        copies: 2,
        size: Bytes(4_521_984),
        warm_launches: Ok(launches),
        usual_launches: Ok(launches / 100),
        hook_inside,
        ..program(path, WarmState::Warm)
    }
}

fn store() -> WarmStore {
    let numbers = [18_204, 31, 12, 0, 2, 0, 0, 0, 1, 0];
    WarmStore {
        folder: "/home/u/.cache/steady/warm/379cb4c9-9446-4ab7-b3a6-1c4342b5497f-59f72bde-u1000-v1-f0956fffc0d8a9b4"
            .into(),
        size: Bytes(61_341_696),
        limit: Bytes(512 << 20),
        keeper: true,
        wanted: 1,
        launches: Ok(LaunchOutcome::ALL.into_iter().zip(numbers).collect()),
        cpu: Ok(Nanos(412_000_000)),
        trouble: None,
    }
}

fn all() -> Vec<(&'static str, WarmReport)> {
    let report = |question, store, programs| WarmReport { question, now: Timestamp(1_795_171_242), store, programs };
    let script = WarmState::Script { interpreter: "/bin/sh".to_owned(), argument: Some("-e".to_owned()) };
    let refused = WarmState::Refused("it runs with its owner's rights (setuid)".to_owned());
    let stale = WarmState::Stale("'/lib/x86_64-linux-gnu/libc.so.6', which it loads, has changed since".to_owned());
    let answer = |program: KeptProgram, against: &[&str]| KeptProgram {
        against: Some(against.iter().map(|why| (*why).to_owned()).collect()),
        ..program
    };
    let unknown =
        KeptProgram { taken: Err(Absent::because("it has not been taken")), ..program("/bin/new", WarmState::Unknown) };
    let some = vec![
        warm("/usr/bin/basename", 9_000, false),
        warm("/usr/bin/bash", 204, true),
        program("/usr/local/share/a-long-way/to/a/program/that/has/a/long/name", stale),
        program("/usr/bin/sudo", refused.clone()),
        program("/usr/local/bin/configure", script.clone()),
        program(HOSTILE, WarmState::Refused(HOSTILE.to_owned())),
    ];
    let troubled = WarmStore {
        keeper: false,
        wanted: 0,
        launches: Err(Absent::because("the counts cannot be read: No such file or directory")),
        cpu: Err(Absent::because("the counts cannot be read: No such file or directory")),
        trouble: Some("'/usr/bin/cat': no process could be started and held: Operation not permitted".to_owned()),
        ..store()
    };
    let why = vec![
        answer(warm("/usr/bin/cat", 10, false), &[]),
        answer(
            warm("/usr/bin/sort", 10, false),
            &["LD_BIND_NOW tells the loader how to begin", "the data (ulimit -d) is limited"],
        ),
        answer(unknown.clone(), &["it has not been taken yet"]),
    ];
    let snapshot = vec![
        warm("/usr/bin/cat", 0, false),
        program("/usr/bin/sudo", refused),
        program("/tmp/script", script),
        unknown,
    ];
    let none = Absent::because("nothing has been kept since the last boot");
    vec![
        ("warm-status", report(WarmQuestion::Status, Ok(store()), some)),
        ("warm-status-trouble", report(WarmQuestion::Status, Ok(troubled), vec![])),
        ("warm-status-none", report(WarmQuestion::Status, Err(none), vec![])),
        ("warm-why", report(WarmQuestion::Why, Ok(store()), why)),
        ("warm-snapshot", report(WarmQuestion::Snapshot, Ok(store()), snapshot)),
    ]
}

#[test]
fn what_is_kept_looks_as_recorded() {
    goldens::hold(all().into_iter().flat_map(|(name, report)| {
        let text = |width| warm_status_text(&report, Style { width, color: false });
        let exports = [
            ("json", warm_status_json_text(&report)),
            ("csv", warm_status_csv(&report)),
            ("md", warm_status_markdown(&report)),
            ("html", warm_status_html(&report)),
        ];
        goldens::forms(name, text, exports)
    }));
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, report) in all() {
        if report.question != WarmQuestion::Status {
            goldens::lines_fit(name, |width| warm_status_text(&report, Style { width, color: false }));
            continue;
        }
        goldens::lines_fit_but_paths(name, &[40, 50, 60, 72, 80, 100, 132], |width| {
            warm_status_text(&report, Style { width, color: false })
        });
    }
}

#[test]
fn names_end_nothing() {
    for (name, report) in all() {
        assert!(!warm_status_html(&report).contains("<script>"), "{name}");
        let lines = warm_status_csv(&report);
        assert!(!lines.contains('\u{1b}') || lines.contains("\"/x"), "{name}");
        let text = warm_status_text(&report, Style { width: 80, color: false });
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{name}");
    }
}

#[test]
fn json_names_its_kind_and_every_absence_its_reason() {
    for (name, report) in all() {
        let json: serde_json::Value = serde_json::from_str(&warm_status_json_text(&report)).unwrap();
        assert_eq!(json["schema"], "steady.warm/1");
        assert_eq!(json["kind"], report.question.name(), "{name}");
        for program in json["programs"].as_array().unwrap() {
            for field in ["warm_launches", "usual_launches", "taken"] {
                assert_eq!(program[field].is_null(), program[format!("{field}_absent")].is_string(), "{name}: {field}");
            }
        }
        assert_eq!(json["store"].is_null(), json["store_absent"].is_string());
    }
}
