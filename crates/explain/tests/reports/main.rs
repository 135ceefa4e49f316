//! Compares reports in every form with the files in `testdata/reports`, and reads records back from JSON.
//! `STEADY_BLESS=1 cargo test` rewrites the files.

mod made;

use made::{all, alone, more_faults, pairs, refused, traced, tree};
use proptest::prelude::*;
use serde_json::Value;
use steady_costs::prices::{Price, Priced};
use steady_explain::*;
use steady_feature::flags::Form;
use steady_feature::{Record as _, Report as _};
use steady_model::*;
use steady_render::Style;
use steady_render::json::{ReadError, description};
use steady_testing::made::{HOSTILE, seconds};
use steady_testing::{goldens, made as shared};

fn text(record: &dyn steady_feature::Record, width: usize) -> String {
    record.rendered(Form::Text, Style { width, color: false }, false)
}

fn shown(record: &dyn steady_feature::Record, form: Form) -> String {
    record.rendered(form, Style::default(), false)
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// Reads a record of either kind from JSON, as the history does.
fn read(json: &str) -> Result<Box<dyn steady_feature::Record>, ReadError> {
    (FEATURE.records[0].read)(json)
}

#[test]
fn reports_about_one_command_match_the_golden_files() {
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
fn reports_about_two_commands_match_the_golden_files() {
    goldens::check(pairs().into_iter().flat_map(|(name, record)| {
        let exports = [
            ("json", record.json(name == "explain-dearer")),
            ("csv", record.csv()),
            ("md", shown(&record, Form::Markdown)),
        ];
        let page = (name != "explain-few").then(|| (format!("{name}.html"), shown(&record, Form::Html)));
        goldens::forms(name, |width| text(&record, width), exports).into_iter().chain(page).collect::<Vec<_>>()
    }));
}

#[test]
fn the_schema_matches_the_recorded_file() {
    goldens::check_schema(&SCHEMA, description::<Explanation>(&SCHEMA));
}

#[test]
fn no_line_exceeds_the_width() {
    for (name, report) in all() {
        goldens::lines_fit(name, |width| text(&report, width));
    }
    for (name, report) in pairs() {
        goldens::lines_fit(name, |width| text(&report, width));
    }
}

#[test]
fn coloured_text_without_colour_codes_is_the_plain_text() {
    let plain = |text: String| {
        let pieces = text.split('\u{1b}').enumerate();
        pieces.map(|(at, piece)| if at == 0 { piece } else { piece.split_once('m').unwrap().1 }).collect::<String>()
    };
    let records: [&dyn steady_feature::Record; 2] = [&alone(), &more_faults()];
    for record in records {
        let coloured = record.rendered(Form::Text, Style { width: 80, color: true }, false);
        assert!(coloured.contains('\u{1b}'));
        assert_eq!(plain(coloured), text(record, 80));
    }
}

#[test]
fn records_are_read_back_from_json_exactly() {
    for (name, record) in all() {
        let json = record.json(false);
        assert_eq!(ExplainRecord::read(&json), Ok(judged(record)), "{name}");
        assert!(ExplainPairRecord::read(&json).is_err());
    }
    for (name, record) in pairs() {
        let json = record.json(true);
        assert_eq!(ExplainPairRecord::read(&json), Ok(judged_pair(record.clone())), "{name}");
        assert!(ExplainRecord::read(&json).is_err());
        assert_eq!(ExplainPairRecord::read(&record.json(false)), Err(ReadError::WithoutSamples), "{name}");
    }
}

#[test]
fn the_history_reads_both_kinds() {
    assert_eq!(read(&alone().json(true)).unwrap().facts().commands.len(), 1);
    assert_eq!(read(&more_faults().json(true)).unwrap().facts().commands.len(), 2);
    assert!(read("{}").is_err() && read("").is_err());
}

#[test]
fn the_first_sentence_says_that_the_command_was_killed() {
    let start = |ended, trace| {
        let record = ExplainRecord { ended, trace, ..alone() };
        text(&record, 132).replace('\u{a0}', " ").split([':', ';']).nth(1).unwrap().trim_start().to_owned()
    };
    for (ended, expected) in [
        (Outcome::Exited(3), "1.23 s of wall time"),
        (Outcome::Signalled(9), "Signal 9 ended the command after 1.23 s of wall time"),
        (Outcome::TimedOut, "The command was killed at its time limit after 1.23 s of wall time"),
    ] {
        assert_eq!(start(ended, false), expected);
    }
    assert_eq!(start(Outcome::Signalled(9), true), "Signal 9 ended the command. Traced until then");
}

#[test]
fn exports_of_versions_without_the_clock_rate_can_be_read() {
    let mut json = value(&alone().json(true));
    for name in ["alu_seconds", "alu_low_seconds", "alu_high_seconds", "alu_readings"] {
        json.as_object_mut().unwrap().remove(name).unwrap();
        json["prices"].as_object_mut().unwrap().remove(name).unwrap();
    }
    let record = ExplainRecord::read(&json.to_string()).unwrap();
    assert!(record.alu.is_err() && record.prices.alu.is_err());
}

#[test]
fn every_absent_reading_has_a_reason() {
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
                let has_reason = fields.contains_key(&format!("{name}_absent")) || open.contains(&name.as_str());
                // The points of `progress` have no reasons of their own.
                assert!(!field.is_null() || has_reason || path.contains(".progress"), "{path}.{name}");
                check(field, &format!("{path}.{name}"));
            }),
            Value::Array(all) => all.iter().for_each(|one| check(one, path)),
            _ => {}
        }
    }
    for (name, report) in all() {
        check(&value(&report.json(false)), name);
    }
    for (name, report) in pairs() {
        check(&value(&report.json(false)), name);
    }
}

