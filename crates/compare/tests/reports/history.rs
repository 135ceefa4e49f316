//! How runs of the history are listed and shown.

use steady_compare::json::verdicts_json;
use steady_compare::{Compared, summary};
use steady_feature::Record;
use steady_history::{run_json_text_with_verdicts, run_text_with_sentences, runs_json_text, runs_text};
use steady_model::{Facts, Kept, Metric, Report, Timestamp};
use steady_render::Style;
use steady_render::letters::one_line;

use crate::by_hand::comparisons;

/// The facts of a comparison.
fn facts(report: &Report) -> Facts {
    Compared(report.clone()).facts()
}

/// All reports of the golden files as runs of the history.
fn runs() -> Vec<Kept> {
    let kept = |(id, (_, report)): (usize, (&str, Report))| Kept { id: 1 + 1000 * id as i64, facts: facts(&report) };
    comparisons::all().into_iter().enumerate().map(kept).collect()
}

fn list(runs: &[Kept], columns: usize) -> String {
    let text = runs_text(runs, Style { width: columns, color: false });
    for line in text.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= columns, "{line}");
        assert_eq!(line, line.trim_end());
    }
    text
}

/// The commands of a run as the list shows them, with single spaces.
fn commands(kept: &Kept) -> String {
    words(&one_line(&kept.facts.commands.join(" · ")))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_wide_list_has_a_line_for_each_run() {
    let runs = runs();
    let text = list(&runs, 400);
    let lines: Vec<&str> = text.lines().skip(1).take(runs.len()).collect();
    for (line, kept) in lines.iter().zip(&runs) {
        let first = line.trim_start().split(' ').next().unwrap();
        assert_eq!(first, kept.id.to_string(), "{text}");
        assert!(words(line).ends_with(&commands(kept)), "{line}");
    }
    assert!(text.ends_with("* did not run to its end\n"), "an interrupted run is among them: {text}");
}

#[test]
fn a_narrow_list_shows_whole_commands_below_the_lines() {
    let runs = runs();
    for columns in [40, 60, 80] {
        let text = list(&runs, columns);
        assert!(text.lines().nth(2).unwrap().starts_with("  38.2 % more: sha256sum"), "{text}");
        let short = runs.iter().map(commands).filter(|commands| commands.len() < 60);
        assert!(short.clone().count() > 3 && short.into_iter().all(|one| words(&text).contains(&one)), "{text}");
    }
}

#[test]
fn long_commands_lose_their_middle() {
    let mut runs = runs();
    runs.truncate(1);
    runs[0].facts.commands = vec!["日本語".repeat(20), "a\u{1b}[31m\nb".to_owned(), "x ".repeat(500) + "end"];
    let text = list(&runs, 80);
    assert!(text.lines().count() <= 6 && text.ends_with(" end\n") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn verdicts_are_summed_up() {
    let summaries: Vec<(&str, String)> =
        comparisons::all().iter().map(|(name, report)| (*name, summary(report))).collect();
    let of = |name: &str| summaries.iter().find(|(found, _)| *found == name).unwrap().1.as_str();
    assert_eq!(of("slower"), "38.2 % more");
    assert_eq!(of("same"), "same");
    assert_eq!(of("factor"), "3.21 times as much");
    assert!(summaries.iter().all(|(_, text)| !text.is_empty() && !text.contains('\n')), "{summaries:?}");
}

#[test]
fn a_metric_that_is_not_cpu_time_is_named() {
    let mut runs = runs();
    runs.truncate(1);
    assert!(list(&runs, 80).contains("38.2 % more: "), "{}", list(&runs, 80));
    runs[0].facts.primary = Ok(Metric::Wall);
    assert!(list(&runs, 80).contains("38.2 % more (wall): "), "{}", list(&runs, 80));
}

#[test]
fn one_run_is_shown_in_both_forms() {
    for (kept, (name, report)) in runs().iter().zip(comparisons::all()) {
        let text = run_text_with_sentences(kept, &[summary(&report)], Style::default());
        assert!(text.contains(&format!("Run {}", kept.id)) && text.contains("seed"), "{name}: {text}");
        assert!(text.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 80), "{name}: {text}");
        let json: serde_json::Value =
            serde_json::from_str(&run_json_text_with_verdicts(kept, verdicts_json(&report))).unwrap();
        let primary = report.primary().count();
        assert_eq!(json["runs"][0]["verdicts"].as_array().unwrap().len(), primary, "{name}");
    }
}

#[test]
fn absent_facts_have_their_reasons() {
    let mut runs = runs();
    runs.truncate(1);
    runs[0].facts.revision = Err(steady_model::Absent::because("no repository"));
    runs[0].facts.started = Timestamp(u64::MAX);
    let json: serde_json::Value = serde_json::from_str(&runs_json_text(&runs)).unwrap();
    let run = &json["runs"][0];
    assert_eq!(
        (json["schema"].as_str(), run["revision_absent"].as_str()),
        (Some("steady.history/1"), Some("no repository"))
    );
    assert!(run["revision"].is_null() && run["id"] == 1, "{run}");
}
