//! Reports of searches in all formats, compared with files in `testdata/reports`; and reading JSON back.

use std::str::FromStr;

use proptest::prelude::*;
use steady_bisect::*;
use steady_feature::flags::Form;
use steady_feature::{Record, Report};
use steady_model::*;
use steady_render::json::description;
use steady_testing::goldens::{self, shown, text};
use steady_testing::made::{HOSTILE, absent, builder, seconds};

fn commit(number: usize, subject: &str) -> HistoryCommit {
    HistoryCommit {
        commit: format!("{:040x}", 0x1a2b_3c4d_0000_u64 + number as u64 * 0x0101),
        short: format!("{:07x}", 0x001a_2b30 + number * 0x101),
        subject: subject.to_owned(),
        is_merge: false,
        skipped: None,
        probability: 0.0,
    }
}

fn comparison(purpose: Purpose, [from, to]: [usize; 2], change: f64, half: f64, verdict: Verdict) -> Comparison {
    Comparison {
        purpose,
        from,
        to,
        verdict,
        change: Ok(change),
        low: Ok(change - half),
        high: Ok(change + half),
        confidence: 0.95,
        pairs: 120,
        measured_seconds: seconds(9.6),
        waiting_ratio: None,
    }
}

/// A search in 12 commits that found the seventh one.
fn found() -> BisectRecord {
    let subjects = [
        "Release 1.2",
        "Fix a typo in the manual",
        "Parse options in one pass",
        "Add --count",
        "Update dependencies",
        "Use a hash table for words",
        "Test empty lines",
        "Check every line for invalid UTF-8 before it is split into words",
        "Fix the build on musl",
        "Remove an unused function",
        "Document --count",
        "Rename a variable",
        "Release 1.3",
    ];
    let mut commits: Vec<HistoryCommit> = subjects.iter().enumerate().map(|(at, one)| commit(at, one)).collect();
    commits[8].skipped =
        Some("the build of 1a2b838 exited with status 2; the last lines of its output:\n  x".to_owned());
    judged(BisectRecord {
        started: Timestamp(1_795_171_242),
        command: "./words input.txt".to_owned(),
        build: Some("make -j2".to_owned()),
        range: "v1.2..v1.3".to_owned(),
        host: builder(),
        revision: Ok("0123456789ab".into()),
        seed: Seed(7),
        budget_seconds: seconds(120.0),
        earlier_seconds: Nanos::ZERO,
        resolution_ratio: 0.01,
        confidence: 0.95,
        metric: Ok(Metric::Cpu),
        commits,
        comparisons: vec![
            comparison(Purpose::Ends, [0, 12], 0.052, 0.008, Verdict::Slower),
            comparison(Purpose::Search, [0, 6], 0.001, 0.012, Verdict::Same),
            comparison(Purpose::Search, [0, 9], 0.049, 0.013, Verdict::Slower),
            comparison(Purpose::Search, [0, 7], 0.055, 0.012, Verdict::Slower),
            comparison(Purpose::Confirmation, [6, 7], 0.053, 0.007, Verdict::Slower),
        ],
        confirmations: 1,
        interrupted: false,
        outcome: BisectOutcome::Open,
        candidates: vec![],
    })
}

#[test]
fn a_commit_with_a_part_of_the_whole_change_is_reported_as_such() {
    let part = |change: f64, half: f64| {
        let mut record = found();
        *record.comparisons.last_mut().unwrap() =
            comparison(Purpose::Confirmation, [6, 7], change, half, Verdict::Slower);
        judged(record).sentences().join(" ").contains("less than that of the whole range")
    };
    assert!(!part(0.053, 0.007) && !part(0.04, 0.02), "the intervals overlap");
    assert!(part(0.03, 0.01), "the intervals exclude each other");
    assert!(part(0.02, 0.019), "less than half as much");
    let advice = |at: usize| {
        let mut record = found();
        *record.comparisons.last_mut().unwrap() =
            comparison(Purpose::Confirmation, [at - 1, at], 0.02, 0.01, Verdict::Slower);
        let record = judged(record);
        let short = |at: usize| record.commits[at].short.clone();
        let [before, after] = [[0, at - 1], [at, 12]].map(|[from, to]| {
            record.sentences().join(" ").contains(&format!("'steady bisect {}..{}' searches", short(from), short(to)))
        });
        (before, after)
    };
    assert_eq!((advice(7), advice(1), advice(12)), ((true, true), (false, true), (true, false)));
    let mut more = found();
    *more.comparisons.last_mut().unwrap() = comparison(Purpose::Confirmation, [6, 7], 0.1, 0.02, Verdict::Slower);
    assert!(judged(more).sentences().join(" ").contains("in the other direction"));
    let mut whole = found();
    whole.comparisons.truncate(1);
    whole.comparisons.push(comparison(Purpose::Confirmation, [0, 12], 0.02, 0.019, Verdict::Slower));
    assert!(!judged(whole).sentences().join(" ").contains("less than that of the whole range"));
}

