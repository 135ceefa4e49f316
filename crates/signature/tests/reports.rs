//! Reports of signatures and of the bench in all forms, compared with files in `testdata/reports`. `STEADY_BLESS=1
//! cargo test` rewrites the files.

use steady_feature::Report;
use steady_feature::flags::Form;
use steady_model::*;
use steady_render::json::description;
use steady_render::{Style, svg};
use steady_signature::*;
use steady_testing::goldens::{shown, text};
use steady_testing::made::absent;
use steady_testing::{goldens, made};
use steady_workloads::signature::{Allocator, Crew};

const NO_LOCK: &str = "the C library does not report the use of its locks";

/// Why `whose` CPU time of `cpu` has no split.
fn too_short(whose: &str, cpu: &str) -> Absent {
    Absent(format!(
        "{whose} used {cpu} of CPU time, less than 2 ticks of 4.0 ms each, at which the kernel samples user and system time"
    ))
}

/// Two files with signatures and one without.
fn files() -> FilesRecord {
    let signed = |signature, bytes| Signed {
        signature,
        bytes,
        crew: Crew::Threads(8),
        elapsed_seconds: Nanos(367_000_000),
        cpu_seconds: Nanos(330_000_000),
        user_seconds: Ok(Nanos(126_000_000)),
        system_seconds: Ok(Nanos(204_000_000)),
        bytes_per_second: Ok(bytes as f64 / 0.367),
        allocations: 513_688,
        lock: Ok(Lock {
            lock_acquisitions: 1_027_376,
            lock_contended: 2_840,
            lock_waited_seconds: Nanos(1_970_000_000),
        }),
        peak_memory_bytes: Ok(Bytes(8_755_609)),
    };
    let file = |name: &str, signed| SignedFile { name: name.to_owned(), signed };
    let files = vec![
        file("random", Ok(signed(1_740_183_508, 1 << 20))),
        file("a name\nwith | <b>all</b>, \"and\"", Ok(signed(98, 1))),
        file("log", absent("it shrank while it was read: it ended at byte 8000123 of 12582912")),
    ];
    FilesRecord { allocator: Allocator::Global, pool_bytes: None, block_bytes: Bytes(1_024), files, stats: true }
}

/// One file with the allocator of the C library, whose lock is not measured.
fn one() -> FilesRecord {
    let mut record = files();
    record.files.truncate(1);
    record.allocator = Allocator::System;
    if let Ok(signed) = &mut record.files[0].signed {
        signed.lock = absent(NO_LOCK);
        signed.crew = Crew::Single;
        signed.cpu_seconds = Nanos(2_600_000);
        let short = || Err(too_short("steady", "2.6 ms"));
        (signed.user_seconds, signed.system_seconds) = (short(), short());
    }
    record
}

fn conditions() -> Vec<BenchCondition> {
    let mut all = Vec::new();
    for bytes in [5_120, 1 << 20] {
        for workers in [1, 2, 8] {
            for allocator in
                [Allocator::None, Allocator::Pool, Allocator::PoolPerBlock, Allocator::Global, Allocator::System]
            {
                let has_pools = matches!(allocator, Allocator::Pool | Allocator::PoolPerBlock);
                let pool_bytes = has_pools.then_some(Bytes(128 << 10));
                all.push(BenchCondition { allocator, workers, bytes, pool_bytes, kept: false });
            }
        }
    }
    let one = |allocator, workers, pool: Option<u64>, kept| BenchCondition {
        allocator,
        workers,
        bytes: 1 << 20,
        pool_bytes: pool.map(Bytes),
        kept,
    };
    all.push(one(Allocator::Global, 1_024, None, false));
    all.push(one(Allocator::OwnList, 8, None, false));
    all.push(one(Allocator::Pool, 1, Some(8_176), true));
    all.push(one(Allocator::Pool, 1, Some(128 << 10), true));
    all.push(one(Allocator::Scattered, 1, Some(2 << 20), true));
    let walked = [24 << 10, 48 << 10, 2 << 20, 4 << 20];
    all.extend(walked.map(|pool| one(Allocator::WalkedPool, 1, Some(pool), true)));
    all
}

fn figures(condition: &BenchCondition) -> Reading<Figures> {
    let share = match condition.allocator {
        Allocator::None => 0.15,
        Allocator::Pool | Allocator::WalkedPool => 1.0,
        Allocator::PoolPerBlock => 1.1,
        Allocator::Global => 6.0,
        Allocator::System => 1.3,
        Allocator::OwnList => 2.4,
        Allocator::Scattered => 1.2,
    };
    let global = condition.allocator == Allocator::Global;
    let apart = if global { 1.0 } else { f64::from(condition.workers.min(2)) };
    let wall = condition.bytes as f64 * 12e-9 * share / apart + f64::from(condition.workers) * 30e-6;
    let few = "2 runs of this condition, too few for an interval; use a larger --budget";
    let split = if wall < 200e-6 { Err(too_short("this condition", "2.6 ms")) } else { Ok(()) };
    let seldom = global && condition.workers == 8;
    let lock = |value| if condition.allocator == Allocator::System { absent(NO_LOCK) } else { Ok(value) };
    Ok(Figures {
        runs: if seldom { 2 } else { 14 },
        wall_seconds: wall,
        wall_interval: if seldom { absent(few) } else { Ok(Interval { low: wall * 0.98, high: wall * 1.03 }) },
        cpu_seconds: wall * apart,
        user_seconds: split.clone().map(|()| wall * apart * 0.8),
        system_seconds: split.map(|()| wall * apart * 0.2),
        bytes_per_second: Ok(condition.bytes as f64 / wall),
        lock_acquisitions: lock(match condition.allocator {
            Allocator::Global => (condition.bytes / 1_024 * 1_004) as f64,
            Allocator::PoolPerBlock => (condition.bytes / 1_024 * 2) as f64,
            _ => 0.0,
        }),
        lock_waiting_ratio: lock(if global && condition.workers > 1 { 0.7 } else { 0.0 }),
    })
}

