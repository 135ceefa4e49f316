//! Explanations in every form, against files in `testdata/reports`; and the way back from JSON.
//! `STEADY_BLESS=1 cargo test` rewrites the files.

use proptest::prelude::*;
use serde_json::Value;
use steady_model::*;
use steady_report::*;

use crate::by_hand::explained::{all, alone, dearer, pairs, traced, tree};
use crate::goldens;
use crate::made::HOSTILE;

#[test]
fn explanations_look_as_recorded() {
    goldens::hold(all().into_iter().flat_map(|(name, report)| {
        let text = |width| explain_text(&report, Style { width, color: false });
        let exports = [
            ("json", explain_json_text(&report)),
            ("csv", explain_csv(&report)),
            ("md", explain_markdown(&report)),
            ("html", explain_html(&report)),
        ];
        goldens::forms(name, text, exports)
    }));
}

#[test]
fn differences_look_as_recorded() {
    goldens::hold(pairs().into_iter().flat_map(|(name, report)| {
        let text = |width| explain_pair_text(&report, Style { width, color: false });
        let exports = [
            ("json", explain_pair_json_text(&report, name == "explain-dearer")),
            ("csv", explain_pair_csv(&report)),
            ("md", explain_pair_markdown(&report)),
        ];
        let page = (name != "explain-few").then(|| (format!("{name}.html"), explain_pair_html(&report)));
        goldens::forms(name, text, exports).into_iter().chain(page).collect::<Vec<_>>()
    }));
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, report) in all() {
        goldens::lines_fit(name, |width| explain_text(&report, Style { width, color: false }));
    }
    for (name, report) in pairs() {
        goldens::lines_fit(name, |width| explain_pair_text(&report, Style { width, color: false }));
    }
}

#[test]
fn colours_change_nothing_but_the_colour() {
    let plain = |text: String| {
        let pieces = text.split('\u{1b}').enumerate();
        pieces.map(|(at, piece)| if at == 0 { piece } else { piece.split_once('m').unwrap().1 }).collect::<String>()
    };
    let style = |color| Style { width: 80, color };
    let one = explain_text(&alone(), style(true));
    assert!(one.contains('\u{1b}'));
    assert_eq!(plain(one), explain_text(&alone(), style(false)));
    assert_eq!(plain(explain_pair_text(&dearer(), style(true))), explain_pair_text(&dearer(), style(false)));
}

#[test]
fn records_come_back_exactly() {
    for (name, report) in all() {
        let json = explain_json_text(&report);
        assert_eq!(read_explain_record(&json).as_ref(), Ok(&report.record), "{name}");
        assert_eq!(explains_a_pair(&json), Ok(false));
        assert!(read_explain_pair_record(&json).is_err());
    }
    for (name, report) in pairs() {
        let json = explain_pair_json_text(&report, true);
        assert_eq!(read_explain_pair_record(&json).as_ref(), Ok(&report.record), "{name}");
        assert_eq!(explains_a_pair(&json), Ok(true));
        assert!(read_explain_record(&json).is_err());
        assert_eq!(
            read_explain_pair_record(&explain_pair_json_text(&report, false)),
            Err(ReadError::WithoutSamples),
            "{name}"
        );
    }
}

#[test]
fn every_absent_reading_has_its_reason() {
    fn check(value: &Value, path: &str) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, field)| {
                let open = [
                    "directory",
                    "revision",
                    "cpu_quota",
                    "hypervisor",
                    "metric",
                    "layout",
                    "warmup",
                    "input",
                    "timeout_seconds",
                    "cpus",
                    "fail_if",
                ];
                let told = fields.contains_key(&format!("{name}_absent")) || open.contains(&name.as_str());
                // Moments of the course have one reason, at the top.
                assert!(!field.is_null() || told || path.contains(".progress"), "{path}.{name}");
                check(field, &format!("{path}.{name}"));
            }),
            Value::Array(all) => all.iter().for_each(|one| check(one, path)),
            _ => {}
        }
    }
    for (name, report) in all() {
        check(&explain_json(&report), name);
    }
    for (name, report) in pairs() {
        check(&explain_pair_json(&report, false), name);
    }
}

#[test]
fn the_first_sentence_says_what_the_intervals_support() {
    let sentence = |report: &ExplainPairReport| {
        let text = explain_pair_text(report, Style { width: 400, color: false });
        text.lines().next().unwrap().to_owned()
    };
    let told = sentence(&dearer());
    assert!(told.starts_with("NEW needs 12.1 ms more CPU time"), "{told}");
    assert!(told.contains("9.2 ms more system time, of which 7.22 ms is 14,100 more page faults"), "{told}");
    let mut unsure = dearer();
    for line in &mut unsure.lines {
        if line.line == Line::System || line.line == Line::Part(Priced::MinorFault) {
            let (size, _) = line.difference.clone().unwrap();
            line.difference = Ok((size, Interval { low: -0.001, high: 0.02 }));
        }
    }
    let told = sentence(&unsure);
    assert!(!told.contains("page faults") && !told.contains("system time"), "{told}");
}