#[test]
fn all_confirmed_commits_are_reported_and_the_largest_is_named() {
    let mut record = found();
    record.comparisons[0] = comparison(Purpose::Ends, [0, 12], 0.10, 0.01, Verdict::Slower);
    *record.comparisons.last_mut().unwrap() = comparison(Purpose::Confirmation, [2, 3], 0.03, 0.005, Verdict::Slower);
    record.comparisons.push(comparison(Purpose::Confirmation, [6, 7], 0.05, 0.005, Verdict::Slower));
    let record = judged(record);
    assert_eq!(record.candidates, [7]);
    let text = record.sentences().join(" ").replace('\u{a0}', " ");
    let also = format!("{} also raised it by 3.0 %", record.commits[3].short);
    assert!(text.contains(&also) && !text.contains("With the same command"), "{text}");
    let mut less = record;
    less.comparisons[0] = comparison(Purpose::Ends, [0, 12], 0.15, 0.01, Verdict::Slower);
    let less = judged(less);
    let text = less.sentences().join(" ").replace('\u{a0}', " ");
    assert!(text.contains("together are less than that of the whole range"), "{text}");
    for [from, to] in [[0, 2], [3, 6], [7, 12]] {
        let [first, last] = [from, to].map(|at| less.commits[at].short.as_str());
        assert!(text.contains(&format!("'steady bisect {first}..{last}' searches")), "{text}");
    }
}

/// The same search, before its confirmation.
fn open() -> BisectRecord {
    let mut record = found();
    record.comparisons.truncate(3);
    record.interrupted = true;
    // It continued an earlier run, on a busy machine.
    record.earlier_seconds = seconds(9.6);
    record.metric = Ok(Metric::Wall);
    record.comparisons[1].waiting_ratio = Some(0.7);
    record.comparisons[2].waiting_ratio = Some(0.2);
    judged(record)
}

/// Both ends are the same.
fn same() -> BisectRecord {
    let mut record = found();
    record.comparisons = vec![comparison(Purpose::Ends, [0, 12], -0.002, 0.005, Verdict::Same)];
    record.build = None;
    judged(record)
}

/// Several commits may be the one, because some cannot be built; the last of them is a merge.
fn several() -> BisectRecord {
    let mut record = found();
    record.commits[6].skipped = Some("in 1a2b636: no such program: './words'".to_owned());
    record.commits[7].is_merge = true;
    record.comparisons.remove(1);
    record.comparisons[3].from = 5;
    judged(record)
}

/// It is not known whether the ends differ, and nothing has a harmless name.
fn hostile() -> BisectRecord {
    let mut record = found();
    record.comparisons = vec![Comparison {
        change: absent("3 pairs, and an interval needs 6"),
        low: absent("3 pairs, and an interval needs 6"),
        high: absent("3 pairs, and an interval needs 6"),
        pairs: 3,
        ..comparison(Purpose::Ends, [0, 12], 0.0, 0.0, Verdict::Undecided)
    }];
    record.commits[3].skipped = Some(HOSTILE.to_owned());
    record.commits.iter_mut().for_each(|commit| commit.subject = HOSTILE.to_owned());
    (record.command, record.range, record.build) = (HOSTILE.to_owned(), HOSTILE.to_owned(), Some(HOSTILE.to_owned()));
    judged(record)
}