#[test]
fn the_first_sentence_names_only_reasons_whose_intervals_exclude_zero() {
    let sentence = |record: &ExplainPairRecord| text(record, 400).lines().next().unwrap().to_owned();
    let first = sentence(&more_faults());
    assert!(first.starts_with("NEW needs 12.1 ms more CPU time"), "{first}");
    assert!(first.contains("9.2 ms more system time, of which 7.22 ms is for 14,100 more page faults"), "{first}");
    let mut unsure = more_faults();
    for line in &mut unsure.lines {
        if line.line == Line::System || line.line == Line::Part(Priced::MinorFault) {
            let (size, _) = line.difference.clone().unwrap();
            line.difference = Ok((size, Interval { low: -0.001, high: 0.02 }));
        }
    }
    let first = sentence(&unsure);
    assert!(!first.contains("page faults") && !first.contains("system time"), "{first}");
}

#[test]
fn all_times_of_a_sentence_have_one_unit_and_lower_bounds_are_ends_of_intervals() {
    let mut report = more_faults();
    report.record.primary = Metric::Wall;
    for line in &mut report.lines {
        let (size, half) = match line.line {
            Line::Wall => (-0.30, 0.12),
            Line::Cpu => (-0.221, 0.004),
            Line::Waiting => (-0.075, 0.004),
            Line::Part(Priced::KernelEntry) => (-0.100, 0.02),
            _ => continue,
        };
        line.difference = Ok((size, Interval { low: size - half, high: size + half }));
    }
    let shown = text(&report, 1000).replace('\u{a0}', " ");
    let first = "NEW takes 0.30 s less time (0.18 to 0.42 s, 95 %): 0.221 s less CPU time, and 0.075 s less waiting";
    assert!(shown.starts_with(first), "{shown}");
    assert!(shown.contains("NEW needs 221 ms less CPU time") && shown.contains("80 ms or more is for"), "{shown}");
}

