//! Reports of suites in all formats, compared with files in `testdata/reports`; and reading JSON back.

mod common;

use common::{LOADED, SimulatedSuite, record};
use proptest::prelude::*;
use steady_bench::{SCHEMA, Side, SuiteRecord, Unmeasured};
use steady_feature::Report;
use steady_feature::flags::Form;
use steady_model::*;
use steady_render::json::description;
use steady_testing::goldens::{self, shown, text};
use steady_testing::made::{HOSTILE, builder};

/// Names as harnesses have them.
const NAMES: [&str; 9] = [
    "parse/small",
    "parse/large file",
    "sort/1000",
    "sort/1000000",
    "hash",
    "BenchmarkEncode/size=64/indent",
    "tokenize",
    "BM_Lookup<std::string>/4096",
    "tests/test_render.py::test_table[wide-utf8]",
];

/// A suite of nine benchmarks, of which the factors change some.
fn suite(factors: [f64; 9], seconds: f64) -> SuiteRecord {
    let mut suite = SimulatedSuite::new(9, LOADED, 3);
    suite.factors = factors.to_vec();
    let mut record = SuiteRecord { host: builder(), revision: Ok("0123456789ab".into()), ..record(9, seconds, 3) };
    record.started = Timestamp(1_795_171_242);
    record.unmeasured = vec![Unmeasured {
        name: "parse/empty".to_owned(),
        reason: "only v2 has it".to_owned(),
        is_of_one_build: true,
        failed_only_in: None,
        needed_budget_seconds: None,
    }];
    let mut record = suite.measured(&record).unwrap();
    for (benchmark, name) in record.benchmarks.iter_mut().zip(NAMES) {
        benchmark.name = name.to_owned();
    }
    record
}

fn changed() -> SuiteRecord {
    let mut record = suite([1.0, 1.062, 1.0, 0.45, 1.0, 1.03, 1.0, 1.0, 2.5], 60.0);
    record.benchmarks[6].failed =
        Some("a run in v2 exited with status 101; the last lines of its output:\n  x".to_owned());
    record.benchmarks[6].failed_only_in = Some(Side::New);
    steady_bench::judged(record)
}

fn same() -> SuiteRecord {
    suite([1.0; 9], 120.0)
}

fn undecided() -> SuiteRecord {
    steady_bench::judged(SuiteRecord { fail_if: Some("slower>3%".parse().unwrap()), ..suite([1.0; 9], 9.0) })
}

fn hostile() -> SuiteRecord {
    let mut record = suite([1.0, 1.2, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 20.0);
    record.benchmarks[1].name = HOSTILE.to_owned();
    record.old.name = HOSTILE.to_owned();
    record.harness = HOSTILE.to_owned();
    record.unmeasured[0].reason = HOSTILE.to_owned();
    record.benchmarks[2].unshared = true;
    record
}

fn all() -> [(&'static str, SuiteRecord); 4] {
    [
        ("bench-changed", changed()),
        ("bench-same", same()),
        ("bench-undecided", undecided()),
        ("bench-hostile", hostile()),
    ]
}

#[test]
fn reports_match_golden_files() {
    goldens::check(all().into_iter().flat_map(|(name, record)| goldens::of_report(name, &record, false)));
}

#[test]
fn schema_matches_golden_file() {
    goldens::check_schema(&SCHEMA, description::<SuiteRecord>(&SCHEMA));
}

#[test]
fn lines_fit_every_width() {
    for (name, record) in all() {
        goldens::lines_fit(name, |width| text(&record, width));
    }
}

#[test]
fn names_are_escaped() {
    let record = hostile();
    assert!(!shown(&record, Form::Html).contains("<script>"));
    assert!(!text(&record, 80).contains('\u{1b}') && !shown(&record, Form::Markdown).contains('\u{1b}'));
}

#[test]
fn invalid_json_is_rejected_with_its_field() {
    let text = changed().json(true);
    let broken = |from: &str, to: &str| SuiteRecord::read(&text.replacen(from, to, 1)).unwrap_err().to_string();
    assert!(broken("steady.bench/1", "steady.compare/1").contains("two builds by their benchmarks"));
    assert!(broken("\"error\": \"family\"", "\"error\": \"other\"").contains("error"));
    assert!(broken("\"new_first\": [", "\"new_first\": [true, ").contains("different lengths"));
}

proptest! {
    #[test]
    fn no_text_makes_read_panic(text in "\\PC*", cut in 0usize..9000) {
        let _ = SuiteRecord::read(&text);
        let whole = undecided_text();
        let _ = SuiteRecord::read(whole.get(..cut).unwrap_or(whole));
    }
}

/// The JSON of a suite. It is made once, because making it takes a second.
fn undecided_text() -> &'static str {
    static TEXT: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    TEXT.get_or_init(|| undecided().json(true))
}