fn all() -> [(&'static str, BisectRecord); 5] {
    [
        ("bisect-found", found()),
        ("bisect-open", open()),
        ("bisect-same", same()),
        ("bisect-several", several()),
        ("bisect-hostile", hostile()),
    ]
}

#[test]
fn reports_match_golden_files() {
    goldens::check(all().into_iter().flat_map(|(name, record)| goldens::of_report(name, &record, false)));
}

#[test]
fn schema_matches_golden_file() {
    goldens::check_schema(&SCHEMA, description::<BisectRecord>(&SCHEMA));
}

#[test]
fn lines_fit_every_width() {
    for (name, record) in all() {
        goldens::lines_fit(name, |width| text(&record, width));
    }
}

#[test]
fn probabilities_are_shown_if_there_is_a_commit_to_find() {
    for (name, record) in all() {
        assert!(!text(&record, 80).contains("100\u{a0}%"), "{name}");
    }
    assert!(!text(&same(), 80).contains("probability") && text(&found(), 80).contains("probability"));
    let text = text(&open(), 1000).replace('\u{a0}', " ");
    assert!(text.contains("open which of 3 commits changed the wall time"), "{text}");
    assert!(
        text.contains(
            "more than 99 % it is one of the 3 most probable ones in the table, the first of which is 01a3237"
        ),
        "{text}"
    );
}

#[test]
fn time_spent_waiting_for_a_cpu_has_one_warning() {
    let latency = MetricSource::from_str("latency[ms]").unwrap().metric(0).unwrap();
    for (metric, name, remedy) in [(Metric::Wall, "wall time", "elapsed"), (latency, "latency", "cpu")] {
        let text = text(&BisectRecord { metric: Ok(metric), ..open() }, 1000).replace('\u{a0}', " ");
        assert!(text.contains("up to 70 % of their wall time waiting for a CPU"), "{text}");
        assert!(text.contains(&format!("part of the {name}, whose")), "{text}");
        assert!(text.contains(&format!("--metric {remedy} leaves it out")), "{text}");
        assert_eq!(text.matches("waiting").count(), 1, "{text}");
    }
}

#[test]
fn the_budget_is_that_of_the_run() {
    let shown = |record: &BisectRecord| text(record, 1000).replace('\u{a0}', " ");
    let text = shown(&open());
    assert!(text.contains("28.8 s in 3 comparisons, 9.6 s of them in earlier runs"), "{text}");
    assert!(text.contains("2 min for this run"), "{text}");
    assert!(!shown(&found()).contains("for this run"));
}

#[test]
fn the_note_says_which_commits_the_confirmation_compared() {
    let shown = |record: &BisectRecord| text(record, 1000);
    assert!(
        shown(&found()).contains("the confirmation, which compared 01a3237 with its parent 01a3136 on fresh pairs")
    );
    assert!(shown(&several()).contains("the confirmation, which compared 01a3237 with 01a3035 on fresh pairs"));
    assert!(shown(&open()).contains("Only a confirmation names a commit."));
}

#[test]
fn names_are_escaped() {
    let record = hostile();
    assert!(!shown(&record, Form::Html).contains("<script>"));
    assert!(!text(&record, 80).contains('\u{1b}') && !shown(&record, Form::Markdown).contains('\u{1b}'));
}

#[test]
fn the_summary_names_the_commit_and_its_change() {
    let verdict = found().facts().verdict;
    let (commit, change) = verdict.split_once(' ').unwrap();
    assert!(commit.len() == 7 && change.ends_with(" % more"), "{verdict}");
}

#[test]
fn the_exit_status_says_whether_the_commit_was_found() {
    assert_eq!([found(), several(), same(), open()].map(|record| record.status()), [0, 0, 4, 4]);
}

#[test]
fn json_round_trips() {
    for (name, record) in all() {
        assert_eq!(BisectRecord::read(&record.json(false)), Ok(record), "{name}");
    }
}

#[test]
fn invalid_json_is_rejected_with_its_field() {
    let text = found().json(false);
    let broken = |from: &str, to: &str| BisectRecord::read(&text.replacen(from, to, 1)).unwrap_err().to_string();
    assert!(broken("steady.bisect/1", "steady.compare/1").contains("a search for a commit"));
    assert!(broken("\"to\": 12", "\"to\": 13").contains("comparisons"));
    assert!(broken("\"from\": 0", "\"from\": -1").contains("from"));
    assert!(broken("\"verdict\": \"slower\"", "\"verdict\": \"other\"").contains("verdict"));
}

#[test]
fn the_interval_of_a_commit_is_that_of_its_only_comparison() {
    let row = |record: &BisectRecord, at: usize| {
        let csv = Report::csv(record);
        let row: Vec<f64> =
            csv.lines().nth(at + 1).unwrap().rsplit(',').skip(1).take(3).map(|one| one.parse().unwrap()).collect();
        [row[2], row[1], row[0]]
    };
    let once = found();
    let only = once.comparisons[3].clone();
    let [change, low, high] = [&only.change, &only.low, &only.high].map(|value| *value.as_ref().unwrap());
    assert_eq!(row(&once, only.to), [change, low, high]);
    let twice = BisectRecord { comparisons: [&once.comparisons[..], std::slice::from_ref(&only)].concat(), ..once };
    let [_, narrow_low, narrow_high] = row(&twice, only.to);
    assert!(low < narrow_low && narrow_high < high, "{narrow_low} {narrow_high}");
}

proptest! {
    #[test]
    fn any_comparisons_have_probabilities(
        given in prop::collection::vec((0usize..12, 1usize..12, any::<f64>(), any::<f64>(), any::<f64>()), 0..8)
    ) {
        let mut record = found();
        record.comparisons.extend(given.into_iter().map(|(from, more, change, low, high)| Comparison {
            change: Ok(change),
            low: Ok(low),
            high: Ok(high),
            ..comparison(Purpose::Search, [from, (from + more).min(12)], 0.0, 0.0, Verdict::Slower)
        }));
        let record = judged(record);
        let sum: f64 = record.commits.iter().map(|commit| commit.probability).sum();
        prop_assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn no_text_makes_read_panic(text in "\\PC*", cut in 0usize..9000) {
        let _ = BisectRecord::read(&text);
        let whole = found().json(false);
        let _ = BisectRecord::read(whole.get(..cut).unwrap_or(&whole));
    }
}