#[test]
fn a_difference_that_no_single_part_explains_is_partly_unexplained() {
    let mut report = more_faults();
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
    let text = text(&report, 400);
    let first = text.lines().next().unwrap();
    assert!(first.contains("9.7 ms of it is unexplained") && !first.contains("own code"), "{first}");
}

#[test]
fn only_measured_user_time_is_the_commands_own_code() {
    let first = |user: Reading<f64>, system: Reading<f64>| {
        let mut report = more_faults();
        for line in &mut report.lines {
            let size = match line.line {
                Line::Part(_) => Ok(0.000_01),
                Line::Unexplained => Ok(0.012),
                Line::User => user.clone(),
                Line::System => system.clone(),
                _ => continue,
            };
            line.difference = size.map(|size| (size, Interval { low: 0.9 * size, high: 1.1 * size }));
        }
        text(&report, 1000).lines().next().unwrap().to_owned()
    };
    let unknown = || Err(Absent::because("too short for the ticks"));
    let own = first(Ok(0.012), Ok(0.000_1));
    assert!(own.contains("it is in the commands' own code, where a profiler"), "{own}");
    let system = first(Ok(0.000_1), Ok(0.012));
    assert!(system.contains("the kernel needs this time for the system calls"), "{system}");
    let either = first(unknown(), unknown());
    assert!(either.contains("own code, in libraries, or in kernel work beyond these prices."), "{either}");
}

#[test]
fn rows_say_what_their_numbers_are() {
    let words = |record: &dyn steady_feature::Record| {
        text(record, 132).split_whitespace().collect::<Vec<_>>().join(" ").replace('\u{a0}', " ")
    };
    let mut report = traced();
    report.parts.retain(|part| part.name.contains(", "));
    let execs = Part { name: "execs".to_owned(), priced: Priced::Exec, ..report.parts[0].clone() };
    report.parts.push(execs);
    let report = words(&report);
    assert!(report.contains("pairs of openat, close 17 ") && report.contains("price: lower bound"), "{report}");
    assert!(
        report.matches("price: lower bound").count() == 1 && report.matches("lower bound").count() == 2,
        "{report}"
    );
    assert_eq!(
        report.matches(" or more lower bound").count(),
        1,
        "a lower bound of a count has no upper limit: {report}"
    );
    let mut report = more_faults();
    assert!(!words(&report).contains("vfork"));
    let price = report.prices.of(Priced::Fork);
    report.prices.prices.push((Priced::Vfork, price));
    assert!(words(&report).contains("forks counted together with those by vfork(2)"), "{}", words(&report));
    let one = ExplainRecord { prices: report.prices, ..tree() };
    assert!(words(&one).contains("forks counted together with those by vfork(2)"), "{}", words(&one));
    assert!(!words(&tree()).contains("vfork"));
    let mut pair = more_faults();
    let price = pair.prices.of(Priced::MinorFault);
    pair.prices.prices.push((Priced::MinorFaultCold, price));
    assert!(
        words(&pair).contains("page faults at the price of pages that the runs of pairs reuse"),
        "{}",
        words(&pair)
    );
    let one = ExplainRecord { prices: pair.prices, ..tree() };
    assert!(words(&one).contains("page faults in the first process at the price of pages"), "{}", words(&one));
}

#[test]
fn pairs_beyond_the_budget_say_why() {
    let with = |pairs: usize, elapsed: f64| {
        let mut record = more_faults();
        record.record.blocks.truncate(pairs);
        record.record.elapsed = seconds(elapsed);
        text(&record, 1000).replace('\u{a0}', " ").contains("beyond the budget of 10 s because an interval needs 6")
    };
    assert_eq!([with(6, 14.0), with(6, 9.8), with(12, 10.1)], [true, false, false]);
}

#[test]
fn what_is_missing_for_one_reason_is_one_fact() {
    let shown = text(&refused(), 132).replace('\u{a0}', " ");
    assert!(shown.contains("not measured  forks, threads, execs, system calls: perf_event_paranoid is 4"), "{shown}");
}

