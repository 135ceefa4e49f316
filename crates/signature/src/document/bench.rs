//! What an allocator's lock costs: sentences, tables and facts.

use steady_model::{
    Bytes, Ending, Interval, Reading, SignatureAllocator, SignatureAnswer, SignatureBenchReport, SignatureCondition,
    SignatureFigures, SignatureInput, SignatureQuestion, Verdict,
};

use crate::text::Span;
use crate::text::grid::{Column, Grid};
use crate::text::{Footnotes, Paint};
use crate::units::{TIE, decimals, duration, fixed, memory, percent, short, thousands, time, time_with};
use crate::words::{count, one_line};

/// The allocators of the tables, in their order.
pub(crate) const COLUMNS: [SignatureAllocator; 4] =
    [SignatureAllocator::None, SignatureAllocator::Pool, SignatureAllocator::Global, SignatureAllocator::System];
/// What was published, for the same question.
const PUBLISHED: &str = "Published are 3.060\u{a0}s with a thread for each block and 0.167\u{a0}s with 8 threads and a \
                         pool for each: 18 times.";

/// The conditions of the tables, with what they came to.
pub(crate) type Row<'a> = (&'a SignatureCondition, &'a Reading<SignatureFigures>);

/// All conditions beside their figures.
pub(crate) fn rows(report: &SignatureBenchReport) -> impl Iterator<Item = Row<'_>> {
    report.record.plan.conditions.iter().zip(&report.figures)
}