#[test]
fn what_no_part_explains_by_itself_is_not_said_to_be_none_of_them() {
    let mut report = dearer();
    for line in &mut report.lines {
        let size = match line.line {
            Line::Part(_) => 0.000_6,
            Line::Unexplained => 0.009_7,
            Line::User | Line::System => {
                line.difference = Err(Absent::because("too short for the ticks"));
                continue;
            }
            _ => continue,
        };
        line.difference = Ok((size, Interval { low: 0.9 * size, high: 1.1 * size }));
    }
    let text = explain_pair_text(&report, Style { width: 400, color: false });
    let told = text.lines().next().unwrap();
    assert!(told.contains("9.7 ms of it is unexplained") && !told.contains("own code"), "{told}");
}

#[test]
fn sums_are_short() {
    assert_eq!(explain_summary(&alone()), "1.23 s: 62 % CPU");
    assert_eq!(explain_summary(&traced()), "412,233 calls traced");
    assert_eq!(explain_summary(&tree()), "41.2 s: 33 % CPU");
    let sums: Vec<String> = pairs().iter().map(|(_, report)| explain_pair_summary(report)).collect();
    assert_eq!(sums, ["NEW +12.1 ms CPU", "NEW -49.0 ms wall", "no difference in CPU time", "undecided"]);
}

#[test]
fn texts_of_others_break_nothing() {
    let mut report = tree();
    report.record.plan.command.name = HOSTILE.to_owned();
    report.record.processes.as_mut().unwrap()[0].name = HOSTILE.to_owned();
    report.missing.push((HOSTILE.to_owned(), HOSTILE.to_owned()));
    report.parts[0].name = HOSTILE.to_owned();
    report.record.sources.push(HOSTILE.to_owned());
    let html = explain_html(&report);
    assert!(!html.contains("<script>alert") && !html.contains("]]>"), "{html}");
    let text = explain_text(&report, Style::default());
    assert!(!text.contains(['\u{202e}', '\u{1b}']), "{text}");
    assert!(!explain_markdown(&report).contains("<script>"));
    assert_eq!(read_explain_record(&explain_json_text(&report)).as_ref(), Ok(&report.record));
    let mut pair = dearer();
    pair.record.record.plan.commands[1].name = HOSTILE.to_owned();
    pair.lines[4].name = HOSTILE.to_owned();
    pair.missing.push((HOSTILE.to_owned(), HOSTILE.to_owned()));
    let html = explain_pair_html(&pair);
    assert!(!html.contains("<script>alert") && !html.contains("]]>"), "{html}");
    let text = explain_pair_text(&pair, Style::default());
    assert!(!text.contains(['\u{202e}', '\u{1b}']), "{text}");
    assert!(!explain_pair_markdown(&pair).contains("<script>"));
}

#[test]
fn what_is_broken_is_refused_with_its_place() {
    let text = explain_json_text(&alone());
    let broken = |from: &str, to: &str| read_explain_record(&text.replacen(from, to, 1)).unwrap_err().to_string();
    assert!(broken("steady.explain/1", "steady.compare/1").contains("an explanation"));
    assert!(broken("steady.explain/1", "steady.explain/2").contains("newer"));
    assert!(broken("\"wall_seconds\": 1", "\"wall_seconds\": -1").contains("wall_seconds"));
    assert!(broken("\"forks\": 0", "\"forks\": null").contains("counts.forks"));
    assert!(broken("\"event\": \"minor_fault\"", "\"event\": \"minor\"").contains("event"));
    assert!(broken("\"minor_faults\": 2", "\"minor_faults\": 20000000000000").contains("minor_faults"));
}

proptest! {
    #[test]
    fn any_figures_come_back_and_show(
        times in prop::array::uniform6(0u64..1 << 50), counts in prop::array::uniform4(0u64..1 << 50), price in -1e3f64..1e3
    ) {
        let mut report = traced();
        let record = &mut report.record;
        (record.wall, record.user, record.system) = (Nanos(times[0]), Nanos(times[1]), Nanos(times[2]));
        (record.thread_time, record.waiting) = (Ok(Nanos(times[3])), Ok(Nanos(times[4])));
        record.tick = Some(Nanos(1 + times[5]));
        (record.counts.minor_faults, record.counts.major_faults) = (counts[0], counts[1]);
        (record.counts.forks, record.counts.calls) = (Ok(counts[2]), Ok(counts[3]));
        let interval = Interval { low: price - 1.0, high: price + 1.0 };
        record.prices.prices[0].1 = Ok(Price { seconds: price, interval });
        report.unexplained = Ok((price, interval));
        report.blocked = Ok(-price);
        prop_assert_eq!(read_explain_record(&explain_json_text(&report)), Ok(report.record.clone()));
        goldens::lines_fit("any", |width| explain_text(&report, Style { width, color: false }));
        explain_html(&report);
        explain_csv(&report);
    }

    #[test]
    fn no_change_of_the_json_makes_it_panic(
        which in 0..4_usize, at in any::<prop::sample::Index>(), text in "[0-9\\[\\]{}\",:a-z.-]{0,4}"
    ) {
        let changed = |json: String| {
            let mut cut = at.index(json.len());
            while !json.is_char_boundary(cut) || !json.is_char_boundary(cut + 1) {
                cut -= 1;
            }
            format!("{}{text}{}", &json[..cut], &json[(cut + 1).min(json.len())..])
        };
        let _ = read_explain_record(&changed(explain_json_text(&all()[which].1)));
        let _ = read_explain_pair_record(&changed(explain_pair_json_text(&pairs()[which].1, true)));
    }
}
