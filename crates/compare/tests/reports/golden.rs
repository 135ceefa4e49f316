//! Compares reports with the golden files in `testdata/reports`. `STEADY_BLESS=1 cargo test` rewrites them.

use serde_json::Value;
use steady_compare::json::{Comparison, SCHEMA, json_text};
use steady_compare::{Compared, csv, document};
use steady_feature::Record;
use steady_model::{FailIf, Interval, Layout, Report, Undecided, Verdict};
use steady_render::json::description;
use steady_render::{Style, html, markdown, terminal};

use crate::by_hand::comparisons;
use crate::goldens;

fn text(report: &Report, style: Style) -> String {
    terminal::text(&document(report), style)
}

/// The reports with golden files in the other formats: one for each thing that these formats show differently.
const EXPORTED: [&str; 9] =
    ["slower", "same", "undecided", "three", "one", "absent", "failures-ignored", "too-few", "from-snapshots"];

#[test]
fn the_schema_is_as_recorded() {
    goldens::check_schema(&SCHEMA, description::<Comparison<'static>>(&SCHEMA));
}

#[test]
fn reports_look_as_recorded() {
    let files = comparisons::all().into_iter().flat_map(|(name, report)| {
        let text = (format!("{name}.80.txt"), text(&report, Style { width: 80, color: false }));
        let json = (format!("{name}.json"), json_text(&report, report.record.blocks.len() < 10));
        let exports = [
            (format!("{name}.md"), markdown::text(&document(&report))),
            (format!("{name}.csv"), csv(&report)),
            (format!("{name}.html"), html::text(&document(&report))),
        ];
        let exports = exports.into_iter().filter(|_| EXPORTED.contains(&name));
        [text, json].into_iter().chain(exports).collect::<Vec<_>>()
    });
    goldens::check(files);
}

#[test]
fn no_line_is_too_long_at_any_width() {
    for (name, report) in comparisons::all() {
        goldens::lines_fit(name, |width| text(&report, Style { width, color: false }));
    }
}

#[test]
fn coloured_text_differs_only_in_its_colours() {
    for (name, report) in comparisons::all() {
        let plain = text(&report, Style::default());
        let mut coloured = text(&report, Style { color: true, ..Style::default() });
        assert!(coloured.contains("\x1b[1m"), "{name}");
        while let Some(start) = coloured.find('\x1b') {
            let end = coloured[start..].find('m').unwrap();
            coloured.replace_range(start..=start + end, "");
        }
        let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(trimmed(&coloured), trimmed(&plain), "{name}");
    }
}

#[test]
fn the_warning_about_the_background_process_of_steady_warm_says_what_to_do() {
    let words = |report: &Report| text(report, Style::default()).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut report = comparisons::failures_ignored();
    let remedy = "let the command wait for it";
    assert!(words(&report).contains(remedy));
    let command = &mut report.record.plan.commands[1];
    command.program = "/usr/bin/steady".into();
    command.argv = ["steady", "warm", "--", "./script"].map(str::to_owned).to_vec();
    let words = words(&report);
    assert!(words.contains("use --warm instead of steady warm") && !words.contains(remedy), "{words}");
}

#[test]
fn json_begins_with_the_documented_fields() {
    for (name, report) in comparisons::all() {
        let json = json_text(&report, false);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let first =
            ["schema", "seed", "elapsed_seconds", "commands", "host", "budget_seconds", "layouts", "pairs", "runs"];
        let present: Vec<&str> = keys.iter().copied().filter(|key| first.contains(key)).collect();
        assert_eq!(present, first, "{name}");
    }
}

/// Without a condition, a verdict is required; with one, an answer whether it holds.
#[test]
fn required_answers_set_the_exit_status_and_the_condition_is_in_json() {
    let condition = |verdict, beyond| Some(FailIf { verdict, beyond });
    let of = |mut report: Report, fail_if, interval: [f64; 2]| {
        (report.record.plan.fail_if, report.record.plan.require_verdict) = (fail_if, true);
        let primary = report.judgements.iter_mut().find(|judgement| judgement.primary).unwrap();
        primary.interval = Ok(Interval { low: interval[0], high: interval[1] });
        let json: Value = serde_json::from_str(&json_text(&report, false)).unwrap();
        let state = json["verdicts"][0]["condition"].as_str().map(str::to_owned);
        (Compared(report).status(), state)
    };
    let slower = |fail_if, interval| of(comparisons::slower(), fail_if, interval);
    let undecided = |fail_if, interval| of(comparisons::undecided(), fail_if, interval);
    let state = |status: u8, state: &str| (status, Some(state.to_owned()));
    assert_eq!(slower(condition(Verdict::Slower, 0.02), [0.03, 0.05]), state(1, "holds"));
    assert_eq!(slower(condition(Verdict::Slower, 0.04), [0.03, 0.05]), state(4, "open"));
    assert_eq!(slower(condition(Verdict::Slower, 0.06), [0.03, 0.05]), state(0, "does_not_hold"));
    assert_eq!(slower(None, [0.03, 0.05]), (0, None));
    assert_eq!(undecided(condition(Verdict::Slower, 0.02), [-0.02, 0.01]), state(0, "does_not_hold"));
    assert_eq!(undecided(condition(Verdict::Slower, 0.02), [-0.02, 0.03]), state(4, "open"));
    assert_eq!(undecided(None, [-0.02, 0.01]), (4, None));
    // The usual run is cheaper, and the mean may be on the other side of the limit of 2 %, but not of 200 %.
    let mean = |beyond| of(comparisons::mean_uncertain(), condition(Verdict::Slower, beyond), [-0.051, -0.049]);
    assert_eq!(mean(0.02), state(4, "open"));
    assert_eq!(mean(2.0), state(0, "does_not_hold"));
}

#[test]
fn a_layout_has_its_size_if_the_other_has_too_few_pairs() {
    let mut report = comparisons::slower();
    let judgement = report.judgements.iter_mut().find(|judgement| judgement.primary).unwrap();
    judgement.layouts.retain(|effect| effect.layout == Layout::Turns);
    let text = text(&report, Style { width: 1000, color: false });
    let line = |label: &str| text.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
    assert!(line("in turns").contains(" of the measured time): +"), "{text}");
    assert!(line("in duets").ends_with(" of the measured time): too few pairs for an interval"), "{text}");
}

/// An interval of the mean that ends just below zero is the reason why there is no verdict.
#[test]
fn the_end_of_an_undecided_interval_of_the_mean_is_not_rounded_to_zero() {
    let mut report = comparisons::mean_decides();
    let judgement = report.judgements.iter_mut().find(|judgement| judgement.primary).unwrap();
    let (change, interval) = (Ok(0.43), Ok(Interval { low: -0.0014, high: 0.88 }));
    (judgement.verdict, judgement.undecided) = (Verdict::Undecided, Ok(Undecided::TooWide));
    (judgement.change, judgement.interval) = (change.clone(), interval.clone());
    (judgement.mean.change, judgement.mean.interval) = (change, interval);
    let document = document(&report);
    for text in [terminal::text(&document, Style { width: 1000, color: false }), markdown::text(&document)] {
        let text = text.replace('\u{a0}', " ");
        assert!(text.contains("+43.0 % (-0.1 to 88.0 %, 95 %)") && !text.contains("(0 to 88"), "{text}");
    }
}

/// The mean is the reason only if the interval of the usual run alone would answer.
#[test]
fn an_open_condition_names_what_is_not_known() {
    let said = |verdict, beyond| {
        let mut report = comparisons::mean_uncertain();
        report.record.plan.fail_if = Some(FailIf { verdict, beyond });
        text(&report, Style { width: 1000, color: false })
    };
    assert!(said(Verdict::Slower, 0.02).contains("is open: the mean may lie on the other side of the limit."));
    let inside = said(Verdict::Faster, 0.05);
    assert!(inside.contains("is open: ") && !inside.contains("the mean may lie"), "{inside}");
}