/// The sizes of the tables.
pub(crate) fn sizes(report: &SignatureBenchReport) -> Vec<u64> {
    let mut sizes: Vec<u64> = rows(report).filter(|(one, _)| !one.kept).map(|(one, _)| one.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The condition that an answer is about.
fn condition(report: &SignatureBenchReport, at: usize) -> &SignatureCondition {
    &report.record.plan.conditions[at]
}

/// The size that the questions are about.
pub(crate) fn asked(report: &SignatureBenchReport) -> Option<u64> {
    report.answers_to(SignatureQuestion::Gain).next().map(|answer| condition(report, answer.new).bytes)
}

/// The answers, a paragraph each.
pub(crate) fn sentences(report: &SignatureBenchReport) -> Vec<Vec<Span>> {
    let one = |question| report.answers_to(question).next();
    let mut all: Vec<Vec<Span>> = Vec::new();
    if let Some(gain) = one(SignatureQuestion::Gain) {
        let new = condition(report, gain.new);
        all.push(vec![
            plain(format!("{} on {}: ", count(new.workers as usize, "worker", "workers"), memory(new.bytes as f64))),
            claim(gain, "the global list", "a pool's time"),
            plain(format!("{}. {PUBLISHED}", beside(report, gain))),
        ]);
    }
    if let Some(lock) = one(SignatureQuestion::Lock) {
        let what = "the time of a free list for each worker without a lock";
        all.push(vec![plain("The lock: with it, ".to_owned()), claim(lock, "the list", what), plain(".".to_owned())]);
    }
    if let Some(list) = one(SignatureQuestion::List) {
        let more = " What is searched, and headers, cost this without any lock.";
        all.push(vec![
            plain("The list: ".to_owned()),
            claim(list, "such a list", "a pool's time"),
            plain(format!(".{more}")),
        ]);
    }
    all.extend(parallel(report));
    if let Some(far) = one(SignatureQuestion::Locality) {
        let spread = condition(report, far.new).pool.map_or_else(String::new, |pool| memory(pool.0 as f64));
        let subject = format!("one worker whose nodes lie over {spread}, each on a cache line of its own,");
        let what = "the time of one whose nodes lie together";
        all.push(vec![plain("Locality: ".to_owned()), claim(far, &subject, what), plain(".".to_owned())]);
    }
    all.extend(pool_size(report));
    all
}

/// What several workers are worth to each.
fn parallel(report: &SignatureBenchReport) -> Option<Vec<Span>> {
    let one = |question| report.answers_to(question).next();
    let (alone, pool, global) = (
        one(SignatureQuestion::Alone)?,
        one(SignatureQuestion::PoolParallel)?,
        one(SignatureQuestion::GlobalParallel)?,
    );
    let workers = condition(report, pool.old).workers;
    let what = format!("the time of {workers}");
    Some(vec![
        plain("Parallelism: with one worker ".to_owned()),
        claim(alone, "the global list", "a pool's time"),
        plain(". With pools ".to_owned()),
        claim(pool, "one worker", &what),
        plain(", with the global list ".to_owned()),
        claim(global, "one", &what),
        plain(format!(", on {}.", count(report.record.plan.cpus as usize, "CPU", "CPUs"))),
    ])
}

/// What a pool's size does.
fn pool_size(report: &SignatureBenchReport) -> Option<Vec<Span>> {
    let room = report.answers_to(SignatureQuestion::PoolRoom).next()?;
    let size = |at: usize| condition(report, at).pool.map_or_else(String::new, |pool| memory(pool.0 as f64));
    let mut all = vec![
        plain("A pool's size: one that starts over with each block uses no more of it than a tree takes. ".to_owned()),
        claim(room, &format!("One of {}", size(room.new)), &format!("the time of one of {}", size(room.old))),
        plain(".".to_owned()),
    ];
    let walked: Vec<&SignatureAnswer> = report.answers_to(SignatureQuestion::PoolSize).collect();
    let slower = walked.iter().find(|answer| answer.verdict == Verdict::Slower);
    match slower {
        Some(first) => {
            all.push(plain(" Walked through whole before it starts over, ".to_owned()));
            all.push(claim(first, &format!("one of {}", size(first.new)), "that, the smallest that takes longer"));
            all.push(plain(".".to_owned()));
        }
        None if walked.iter().any(|answer| answer.interval.is_ok()) => {
            all.push(plain(
                " None that is walked through whole before it starts over was seen to take longer.".to_owned(),
            ));
        }
        None => {}
    }
    Some(all)
}

fn plain(text: String) -> Span {
    (Paint::Plain, text)
}

fn bold(answer: &SignatureAnswer, text: String) -> Span {
    let paint = match answer.verdict {
        Verdict::Faster => Paint::Less,
        Verdict::Slower => Paint::More,
        Verdict::Same => Paint::Same,
        Verdict::Undecided => Paint::Open,
    };
    (paint, text)
}

/// That `subject` takes so many times `what`, or why it is not known.
fn claim(answer: &SignatureAnswer, subject: &str, what: &str) -> Span {
    bold(
        answer,
        match times(answer) {
            Ok(times) => format!("{subject} takes {times} times {what}"),
            Err(why) => format!("how many times {what} {subject} takes is absent ({why})"),
        },
    )
}

/// A factor, and where it lies; or why it is not known.
fn times(answer: &SignatureAnswer) -> Result<String, String> {
    match (&answer.factor, &answer.interval) {
        (Ok(factor), Ok(interval)) => {
            let digits = decimals(interval.half_width()).min(3);
            let [factor, low, high] = [*factor, interval.low, interval.high].map(|value| fixed(value, digits));
            Ok(format!("{factor} ({low}{TIE}to{TIE}{high})"))
        }
        (Err(absent), _) | (_, Err(absent)) => Err(one_line(&absent.0)),
    }
}

/// The times of both.
fn beside(report: &SignatureBenchReport, answer: &SignatureAnswer) -> String {
    match (&report.figures[answer.new], &report.figures[answer.old]) {
        (Ok(new), Ok(old)) => format!(", {} and {}", time(new.wall), time(old.wall)),
        _ => String::new(),
    }
}

/// Wall time by allocator, a row for each number of workers.
pub(crate) fn real(report: &SignatureBenchReport, bytes: u64) -> (Grid, Footnotes) {
    let mut notes = Footnotes::default();
    let all: Vec<Row<'_>> = rows(report).filter(|(one, _)| one.bytes == bytes && !one.kept).collect();
    let mut workers: Vec<u32> = all.iter().map(|(one, _)| one.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    let mut columns = vec![Column { head: "workers".to_owned(), cells: workers.iter().map(u32::to_string).collect() }];
    for allocator in COLUMNS {
        let cell = |count: &u32| {
            let found = all.iter().find(|(one, _)| one.allocator == allocator && one.workers == *count);
            found.map_or_else(String::new, |(_, figures)| wall(figures, &mut notes))
        };
        columns.push(Column { head: allocator.name().to_owned(), cells: workers.iter().map(cell).collect() });
    }
    (Grid(columns), notes)
}

fn wall(figures: &Reading<SignatureFigures>, notes: &mut Footnotes) -> String {
    match figures {
        Ok(figures) => match &figures.wall_interval {
            Ok(interval) => time_with(figures.wall, *interval),
            Err(_) => time(figures.wall),
        },
        Err(absent) => format!("absent{TIE}{}", notes.mark(&one_line(&absent.0))),
    }
}

/// The ways on so many bytes, allocator by allocator.
pub(crate) fn ways(report: &SignatureBenchReport, bytes: u64) -> Vec<Row<'_>> {
    let mut all: Vec<Row<'_>> = rows(report).filter(|(one, _)| one.bytes == bytes && !one.kept).collect();
    all.sort_by_key(|(one, _)| (one.allocator, one.workers));
    all
}

/// All that is known of each way on so many bytes; `narrow` without the intervals, which [`real`] has too.
pub(crate) fn full(report: &SignatureBenchReport, bytes: u64, narrow: bool) -> (Grid, Footnotes) {
    let mut notes = Footnotes::default();
    let all = ways(report, bytes);
    let mut column = |head: &str, cell: &dyn Fn(&Row<'_>, &mut Footnotes) -> String| Column {
        head: head.to_owned(),
        cells: all.iter().map(|row| cell(row, &mut notes)).collect(),
    };
    let of = |row: &Row<'_>, notes: &mut Footnotes, cell: &dyn Fn(&SignatureFigures, &mut Footnotes) -> String| {
        match row.1 {
            Ok(figures) => cell(figures, notes),
            Err(absent) => format!("absent{TIE}{}", notes.mark(&one_line(&absent.0))),
        }
    };
    let columns = vec![
        column("allocator", &|(one, _), _| one.allocator.name().to_owned()),
        column("workers", &|(one, _), _| one.workers.to_string()),
        column("real", &|row, notes| match narrow {
            true => of(row, notes, &|figures, _| time(figures.wall)),
            false => wall(row.1, notes),
        }),
        column("user", &|row, notes| of(row, notes, &|figures, _| time(figures.user))),
        column("system", &|row, notes| of(row, notes, &|figures, _| time(figures.system))),
        column("MB/s", &|row, notes| of(row, notes, &|figures, _| short(bytes as f64 / 1e6 / figures.wall))),
        column("lock taken", &|row, notes| {
            of(row, notes, &|figures, notes| {
                told(&figures.acquisitions, |taken| thousands(taken.round() as usize), notes)
            })
        }),
        column("waiting for it", &|row, notes| {
            of(row, notes, &|figures, notes| told(&figures.waiting, |share| percent(*share), notes))
        }),
    ];
    (Grid(columns), notes)
}

fn told(reading: &Reading<f64>, words: impl Fn(&f64) -> String, notes: &mut Footnotes) -> String {
    match reading {
        Ok(value) => words(value),
        Err(absent) => format!("absent{TIE}{}", notes.mark(&one_line(&absent.0))),
    }
}

/// The pools that are walked through whole, by their sizes.
pub(crate) fn pools(report: &SignatureBenchReport) -> (Grid, Footnotes) {
    let mut notes = Footnotes::default();
    let answers: Vec<&SignatureAnswer> = report.answers_to(SignatureQuestion::PoolSize).collect();
    let size = |answer: &&SignatureAnswer| condition(report, answer.new).pool.unwrap_or(Bytes(0));
    let factor =
        |answer: &&SignatureAnswer| times(answer).unwrap_or_else(|why| format!("absent{TIE}{}", notes.mark(&why)));
    let columns = vec![
        Column { head: "pool".to_owned(), cells: answers.iter().map(|one| memory(size(one).0 as f64)).collect() },
        Column { head: "fits into".to_owned(), cells: answers.iter().map(|one| fits(report, size(one))).collect() },
        Column {
            head: "times the time of one that starts over".to_owned(),
            cells: answers.iter().map(factor).collect(),
        },
    ];
    (Grid(columns), notes)
}

/// The first cache that it fits into.
fn fits(report: &SignatureBenchReport, size: Bytes) -> String {
    let cache = report.record.plan.caches.iter().find(|(_, cache)| size <= *cache);
    cache.map_or_else(|| "none that is told".to_owned(), |(name, cache)| format!("{name} ({})", memory(cache.0 as f64)))
}

/// Throughput of each way on the size that the questions are about: what it is called, megabytes a second.
pub(crate) fn rates(report: &SignatureBenchReport) -> Vec<(String, f64)> {
    let Some(bytes) = asked(report) else { return vec![] };
    let rate = |(one, figures): Row<'_>| {
        let workers = count(one.workers as usize, "worker", "workers");
        Some((format!("{}, {workers}", one.allocator.name()), bytes as f64 / 1e6 / figures.as_ref().ok()?.wall))
    };
    ways(report, bytes).into_iter().filter_map(rate).collect()
}