fn answers(conditions: &[BenchCondition]) -> Vec<Answer> {
    let at = |allocator, workers, kept| {
        let is = |one: &BenchCondition| {
            one.bytes == 1 << 20 && one.allocator == allocator && one.workers == workers && one.kept == kept
        };
        conditions.iter().position(is).unwrap()
    };
    let kept = at(Allocator::Pool, 1, true) + 1;
    let answer = |question, beside, condition, factor: f64| Answer {
        question,
        beside,
        condition,
        pairs: 14,
        verdict: if factor > 1.05 { Verdict::Slower } else { Verdict::Undecided },
        factor: Ok(factor),
        interval: Ok(Interval { low: factor * 0.97, high: factor * 1.04 }),
    };
    let by = |allocator, workers| at(allocator, workers, false);
    let (pool, global, own) = (by(Allocator::Pool, 8), by(Allocator::Global, 8), by(Allocator::OwnList, 8));
    let mut all = vec![
        answer(Question::Gain, pool, global, 11.7),
        answer(Question::Published, by(Allocator::PoolPerBlock, 8), by(Allocator::Global, 1_024), 16.2),
        answer(Question::ThreadPerBlock, global, by(Allocator::Global, 1_024), 1.52),
        answer(Question::PoolPerBlock, pool, by(Allocator::PoolPerBlock, 8), 1.1),
        answer(Question::Lock, own, global, 4.9),
        answer(Question::List, pool, own, 2.4),
        answer(Question::Alone, by(Allocator::Pool, 1), by(Allocator::Global, 1), 2.5),
        answer(Question::PoolParallel, pool, by(Allocator::Pool, 1), 1.93),
        answer(Question::GlobalParallel, global, by(Allocator::Global, 1), 0.41),
        answer(Question::Locality, kept, at(Allocator::Scattered, 1, true), 1.21),
        answer(Question::PoolRoom, kept - 1, kept, 1.001),
    ];
    let first = at(Allocator::WalkedPool, 1, true);
    let walked = [0.998, 1.004, 1.02, 1.13];
    let each = walked.iter().enumerate();
    all.extend(each.map(|(place, factor)| answer(Question::PoolSize, kept, first + place, *factor)));
    all
}

/// A bench that spent its budget.
fn bench() -> BenchRecord {
    let run = |condition: usize| BenchRun {
        condition,
        times: 3,
        wall_seconds: Nanos(38_000_000),
        user_seconds: Nanos(36_000_000),
        system_seconds: Nanos(1_000_000),
        lock: Ok(Lock::default()),
    };
    let conditions = conditions();
    let cache = |name: &str, size| Cache { name: name.to_owned(), size_bytes: Bytes(size) };
    BenchRecord {
        seed: Seed(7),
        started: Timestamp(1_780_000_000),
        budget_seconds: Nanos(20_000_000_000),
        elapsed_seconds: Nanos(20_100_000_000),
        host: made::host("KVM"),
        cpus: 2,
        tick_seconds: Ok(Nanos(4_000_000)),
        caches: vec![cache("L1", 48 << 10), cache("L2", 2 << 20)],
        input: Input::Made,
        rounds: 14,
        confidence: 0.95,
        ending: Ending::Spent,
        answers: answers(&conditions),
        conditions: conditions
            .into_iter()
            .map(|condition| MeasuredCondition { condition, figures: figures(&condition) })
            .collect(),
        samples: vec![vec![run(3), run(1)]; 14],
    }
}

/// A bench that was interrupted early, on the bytes of a file and a machine that does not report its caches.
fn interrupted() -> BenchRecord {
    let mut record = bench();
    record.ending = Ending::Interrupted;
    record.input = Input::File("data | <b>".to_owned());
    record.caches.clear();
    let few = "1 run of both conditions, too few for an interval; use a larger --budget";
    for answer in &mut record.answers {
        (answer.factor, answer.interval, answer.verdict) = (absent(few), absent(few), Verdict::Undecided);
    }
    record.conditions[7].figures = absent("the bench was interrupted before");
    record
}

/// Both kinds of records in one schema. The field `kind` distinguishes them.
#[derive(schemars::JsonSchema)]
#[schemars(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum AnyRecord {
    Files(FilesRecord),
    Bench(Box<BenchRecord>),
}

