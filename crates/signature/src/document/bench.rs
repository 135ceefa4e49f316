//! Report of a bench, as a document and as CSV.

use steady_feature::{Record, Report};
use steady_model::{Absent, Bytes, Ending, Facts, Interval, Verdict};
use steady_render::chart::Chart;
use steady_render::csv::{self, Row};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Sentence, Shown, Span, host_facts};
use steady_render::letters::{count, one_line};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{
    TIE, decimals, decimals_of, duration, fixed, memory, percent, short, thousands, time, time_and_range,
};
use steady_render::{json, timestamp};
use steady_workloads::signature::Allocator;

use super::charts::{self, throughput, time_by_pools, time_by_workers};
use super::{field, main_bytes, name, pool, ways, workers};
use crate::plan::{ALLOCATORS, MAIN_BYTES, MAIN_WORKERS, SIZES};
use crate::record::{Answer, BenchCondition, BenchRecord, Figures, Input, MeasuredCondition, Question, SCHEMA};

/// Published time of the global list with a thread for each block, divided by that of 8 threads with pools.
const PUBLISHED_FACTOR: u32 = 18;
/// The largest relative difference that refutes a published reason.
const MATTERS: f64 = 0.05;
/// Heading of the times of pools by size.
const POOLS: &str = "Pools that start over only when they are full, one worker";

impl Report for BenchRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv(self)
    }

    fn json(&self, samples: bool) -> String {
        let without = (!samples).then(|| BenchRecord { samples: Vec::new(), ..self.clone() });
        json::text_by_lines(&SCHEMA, without.as_ref().unwrap_or(self), "samples")
    }

    fn drawing(&self) -> Option<Chart> {
        Some(charts::throughput_by_workers(self))
    }
}

impl Record for BenchRecord {
    fn facts(&self) -> Facts {
        let revision = Err(Absent::because("a bench of allocators runs no code of the directory"));
        let input = match &self.input {
            Input::Made => "pseudo-random bytes".to_owned(),
            Input::File(path) => one_line(path),
        };
        Facts {
            seed: Ok(self.seed),
            commands: vec![format!("signatures of {input}")],
            complete: self.ending != Ending::Interrupted,
            ..Facts::new(crate::record::KIND, self.started, &self.host, &revision, summary(self))
        }
    }
}

/// Returns the answer to the main question in a few words.
fn summary(record: &BenchRecord) -> String {
    let gain = record.answers_to(Question::Gain).next();
    let factor = gain.and_then(|gain| gain.factor.as_ref().ok());
    match factor {
        Some(factor) => format!("global list: {} times the time of a pool", fixed(*factor, decimals_of(*factor, 3))),
        None => "no comparison".to_owned(),
    }
}

/// Builds the report: the answers, throughput, the times of all conditions by size, and pools by their size.
fn document(record: &BenchRecord) -> Document {
    let main = main_bytes(record);
    let section = |heading: &str, chart: Option<Chart>, table: Table| {
        let blocks = chart.map(Block::Chart).into_iter().chain([Block::Table(table)]);
        Section::new(heading, blocks.collect()).whole()
    };
    let full = |bytes: u64| section(&format!("All results on {}", memory(bytes as f64)), None, all(record, bytes));
    let mut sections = Vec::new();
    if let Some(bars) = throughput(record) {
        sections.push(Section::new(&format!("Throughput on {} (MB/s)", memory(main as f64)), vec![Block::Chart(bars)]));
    }
    if let Some(table) = published_table(record) {
        let note = "locks: acquisitions of the list's lock; waiting: share of the time of all threads. The published figures \
                    are from a Ryzen 9 7940HS with 8 cores; those with – were not published.";
        let blocks = vec![Block::Table(table), Block::Paragraph(vec![plain(note)])];
        sections.push(Section::new("The published programs", blocks).whole());
    }
    let sizes = sizes(record);
    if sizes.contains(&main) {
        sections.push(full(main));
    }
    for bytes in sizes {
        let heading = format!("Real time on {}", memory(bytes as f64));
        sections.push(section(&heading, time_by_workers(record, bytes), real(record, bytes)));
        if bytes != main {
            sections.push(full(bytes).as_detail().shown(Shown::OffTerminal));
        }
    }
    let pools: Vec<&Answer> = record.answers_to(Question::PoolSize).collect();
    if pools.iter().any(|answer| answer.pairs > 0) {
        sections.push(section(POOLS, time_by_pools(record, &pools), pool_table(record, &pools)));
    }
    sections.push(Section::new("How it was measured", vec![Block::Facts(facts(record))]));
    let mut origin = vec![Fact::new("started", timestamp::text(record.started))];
    origin.extend(host_facts(&record.host));
    sections.push(Section::new("Where and when", vec![Block::Facts(origin)]).shown(Shown::OnPages));
    let mut answer = sentences(record);
    if record.ending == Ending::Interrupted {
        let early = "Interrupted: this report has the measurements until then.";
        answer.insert(1.min(answer.len()), vec![(Emphasis::Open, early.to_owned())]);
    }
    Document { subject: "Steadyhand: what an allocator's lock costs".to_owned(), answer, sections, is_brief: false }
}