#[test]
fn estimates_about_one_command_have_intervals() {
    let mut report = alone();
    let faults = report.parts.iter_mut().find(|part| part.name == "page faults").unwrap();
    faults.interval = Interval { low: 0.2 * faults.seconds, high: 2.0 * faults.seconds };
    let shown = text(&report, 132).split_whitespace().collect::<Vec<_>>().join(" ").replace('\u{a0}', " ");
    let claim =
        "20 % (8 to 34 %) of the CPU time went into counted events, the largest part into 214,511 page faults (14 %)";
    assert!(shown.contains(claim), "{shown}");
    assert!(shown.contains("page faults 214,511 512 ns 0.11 s 0.02 to 0.22 14 %"), "{shown}");
    for row in ["the counting 11 ms 8 to 15", "unexplained 604 ms 598 to 609"] {
        assert!(shown.contains(row), "{shown}");
    }
}

#[test]
fn processes_that_do_not_add_up_to_the_total_say_so() {
    let words = |record: &ExplainRecord| text(record, 132).replace('\u{a0}', " ");
    let mut report = tree();
    assert!(!words(&report).contains("is not in these figures"));
    let sum: Nanos = report.processes.iter().flatten().map(|one| one.cpu_seconds).sum();
    (report.user_seconds, report.system_seconds) = (sum, seconds(1.2));
    let shown = words(&report);
    let missing = "1.20 s (2.2 %) of the CPU time is not in these figures: processes ";
    assert_eq!(shown.matches(&format!("{missing}used it after their last reading")).count(), 1, "{shown}");
    let shown = words(&ExplainRecord { processes_sampled: true, ..report.clone() });
    let short = format!("{missing}that started and ended between two samples used it, or others");
    assert_eq!(shown.matches(&short).count(), 1, "{shown}");
    // Without a table of programs, the sentence is below that of processes.
    report.processes.iter_mut().flatten().for_each(|one| one.name = "cc1".to_owned());
    assert_eq!(words(&report).matches(missing).count(), 1);
}

#[test]
fn short_processes_are_not_said_to_spend_most_of_their_time_on_their_start() {
    let mut report = tree();
    let short = |pid: i32| ProcessUse { pid, cpu_seconds: seconds(0.004), ..tree().processes.unwrap()[1].clone() };
    report.processes.as_mut().unwrap().extend((5_000..5_030).map(short));
    let shown = text(&report, 132).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("30 processes used less than 5 ms of CPU time each. A part of it is their start"),
        "{shown}"
    );
    assert!(self::shown(&report, Form::Markdown).contains(": `steady warm bench` measures"));
    report.interpreter = Some("/root/.pyenv/shims/python3".into());
    let hint = "`/root/.pyenv/shims/python3` is a script that starts the real program: name that program instead";
    assert!(self::shown(&report, Form::Markdown).contains(hint));
}

#[test]
fn bars_have_the_order_of_the_rows() {
    let mut report = alone();
    report.parts.iter_mut().filter(|part| part.name == "switches").for_each(|part| part.seconds = 0.2);
    report.parts.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let page = shown(&report, Form::Html);
    let chart = &page[page.find("CPU time by event").unwrap()..];
    let at = |name: &str| chart.find(&format!(">{name}<")).unwrap_or_else(|| panic!("{name}: {chart}"));
    assert!(at("switches") < at("page faults") && at("system calls") < at("unexplained"));
}

#[test]
fn no_time_of_other_processes_has_no_share() {
    let mut report = tree();
    let parents: Nanos =
        report.processes.iter().flatten().take(1).map(|one| one.blocked_seconds.clone().unwrap()).sum();
    report.blocked_seconds = Ok(parents.seconds() + 1e-13);
    let shown = text(&report, 132).replace('\u{a0}', " ");
    let row = shown.lines().find(|line| line.trim().starts_with("other processes")).unwrap();
    assert!(row.split_whitespace().collect::<Vec<_>>().join(" ").starts_with("other processes 0 ms 0 %"), "{row}");
}