#[test]
fn the_schema_matches_the_golden_file() {
    goldens::check_schema(&SCHEMA, description::<AnyRecord>(&SCHEMA));
}

#[test]
fn reports_of_files_match_the_golden_files() {
    let all = [("signature-files", files()), ("signature-one", one())];
    goldens::check(all.into_iter().flat_map(|(name, record)| {
        let text = (format!("{name}.txt"), text(&record, 80));
        std::iter::once(text).chain(goldens::exports(name, &record, false))
    }));
}

#[test]
fn reports_of_benches_match_the_golden_files() {
    let all = [("signature-bench", bench()), ("signature-bench-interrupted", interrupted())];
    goldens::check(all.into_iter().flat_map(|(name, record)| {
        let text = (format!("{name}.80.txt"), text(&record, 80));
        let drawing = (format!("{name}.svg"), svg::text(&record.drawing().unwrap()));
        [text, drawing].into_iter().chain(goldens::exports(name, &record, name.ends_with("interrupted")))
    }));
}

#[test]
fn the_published_reason_is_evaluated() {
    let evaluated = |factor: f64, verdict| {
        let mut record = bench();
        let sizes = record.answers.iter_mut().filter(|answer| answer.question == Question::PoolSize);
        // The caches are of 48 KiB and 2 MiB, the pools of 24 KiB, 48 KiB, 2 MiB and 4 MiB.
        let larger = sizes.into_iter().nth(2).unwrap();
        let interval = Interval { low: factor - 0.02, high: factor + 0.02 };
        (larger.factor, larger.interval, larger.verdict) = (Ok(factor), Ok(interval), verdict);
        text(&record, 2_000).replace('\u{a0}', " ")
    };
    let claim = "Published: fast because the pool fits into the L1 cache.";
    let refuted = evaluated(0.98, Verdict::Undecided);
    let why = "a pool of 2.00 MiB does not fit (L1: 48.0 KiB), starts over only when it is full, and takes 0.980 (0.960 to \
               1.000) times as long as one that starts over with each block.";
    assert!(refuted.contains(&format!("{claim} Refuted: {why}")), "{refuted}");
    let part = evaluated(1.3, Verdict::Slower);
    assert!(part.contains(&format!("{claim} Here, fitting explains this part of the gain: a pool of")), "{part}");
    let open = evaluated(1.04, Verdict::Undecided);
    assert!(open.contains(&format!("{claim} Neither confirmed nor refuted: a pool of")), "{open}");
    let mut record = bench();
    record.caches.clear();
    let unknown = text(&record, 2_000);
    assert!(unknown.contains(&format!("{claim} Not evaluated: the system does not report")), "{unknown}");
}

#[test]
fn a_time_of_one_run_has_a_note() {
    let words = |record: &BenchRecord, form| {
        let shown = shown(record, form).replace('\u{a0}', " ").replace('\\', "");
        let table = &shown[shown.find("The published programs").unwrap()..shown.find("All results on").unwrap()];
        table.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let note = "1 run: the time may vary by a large factor";
    for form in [Form::Text, Form::Markdown, Form::Html] {
        let mut record = bench();
        assert!(!words(&record, form).contains(note));
        let many = record.conditions.iter_mut().find(|one| one.condition.workers == 1_024).unwrap();
        if let Ok(figures) = &mut many.figures {
            (figures.runs, figures.wall_interval) = (1, absent("1 run of this condition"));
        }
        let words = words(&record, form);
        assert!(words.contains(&format!("[1] {note}")), "{words}");
    }
}

#[test]
fn lines_fit_the_width_of_the_terminal() {
    for record in [bench(), interrupted()] {
        goldens::lines_fit("signature-bench", |width| text(&record, width));
    }
}

#[test]
fn a_name_with_a_line_break_is_printed_on_one_line() {
    let text = text(&files(), 80);
    let signatures = text.lines().filter(|line| !line.starts_with(' ')).count();
    assert_eq!(signatures, 2, "{text}");
}

#[test]
fn hostile_names_are_escaped() {
    let mut record = files();
    record.files[0].name = made::HOSTILE.to_owned();
    let mut bench = bench();
    bench.input = Input::File(made::HOSTILE.to_owned());
    for report in [&record as &dyn Report, &bench] {
        let texts = [Form::Text, Form::Markdown, Form::Html].map(|form| shown(report, form));
        assert!(texts.iter().all(|text| !text.contains('\u{1b}') && !text.contains('\u{202e}')), "{texts:?}");
        assert!(!texts[2].contains("<script>"), "{}", texts[2]);
    }
}

#[test]
fn without_measurements_there_is_no_chart() {
    let mut record = bench();
    record.conditions.iter_mut().for_each(|one| one.figures = absent("the bench was interrupted before"));
    assert!(svg::text(&record.drawing().unwrap()).contains("There is no chart"));
    assert!(
        !record.rendered(Form::Html, Style::default(), false).contains("aria-label=\"Real time on 1.00\u{a0}MiB by")
    );
}