/// Returns the sizes of the input that were measured.
fn sizes(record: &BenchRecord) -> Vec<u64> {
    let measured = record.conditions.iter().filter(|one| !one.condition.kept && one.figures.is_ok());
    let mut sizes: Vec<u64> = measured.map(|one| one.condition.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Writes the paragraph about the answers to some questions.
type Paragraph = fn(&BenchRecord, &[&Answer]) -> Sentence;

/// Returns the answers, a paragraph each. The last one has the questions that had too few rounds for an answer.
fn sentences(record: &BenchRecord) -> Vec<Sentence> {
    let one = |question| record.answers_to(question).next();
    let condition = |at: usize| &record.conditions[at].condition;
    let mut all: Vec<Sentence> = Vec::new();
    if let Some(gain) = one(Question::Gain) {
        let of = condition(gain.condition);
        let workers = count(of.workers as usize, "worker", "workers");
        let [new, old] = [gain.condition, gain.beside].map(|at| record.conditions[at].figures.as_ref());
        let times = match (new, old) {
            (Ok(new), Ok(old)) if gain.interval.is_ok() => {
                format!(": {} and {}.", wall_time(new), wall_time(old))
            }
            _ => ".".to_owned(),
        };
        all.push(vec![
            plain(format!("{workers} on {}: ", memory(of.bytes as f64))),
            claim(gain, "the global list", "a pool"),
            plain(times),
        ]);
    }
    let mut open = Vec::new();
    let paragraphs: [(&str, &[Question], Paragraph); 6] = [
        ("the published programs", &[Question::Published, Question::ThreadPerBlock, Question::PoolPerBlock], published),
        ("the lock", &[Question::Lock], lock),
        ("the list", &[Question::List], list),
        ("parallelism", &[Question::Alone, Question::PoolParallel, Question::GlobalParallel], parallelism),
        ("locality", &[Question::Locality], locality),
        ("a pool's size", &[Question::PoolRoom], pool_size),
    ];
    for (name, questions, paragraph) in paragraphs {
        let Some(answers) = questions.iter().map(|question| one(*question)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        if answers.iter().all(|answer| answer.interval.is_ok()) {
            all.push(paragraph(record, &answers));
        } else {
            open.push(name);
        }
    }
    if !open.is_empty() {
        let text = format!("Too few rounds for answers about {}; use a larger --budget.", open.join(", "));
        all.push(vec![(Emphasis::Open, text)]);
    }
    all
}

fn lock(_: &BenchRecord, answers: &[&Answer]) -> Sentence {
    let what = "a free list per worker without a lock";
    vec![plain("The lock: "), claim(answers[0], "one list for all workers with a lock", what), plain(".")]
}

fn list(_: &BenchRecord, answers: &[&Answer]) -> Sentence {
    let claim = claim(answers[0], "a free list per worker without a lock", "a pool");
    vec![plain("The list: "), claim, plain(". This is the cost of searching and of headers.")]
}

fn parallelism(record: &BenchRecord, answers: &[&Answer]) -> Sentence {
    let [alone, pool, global] = [answers[0], answers[1], answers[2]];
    let workers = record.conditions[pool.beside].condition.workers;
    let what = count(workers as usize, "worker", "workers");
    vec![
        plain("Parallelism: with one worker, "),
        claim(alone, "the global list", "a pool"),
        plain(format!(". On {}, with pools, ", count(record.cpus as usize, "CPU", "CPUs"))),
        claim(pool, "one worker", &what),
        plain("; with the global list, "),
        claim(global, "one worker", &what),
        plain("."),
    ]
}

fn locality(record: &BenchRecord, answers: &[&Answer]) -> Sentence {
    let size = pool(record, answers[0].condition);
    let subject = format!("one worker whose nodes are spread over {size}, each on a cache line of its own,");
    vec![plain("Locality: "), claim(answers[0], &subject, "one whose nodes are adjacent"), plain(".")]
}

/// Returns the paragraph about the two published programs, with the published claims.
fn published(record: &BenchRecord, answers: &[&Answer]) -> Sentence {
    let [both, threads, pool] = [answers[0], answers[1], answers[2]];
    let [many, per_block] = [both.condition, both.beside].map(|at| &record.conditions[at]);
    let number = thousands(many.condition.workers as usize);
    let few = count(per_block.condition.workers as usize, "worker", "workers");
    let input = match many.condition.bytes {
        MAIN_BYTES => String::new(),
        _ => format!(" for {}", memory(MAIN_BYTES as f64)),
    };
    let mut all = vec![
        plain("As published: "),
        claim(
            both,
            &format!("the global list with a thread for each block ({number})"),
            &format!("{few} with a pool per block from the list"),
        ),
        plain(format!(", published as {PUBLISHED_FACTOR}{input}. The number of threads alone: ")),
        claim(threads, &format!("the global list with {number} threads"), &format!("with {few}")),
        plain(". Taking the pools from the list alone: "),
        claim(pool, "a pool per block", "a pool per worker"),
        plain("."),
    ];
    if let Some(waiting) = many.figures.as_ref().ok().and_then(|figures| figures.lock_waiting_ratio.clone().ok()) {
        all.push(plain(format!(
            " The threads waited for the lock for {} of their time (published: over 90{TIE}%).",
            percent(waiting)
        )));
    }
    let is_larger = |one: &&MeasuredCondition| {
        one.condition.allocator == Allocator::PoolPerBlock && one.condition.bytes > many.condition.bytes
    };
    if let Some(larger) = record.conditions.iter().filter(is_larger).find(|one| one.figures.is_ok()) {
        all.push(plain(format!(
            " Both published programs fail above 1,024 blocks; these do not: {} were signed, too.",
            memory(larger.condition.bytes as f64)
        )));
    }
    all
}

/// Returns the table of the published figures next to those measured here. Returns nothing if the record has no such
/// conditions.
fn published_table(record: &BenchRecord) -> Option<Table> {
    let both = record.answers_to(Question::Published).next()?;
    let is_measured = |at: usize| record.conditions[at].figures.is_ok();
    if !is_measured(both.condition) && !is_measured(both.beside) {
        return None;
    }
    // Of the smaller input, the publication counts the acquisitions only.
    let is_small = |one: &MeasuredCondition| {
        let BenchCondition { allocator, workers, bytes, .. } = one.condition;
        (allocator, workers, bytes) == (Allocator::PoolPerBlock, MAIN_WORKERS, SIZES[0])
    };
    let small = record.conditions.iter().position(|one| is_small(one) && one.figures.is_ok());
    let small = small.filter(|small| *small != both.beside).map(|small| (small, "–", "10", "–"));
    let published = [(both.condition, "3.060 s", "–", "over 90 %"), (both.beside, "0.167 s", "2,048", "–")];
    let rows = published.map(|row| match record.conditions[row.0].condition.bytes {
        MAIN_BYTES => row,
        _ => (row.0, "–", "–", "–"),
    });
    let rows: Vec<_> = rows.into_iter().chain(small).collect();
    let here = |at: usize, of: fn(&MeasuredCondition) -> Cell| of(&record.conditions[at]);
    let columns = vec![
        Column::words("program", &rows, |row| name(&record.conditions[row.0].condition)),
        Column::numbers("input", &rows, |row| memory(record.conditions[row.0].condition.bytes as f64)),
        Column::numbers("published", &rows, |row| row.1),
        Column::numbers("here", &rows, |row| here(row.0, wall)),
        Column::numbers("locks, published", &rows, |row| row.2),
        Column::numbers("locks here", &rows, |row| here(row.0, |one| reading(one, acquired))),
        Column::numbers("waiting, published", &rows, |row| row.3),
        Column::numbers("waiting here", &rows, |row| here(row.0, |one| reading(one, waited))),
    ];
    Some(Table { label: "Published figures".to_owned(), rows: ("program", "programs"), columns })
}

/// Returns the paragraph about the size of pools.
fn pool_size(record: &BenchRecord, answers: &[&Answer]) -> Sentence {
    let room = answers[0];
    let what = format!("one of {}", pool(record, room.beside));
    let mut all = vec![
        plain("A pool's size: a pool that starts over with each block uses no more memory than a tree needs. "),
        claim(room, &format!("Such a pool of {}", pool(record, room.condition)), &what),
        plain("."),
    ];
    let walked: Vec<&Answer> = record.answers_to(Question::PoolSize).collect();
    match walked.iter().find(|answer| answer.verdict == Verdict::Slower) {
        Some(first) => all.extend([
            plain(" "),
            claim(
                first,
                &format!("A pool of {} that starts over only when it is full", pool(record, first.condition)),
                "one that starts over with each block",
            ),
            plain("; smaller pools were not found to take longer."),
        ]),
        None if walked.iter().any(|answer| answer.interval.is_ok()) => {
            all.push(plain(" No pool that starts over only when it is full takes measurably longer."));
        }
        None => {}
    }
    all.push(plain(format!(" {}", cache_claim(record))));
    all
}

/// Evaluates the published reason for the gain: the pool fits into the L1 cache. If so, a pool that does not fit would
/// take longer. The smallest such pool is compared, because larger ones may exceed the next cache too.
fn cache_claim(record: &BenchRecord) -> String {
    const CLAIM: &str = "Published: fast because the pool fits into the L1 cache.";
    let Some(cache) = record.caches.first() else {
        return format!("{CLAIM} Not evaluated: the system does not report the size of this cache.");
    };
    let size = |answer: &&Answer| record.conditions[answer.condition].condition.pool_bytes;
    let larger = record.answers_to(Question::PoolSize).filter(|answer| size(answer) > Some(cache.size_bytes));
    let Some(larger) = larger.min_by_key(size) else {
        return format!("{CLAIM} Not evaluated: no larger pool was compared.");
    };
    let does_not_fit = format!(
        "a pool of {} does not fit ({}: {}), starts over only when it is full",
        pool(record, larger.condition),
        cache.name,
        memory(cache.size_bytes.0 as f64)
    );
    let times = match times(larger) {
        Ok(times) => times,
        Err(why) => return format!("{CLAIM} Not evaluated: {does_not_fit}, and could not be compared ({why})."),
    };
    let takes = format!("{does_not_fit}, and takes {times} times as long as one that starts over with each block");
    let high = larger.interval.as_ref().map_or(f64::INFINITY, |interval| interval.high);
    match larger.verdict {
        _ if high <= 1.0 + MATTERS => format!("{CLAIM} Refuted: {takes}."),
        Verdict::Slower => format!("{CLAIM} Here, fitting explains this part of the gain: {takes}."),
        _ => format!("{CLAIM} Neither confirmed nor refuted: {takes}."),
    }
}

fn plain(text: impl Into<String>) -> Span {
    (Emphasis::Plain, text.into())
}

/// States how many times as long as `what` the `subject` takes, or why that is not known.
fn claim(answer: &Answer, subject: &str, what: &str) -> Span {
    let emphasis = match answer.verdict {
        Verdict::Faster => Emphasis::Less,
        Verdict::Slower => Emphasis::More,
        Verdict::Same => Emphasis::Same,
        Verdict::Undecided => Emphasis::Open,
    };
    let text = match times(answer) {
        Ok(times) => format!("{subject} takes {times} times as long as {what}"),
        Err(why) => format!("{subject} could not be compared with {what} ({why})"),
    };
    (emphasis, text)
}

/// Formats a factor with its interval, or returns the reason why it is not known.
fn times(answer: &Answer) -> Result<String, String> {
    match (&answer.factor, &answer.interval) {
        (Ok(factor), Ok(interval)) => {
            let digits = decimals(interval.half_width()).min(3);
            let [factor, low, high] = [*factor, interval.low, interval.high].map(|value| fixed(value, digits));
            Ok(format!("{factor} ({low}{TIE}to{TIE}{high})"))
        }
        (Err(absent), _) | (_, Err(absent)) => Err(one_line(&absent.0)),
    }
}

/// Returns a table of wall times with a column for each allocator and a row for each number of workers.
fn real(record: &BenchRecord, bytes: u64) -> Table {
    let ways = ways(record, bytes);
    let find = |allocator: Allocator, workers: u32| {
        ways.iter().find(|one| one.condition.allocator == allocator && one.condition.workers == workers)
    };
    let workers = workers(&ways);
    let mut columns = vec![Column::numbers("workers", &workers, u32::to_string)];
    columns.extend(ALLOCATORS.map(|allocator| {
        Column::numbers(allocator.name(), &workers, |count| {
            find(allocator, *count).map_or(Cell::Nothing, |one| wall(one))
        })
    }));
    Table { label: format!("Real time on {}", memory(bytes as f64)), rows: ("row", "rows"), columns }
}

fn wall(one: &MeasuredCondition) -> Cell {
    reading(one, |figures| match &figures.wall_interval {
        Ok(interval) => {
            let found = time_and_range(figures.wall_seconds, *interval);
            format!("{} ({})", found.time, found.range).into()
        }
        Err(_) if figures.runs == 1 => {
            Cell::Noted(time(figures.wall_seconds), "1 run: the time may vary by a large factor".to_owned())
        }
        Err(_) => time(figures.wall_seconds).into(),
    })
}

/// Formats a wall time with the digits that it has in tables.
fn wall_time(figures: &Figures) -> String {
    match &figures.wall_interval {
        Ok(interval) => time_and_range(figures.wall_seconds, *interval).time,
        Err(_) => time(figures.wall_seconds),
    }
}

fn reading(one: &MeasuredCondition, cell: fn(&Figures) -> Cell) -> Cell {
    one.figures.as_ref().map_or_else(|absent| Cell::Absent(absent.0.clone()), cell)
}

fn acquired(figures: &Figures) -> Cell {
    Cell::reading(&figures.lock_acquisitions, |count| thousands(count.round() as usize))
}

fn waited(figures: &Figures) -> Cell {
    Cell::reading(&figures.lock_waiting_ratio, |share| percent(*share))
}

/// Returns a table of all measurements of the conditions with this size of the input.
fn all(record: &BenchRecord, bytes: u64) -> Table {
    let ways = ways(record, bytes);
    let columns = vec![
        Column::words("allocator × workers", &ways, |one| name(&one.condition)),
        Column::numbers("real", &ways, |one| wall(one)),
        Column::numbers("CPU", &ways, |one| reading(one, |figures| time(figures.cpu_seconds).into())),
        Column::numbers("system", &ways, |one| {
            reading(one, |figures| Cell::reading(&figures.system_seconds, |seconds| time(*seconds)))
        }),
        Column::numbers("MB/s", &ways, |one| {
            reading(one, |figures| Cell::reading(&figures.bytes_per_second, |rate| short(rate / 1e6)))
        }),
        Column::numbers("lock acquired", &ways, |one| reading(one, acquired)),
        Column::numbers("waiting for it", &ways, |one| reading(one, waited)),
    ];
    Table { label: format!("All results on {}", memory(bytes as f64)), rows: ("condition", "conditions"), columns }
}

/// Returns the table of pools that start over only when they are full, by their size.
fn pool_table(record: &BenchRecord, answers: &[&Answer]) -> Table {
    let fits = |answer: &&Answer| {
        let size = record.conditions[answer.condition].condition.pool_bytes.unwrap_or(Bytes(0));
        let cache = record.caches.iter().find(|cache| size <= cache.size_bytes);
        cache.map_or_else(
            || "no known cache".to_owned(),
            |cache| format!("{} ({})", cache.name, memory(cache.size_bytes.0 as f64)),
        )
    };
    let columns = vec![
        Column::numbers("pool", answers, |answer| pool(record, answer.condition)),
        Column::words("fits into", answers, fits),
        Column::numbers("time relative to starting over with each block", answers, |answer| {
            times(answer).map_or_else(Cell::Absent, Cell::from)
        }),
    ];
    Table { label: "Pools by size".to_owned(), rows: ("pool", "pools"), columns }
}

/// Returns facts about the measurement.
fn facts(record: &BenchRecord) -> Vec<Fact> {
    let input = match &record.input {
        Input::Made => "pseudo-random bytes (xorshift), the same on every machine".to_owned(),
        Input::File(name) => {
            let used = record.conditions.iter().map(|one| one.condition.bytes).max().unwrap_or_default();
            format!("the first {} of '{}'", memory(used as f64), one_line(name))
        }
    };
    let caches: Vec<String> =
        record.caches.iter().map(|cache| format!("{} {}", cache.name, memory(cache.size_bytes.0 as f64))).collect();
    let caches = match caches.is_empty() {
        true => "not available: the system does not report them".to_owned(),
        false => caches.join(", "),
    };
    let rounds = format!("{}, each in random order, in {}", record.rounds, duration(record.elapsed_seconds));
    let pool = record.conditions.iter().find_map(|one| one.condition.pool_bytes.filter(|_| !one.condition.kept));
    let pool = pool.map(|pool| Fact::new("pools", format!("{} each, created with the worker", memory(pool.0 as f64))));
    let mut facts = vec![
        Fact::new("rounds", rounds),
        Fact::new("input", input),
        Fact::new("CPUs", record.cpus.to_string()),
        Fact::new("caches", caches),
    ];
    facts.extend(pool);
    facts.extend([
        Fact::new("real", format!("wall time: the median over the rounds, with its interval at 95{TIE}%")),
        Fact::new(
            "factors",
            "from conditions of the same round, so a factor is not the quotient of two medians of the table",
        ),
        Fact::new(
            "user",
            "user and system time are means over all runs. Kernels that count them by clock ticks report only their \
             sum exactly",
        ),
        Fact::new("seed", record.seed.to_string()),
    ]);
    facts
}

/// Formats a header and a line for each condition. If a condition was not measured, the last field has the reason.
fn csv(record: &BenchRecord) -> String {
    let row = |one: &MeasuredCondition| {
        let (condition, of) = (&one.condition, &one.figures);
        let end = |figures: &Figures, end: fn(&Interval) -> f64| {
            field(&figures.wall_interval, |interval| end(interval).to_string())
        };
        Row::new()
            .with("allocator", condition.allocator.name())
            .with("workers", condition.workers)
            .with("bytes", condition.bytes)
            .with("pool_bytes", condition.pool_bytes.map_or_else(String::new, |pool| pool.0.to_string()))
            .with("kept", condition.kept)
            .with_reading("runs", of, |figures| figures.runs.to_string())
            .with_reading("wall_seconds", of, |figures| figures.wall_seconds.to_string())
            .with_reading("wall_low_seconds", of, |figures| end(figures, |interval| interval.low))
            .with_reading("wall_high_seconds", of, |figures| end(figures, |interval| interval.high))
            .with_reading("cpu_seconds", of, |figures| figures.cpu_seconds.to_string())
            .with_reading("user_seconds", of, |figures| field(&figures.user_seconds, f64::to_string))
            .with_reading("system_seconds", of, |figures| field(&figures.system_seconds, f64::to_string))
            .with_reading("bytes_per_second", of, |figures| field(&figures.bytes_per_second, f64::to_string))
            .with_reading("lock_acquisitions", of, |figures| field(&figures.lock_acquisitions, f64::to_string))
            .with_reading("lock_waiting_ratio", of, |figures| field(&figures.lock_waiting_ratio, f64::to_string))
            .with("absent", of.as_ref().err().map_or("", |absent| absent.0.as_str()))
    };
    csv::text(&record.conditions.iter().map(row).collect::<Vec<_>>())
}