#[test]
fn threads_have_a_column_only_if_there_are_several() {
    assert!(text(&tree(), 132).contains("threads "));
    let mut report = tree();
    report.processes.iter_mut().flatten().for_each(|one| one.threads = 1);
    let shown = text(&report, 80);
    let head = shown.lines().find(|line| line.contains("PID")).unwrap();
    assert!(!head.contains("threads") && head.contains("switches"), "{head}");
}

#[test]
fn times_that_the_ticks_do_not_show_are_absent_in_csv_and_in_the_chart_over_time() {
    let line = |csv: &str, name: &str| csv.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    let mut report = tree();
    assert!(line(&report.csv(), "system time").starts_with("system time,2,16.4,15.1,17.7,"));
    assert!(shown(&report, Form::Html).contains("in user mode"));
    report.system_interval = refused().system_interval;
    for name in ["user time", "system time"] {
        assert!(line(&report.csv(), name).starts_with(&format!("{name},2,,,,")), "{}", report.csv());
        assert!(line(&report.csv(), name).contains("less than 2 ticks of"));
    }
    let page = shown(&report, Form::Html);
    assert!(page.contains("CPUs in use over time") && !page.contains("in user mode"));
}

#[test]
fn a_csv_line_of_two_commands_has_the_reasons_of_both() {
    let mut report = more_faults();
    let absent = |why: &str| Err(Absent::because(why));
    let line = report.lines.iter_mut().find(|line| line.line == Line::User).unwrap();
    line.seconds = [absent("OLD is short"), absent("NEW is short")];
    line.difference = Err(Absent::because("NEW is short"));
    assert!(report.csv().contains(",NEW is short; OLD is short"), "{}", report.csv());
}

#[test]
fn an_expensive_kind_that_does_not_differ_has_a_row() {
    let mut report = more_faults();
    let fork = report.lines.iter().position(|line| line.line == Line::Part(Priced::Fork)).unwrap();
    let kind = |name: &str, seconds: f64| Difference {
        name: name.to_owned(),
        seconds: [Ok(seconds), Ok(seconds)],
        difference: Ok((0.0, Interval { low: 0.0, high: 0.0 })),
        ..more_faults().lines[fork].clone()
    };
    let kinds = [kind("execs", 3e-3), kind("mmap", 1e-5), kind("brk", 1e-5)];
    report.lines.splice(fork + 1..fork + 1, kinds);
    let shown = text(&report, 132);
    assert!(shown.contains("  execs ") && shown.contains("3 other kinds"), "{shown}");
}

#[test]
fn summaries_for_lists_are_short() {
    assert_eq!(alone().facts().verdict, "1.23 s, 765 ms CPU");
    assert_eq!(traced().facts().verdict, "13,318 calls traced");
    assert_eq!(tree().facts().verdict, "41.2 s, 49.5 s CPU");
    let summaries: Vec<String> = pairs().iter().map(|(_, report)| report.facts().verdict).collect();
    assert_eq!(summaries, ["NEW +12.1 ms CPU", "NEW -49.0 ms wall", "no CPU difference", "undecided"]);
}

#[test]
fn hostile_texts_are_escaped_in_every_form() {
    let mut report = tree();
    report.command.name = HOSTILE.to_owned();
    report.processes.as_mut().unwrap()[0].name = HOSTILE.to_owned();
    report.missing.push(Missing { what: HOSTILE.to_owned(), why: HOSTILE.to_owned() });
    report.parts[0].name = HOSTILE.to_owned();
    report.sources.push(HOSTILE.to_owned());
    harmless(&report);
    assert_eq!(ExplainRecord::read(&report.json(false)), Ok(judged(report)));
    let mut pair = more_faults();
    pair.record.plan.commands[1].name = HOSTILE.to_owned();
    pair.lines[4].name = HOSTILE.to_owned();
    pair.missing.push(Missing { what: HOSTILE.to_owned(), why: HOSTILE.to_owned() });
    harmless(&pair);
}

