//! The HTML page, Markdown and CSV with hostile names, extreme numbers and many pairs.

use proptest::prelude::*;
use steady_compare::{csv, document};
use steady_model::*;

use crate::by_hand::comparisons;
use crate::made::HOSTILE;

fn html(report: &Report) -> String {
    steady_render::html::text(&document(report))
}

fn markdown(report: &Report) -> String {
    steady_render::markdown::text(&document(report))
}

#[test]
fn names_are_escaped() {
    for (name, mut report) in comparisons::all() {
        for command in &mut report.record.plan.commands {
            command.name = HOSTILE.to_owned();
            command.argv = vec![HOSTILE.to_owned()];
            command.parameters = vec![("<b>".to_owned(), HOSTILE.to_owned())];
            command.revision = Some(HOSTILE.to_owned());
        }
        report.record.host.hostname = Ok(HOSTILE.to_owned());
        report.record.host.kernel = Err(Absent::because(HOSTILE));
        let page = html(&report);
        assert!(!page.contains("<script>alert") && !page.contains("\" onload="), "{name}");
        assert_eq!(page.matches("</title></head>").count() + page.matches("</title><style>").count(), 1, "{name}");
        for line in markdown(&report).lines().filter(|line| line.starts_with("| ")) {
            // `\<` is the letter, and no beginning of a tag.
            assert!(!line.replace("\\<", "").contains("<script"), "{name}: {line}");
        }
    }
}

#[test]
fn tables_of_markdown_keep_their_columns() {
    for (name, mut report) in comparisons::all() {
        report.record.plan.commands.iter_mut().for_each(|command| command.name = HOSTILE.to_owned());
        let text = markdown(&report);
        let tables = text.split("\n\n").filter(|part| part.starts_with("| "));
        for table in tables {
            let columns = |line: &str| line.replace("\\|", "").matches('|').count();
            let mut lines = table.lines();
            let head = columns(lines.next().unwrap());
            assert!(lines.all(|line| columns(line) == head), "{name}:\n{table}");
        }
    }
}

#[test]
fn the_page_fetches_nothing() {
    for (name, report) in comparisons::all() {
        let page = html(&report);
        for pattern in
            ["src=", "url(", "@import", "<link", "<iframe", "<object", "<embed", "<use", "javascript:", "fetch("]
        {
            assert!(!page.contains(pattern), "{name}: {pattern}");
        }
        let elsewhere = page.split("href=\"").skip(1).filter(|rest| !rest.starts_with('#'));
        assert_eq!(elsewhere.count(), 0, "{name}");
        assert!(page.contains("default-src 'none'"), "{name}");
    }
}

/// A report with this number of pairs, one every tenth of a second. One of them is an outlier.
fn with_pairs(pairs: usize) -> Report {
    let mut report = comparisons::slower();
    let pattern = report.record.blocks.clone();
    report.record.blocks = (0..pairs)
        .map(|index| {
            let mut block = pattern[index % pattern.len()].clone();
            block.ended = Nanos(100_000_000 * (index as u64 + 1));
            let wobble = (index as u64 * 7919) % 1009 * 1_000;
            block.runs.iter_mut().for_each(|run| run.user += Nanos(wobble * (run.command as u64 + 1)));
            if index == pairs / 2 {
                block.runs[1].user = Nanos(900_000_000);
            }
            block
        })
        .collect();
    report.record.moments = (0..pairs as u64 / 2)
        .map(|index| Moment { at: Nanos(200_000_000 * (index + 1)), busy_ratio: Some(0.5), ..Moment::default() })
        .collect();
    report
}

#[test]
fn many_pairs_are_thinned_with_a_note() {
    let page = html(&with_pairs(100_000));
    assert!(page.len() < 500_000, "{} bytes", page.len());
    assert!(
        page.contains(" pairs in turns, extremes kept") && page.contains(" pairs in duets, extremes kept"),
        "the number of shown pairs is missing"
    );
    assert!(page.contains("is outside the axis and is shown at its edge"), "the outlier is not mentioned");
    let dots = page.matches("h0M").count();
    assert!((3_000..4_500).contains(&dots), "{dots} dots");
}

#[test]
fn few_pairs_are_all_shown() {
    let page = html(&comparisons::slower());
    assert!(page.contains("43 pairs in turns."), "some pairs are not shown");
    assert!(!page.contains("extremes kept"), "thinned without need");
}

#[test]
fn csv_has_a_line_per_run() {
    for (name, report) in comparisons::all() {
        let usual = report.record.usual.iter().map(|block| block.runs.len()).sum::<usize>();
        assert_eq!(csv(&report).lines().count(), 1 + report.runs() + usual, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_numbers_make_a_page(
        change in any::<f64>(), low in any::<f64>(), high in any::<f64>(), nanos in 0..u64::MAX / 1000, ratio in any::<f64>()
    ) {
        for (_, mut report) in comparisons::all() {
            for judgement in &mut report.judgements {
                judgement.change = Ok(change);
                judgement.interval = Ok(Interval { low, high });
                judgement.layouts.iter_mut().for_each(|layout| layout.interval = Interval { low, high });
            }
            for sight in &mut report.course {
                sight.change = Some(change);
                sight.interval = Some(Interval { low: low.min(high), high: high.max(low) });
            }
            report.breakdowns.iter_mut().for_each(|one| one.user.iter_mut().for_each(|user| user.mean = change));
            if let Some(run) = report.record.blocks.first_mut().and_then(|block| block.runs.first_mut()) {
                run.user = Nanos(nanos);
            }
            if let Some(moment) = report.record.moments.first_mut() {
                (moment.at, moment.busy_ratio) = (Nanos(nanos), Some(ratio));
            }
            let page = html(&report);
            prop_assert!(!page.contains("NaN") && !page.contains("inf ") && page.ends_with("</html>\n"));
            let _ = markdown(&report);
        }
    }
}
