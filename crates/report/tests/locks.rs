//! Locks in every form, against files in `testdata/reports`; and the way back from JSON.
//! `STEADY_BLESS=1 cargo test` rewrites the files.

mod goldens;
mod locked;

use locked::{HOSTILE, all, deadlocked, many, none, queue, quiet};
use serde_json::Value;
use steady_model::*;
use steady_report::*;

#[test]
fn reports_look_as_recorded() {
    goldens::hold(all().into_iter().flat_map(|(name, report)| {
        let text = |width| locks_text(&report, Style { width, color: false });
        goldens::forms(name, text, [("json", locks_json_text(&report))])
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