fn harmless(record: &dyn steady_feature::Record) {
    let html = shown(record, Form::Html);
    assert!(!html.contains("<script>alert") && !html.contains("]]>"), "{html}");
    let text = text(record, 80);
    assert!(!text.contains(['\u{202e}', '\u{1b}']), "{text}");
    assert!(!shown(record, Form::Markdown).contains("<script>"));
}

#[test]
fn the_old_name_of_the_activity_is_read() {
    let text = alone().json(false);
    let old = text.replacen("\"activity\": {", "\"load\": {", 1);
    assert_ne!(text, old);
    assert_eq!(ExplainRecord::read(&old), ExplainRecord::read(&text));
}

#[test]
fn broken_exports_are_rejected_with_the_path_of_the_field() {
    let text = alone().json(false);
    let broken = |from: &str, to: &str| ExplainRecord::read(&text.replacen(from, to, 1)).unwrap_err().to_string();
    assert!(broken("steady.explain/1", "steady.compare/1").contains("an explanation"));
    assert!(broken("steady.explain/1", "steady.explain/2").contains("newer"));
    assert!(broken("\"wall_seconds\": 1", "\"wall_seconds\": -1").contains("wall_seconds"));
    assert!(broken("\"forks\": 0", "\"forks\": null").contains("counts.forks"));
    assert!(broken("\"event\": \"minor_fault\",\n", "\"event\": \"minor\",\n").contains("event"));
    assert!(broken("\"minor_faults\": 2", "\"minor_faults\": 20000000000000").contains("minor_faults"));
    assert!(broken("\"alu_seconds\": 1", "\"alu_seconds\": 9").contains("alu_seconds"));
    assert!(broken("\"alu_high_seconds\"", "\"alu_other\"").contains("alu_high_seconds"));
}

proptest! {
    #[test]
    fn any_figures_are_read_back_and_rendered(
        times in prop::array::uniform6(0u64..1 << 50), counts in prop::array::uniform4(0u64..1 << 50), price in -1e3f64..1e3
    ) {
        let mut record = traced();
        let [wall, user, system, lived, waiting, tick] = times.map(Nanos);
        (record.wall_seconds, record.user_seconds, record.system_seconds) = (wall, user, system);
        (record.thread_seconds, record.waiting_seconds) = (Ok(lived), Ok(waiting));
        record.tick_seconds = Ok(tick.max(Nanos(1)));
        (record.counts.minor_faults, record.counts.major_faults) = (counts[0], counts[1]);
        (record.counts.forks, record.counts.calls) = (Ok(counts[2]), Ok(counts[3]));
        let interval = Interval { low: price - 1.0, high: price + 1.0 };
        record.prices.prices[0].1 = Ok(Price { seconds: price, interval });
        let mut record = judged(record);
        prop_assert_eq!(ExplainRecord::read(&record.json(false)), Ok(record.clone()));
        record.unexplained = Ok((price, interval));
        record.blocked_seconds = Ok(-price);
        goldens::lines_fit("any", |width| text(&record, width));
        shown(&record, Form::Html);
        record.csv();
    }

    #[test]
    fn no_changed_json_causes_a_panic(
        which in 0..4_usize, at in any::<prop::sample::Index>(), text in "[0-9\\[\\]{}\",:a-z.-]{0,4}"
    ) {
        let changed = |json: String| {
            let mut cut = at.index(json.len());
            while !json.is_char_boundary(cut) || !json.is_char_boundary(cut + 1) {
                cut -= 1;
            }
            format!("{}{text}{}", &json[..cut], &json[(cut + 1).min(json.len())..])
        };
        let _ = read(&changed(all()[which].1.json(false)));
        let _ = read(&changed(pairs()[which].1.json(true)));
    }
}