/// What it rests on: a label and what belongs to it.
pub(crate) fn facts(report: &SignatureBenchReport) -> Vec<(&'static str, String)> {
    let record = &report.record;
    let plan = &record.plan;
    let input = match &plan.input {
        SignatureInput::Made => "bytes of a generator (xorshift), the same on every machine".to_owned(),
        SignatureInput::File(name) => format!("the first bytes of '{}'", one_line(name)),
    };
    let caches: Vec<String> =
        plan.caches.iter().map(|(name, size)| format!("{name} {}", memory(size.0 as f64))).collect();
    vec![
        ("rounds", format!("{}, in an order drawn by coin, in {}", record.rounds.len(), duration(record.elapsed))),
        ("input", input),
        ("CPUs", plan.cpus.to_string()),
        ("caches", if caches.is_empty() { "absent: the system does not tell of them".to_owned() } else { caches.join(", ") }),
        ("pools", format!("{} each, made with the worker", memory(plan.pool.0 as f64))),
        ("real", "wall time: the median over the rounds, with the interval of that median at 95\u{a0}%".to_owned()),
        ("user", "user and system time of all runs together: the kernel may book them by ticks, and only their sum is exact then".to_owned()),
        ("seed", plan.seed.to_string()),
    ]
}

/// That it was interrupted.
pub(crate) fn early(report: &SignatureBenchReport) -> Option<&'static str> {
    (report.record.ending == Ending::Interrupted)
        .then_some("It was interrupted: what was measured until then is shown.")
}

/// The interval of a factor on a scale of logarithms.
pub(crate) fn logs(answer: &SignatureAnswer) -> Option<(f64, Interval)> {
    let (factor, interval) = (answer.factor.as_ref().ok()?, answer.interval.as_ref().ok()?);
    Some((factor.ln(), Interval { low: interval.low.ln(), high: interval.high.ln() }))
}
