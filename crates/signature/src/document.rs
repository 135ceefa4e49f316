//! Reports of signatures of files: a document, lines of text and CSV. [`bench`] has those of a bench.

mod bench;
mod charts;

use steady_feature::Report;
use steady_model::{Nanos, Reading};
use steady_render::csv::{self, Row};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, Span};
use steady_render::letters::{count, one_line};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{TIE, count as events, memory, short, thousands, time};
use steady_render::{Style, json};
use steady_workloads::signature::Crew;

use crate::plan::main_size;
use crate::record::{BenchCondition, BenchRecord, FilesRecord, Lock, MeasuredCondition, SCHEMA, Signed, SignedFile};

impl Report for FilesRecord {
    fn document(&self) -> Document {
        document(self)
    }

    /// Formats a line for each file, like programs that print checksums.
    fn text(&self, _style: Style) -> String {
        self.files.iter().map(|file| lines(file, self.files.len() > 1, self.stats)).collect()
    }

    fn csv(&self) -> String {
        csv(self)
    }

    /// Ignores `samples`, because there are none. Each file takes several lines.
    fn json(&self, _samples: bool) -> String {
        json::text_by_lines(&SCHEMA, self, "")
    }
}

fn document(record: &FilesRecord) -> Document {
    let allocator = match record.pool_bytes {
        Some(pool) => format!("{} of {}", record.allocator.name(), memory(pool.0 as f64)),
        None => record.allocator.name().to_owned(),
    };
    let blocks = Fact::new("blocks", memory(record.block_bytes.0 as f64));
    let made = Block::Facts(vec![Fact::new("allocator", allocator), blocks]);
    Document {
        subject: "Steadyhand: signatures of files".to_owned(),
        answer: vec![vec![answer(&record.files)]],
        sections: vec![
            Section::new("Signatures", vec![Block::Table(table(record))]).whole(),
            Section::new("How they were computed", vec![made]),
        ],
        is_brief: false,
    }
}

fn answer(files: &[SignedFile]) -> Span {
    let known = files.iter().filter(|file| file.signed.is_ok()).count();
    match files {
        [SignedFile { name, signed: Ok(signed) }] => {
            (Emphasis::Heading, format!("The signature of '{}' is {}.", one_line(name), signed.signature))
        }
        [SignedFile { name, .. }] => (Emphasis::Open, format!("'{}' has no signature.", one_line(name))),
        _ if known == files.len() => {
            (Emphasis::Heading, format!("All {} have a signature.", count(known, "file", "files")))
        }
        _ => (Emphasis::Open, format!("{known} of {} have a signature.", count(files.len(), "file", "files"))),
    }
}

fn table(record: &FilesRecord) -> Table {
    let files = &record.files;
    let signature = |file: &SignedFile| Cell::reading(&file.signed, |signed| signed.signature.to_string());
    let mut columns = vec![
        Column::words("file", files, |file| Cell::Text(Emphasis::Code, one_line(&file.name))),
        Column::numbers("signature", files, signature),
        Column::numbers("bytes", files, |file| signed_cell(file, |signed| thousands(signed.bytes as usize).into())),
    ];
    if record.stats {
        let lock = |file: &SignedFile, words: fn(&Lock) -> String| {
            signed_cell(file, |signed| Cell::reading(&signed.lock, words))
        };
        let rate = |signed: &Signed| Cell::reading(&signed.bytes_per_second, |rate| short(rate / 1e6));
        let mode = |time_of: &Reading<Nanos>| Cell::reading(time_of, |nanos| time(nanos.seconds()));
        let peak = |signed: &Signed| Cell::reading(&signed.peak_memory_bytes, |bytes| memory(bytes.0 as f64));
        columns.extend([
            Column::words("crew", files, |file| signed_cell(file, |signed| crew(signed.crew).into())),
            Column::numbers("real", files, |file| {
                signed_cell(file, |signed| time(signed.elapsed_seconds.seconds()).into())
            }),
            Column::numbers("CPU", files, |file| signed_cell(file, |signed| time(signed.cpu_seconds.seconds()).into())),
            Column::numbers("user", files, |file| signed_cell(file, |signed| mode(&signed.user_seconds))),
            Column::numbers("system", files, |file| signed_cell(file, |signed| mode(&signed.system_seconds))),
            Column::numbers("MB/s", files, |file| signed_cell(file, rate)),
            Column::numbers("lock acquired", files, |file| lock(file, |lock| events(lock.lock_acquisitions as f64))),
            Column::numbers("contended", files, |file| lock(file, |lock| events(lock.lock_contended as f64))),
            Column::numbers("waited", files, |file| lock(file, |lock| time(lock.lock_waited_seconds.seconds()))),
            Column::numbers("allocations", files, |file| {
                signed_cell(file, |signed| events(signed.allocations as f64).into())
            }),
            Column::numbers("peak memory", files, |file| signed_cell(file, peak)),
        ]);
    }
    Table { label: "Signatures".to_owned(), rows: ("file", "files"), columns }
}

/// Returns a cell about a signature; empty if the file has none.
fn signed_cell(file: &SignedFile, cell: impl Fn(&Signed) -> Cell) -> Cell {
    file.signed.as_ref().map_or(Cell::Nothing, cell)
}

/// Formats a file's signature: with its name if there are `several` files, and with its cost if `stats` are requested.
/// Returns an empty text if the file has no signature.
pub(crate) fn lines(file: &SignedFile, several: bool, stats: bool) -> String {
    let Ok(signed) = &file.signed else { return String::new() };
    let (mut out, indent) = match several {
        true => (format!("{}  {}\n", signed.signature, one_line(&file.name)), "  "),
        false => (format!("Final signature: {}\n", signed.signature), ""),
    };
    if stats {
        self::stats(signed).iter().for_each(|(label, value)| out.push_str(&format!("{indent}{label}: {value}\n")));
    }
    out.replace(TIE, " ")
}

/// Returns labels and values of a signature's cost. Published programs print the first label.
fn stats(signed: &Signed) -> [(&'static str, String); 11] {
    fn words<T>(reading: &Reading<T>, words: impl Fn(&T) -> String) -> String {
        reading.as_ref().map_or_else(|absent| format!("not measured: {}", one_line(&absent.0)), words)
    }
    let waited = |lock: &Lock| {
        let all = signed.elapsed_seconds.seconds() * f64::from(signed.crew.workers());
        let waited = lock.lock_waited_seconds.seconds();
        let share = if all > 0.0 { waited / all * 100.0 } else { 0.0 };
        format!("{}, {} % of all workers' time", time(waited), short(share))
    };
    let read = format!("{} with {}", memory(signed.bytes as f64), crew(signed.crew));
    [
        ("Total allocator lock acquisitions", words(&signed.lock, |lock| lock.lock_acquisitions.to_string())),
        ("Contended acquisitions", words(&signed.lock, |lock| lock.lock_contended.to_string())),
        ("Waited for the lock", words(&signed.lock, waited)),
        ("Allocations", signed.allocations.to_string()),
        ("Real time", time(signed.elapsed_seconds.seconds())),
        ("User time", words(&signed.user_seconds, |user| time(user.seconds()))),
        ("System time", words(&signed.system_seconds, |system| time(system.seconds()))),
        ("CPU time", time(signed.cpu_seconds.seconds())),
        ("Peak memory", words(&signed.peak_memory_bytes, |bytes| memory(bytes.0 as f64))),
        ("Read", read),
        ("Throughput", words(&signed.bytes_per_second, |rate| format!("{} MB/s", short(rate / 1e6)))),
    ]
}

fn crew(crew: Crew) -> String {
    match crew {
        Crew::Single => "a single thread".to_owned(),
        Crew::Threads(many) => count(many as usize, "thread", "threads"),
        Crew::Processes(many) => count(many as usize, "process", "processes"),
    }
}

/// Formats a header and a line for each file. If a file has no signature, the last field has the reason.
fn csv(record: &FilesRecord) -> String {
    let row = |file: &SignedFile| {
        let of = &file.signed;
        Row::new()
            .with("file", &file.name)
            .with_reading("signature", of, |signed| signed.signature.to_string())
            .with_reading("bytes", of, |signed| signed.bytes.to_string())
            .with_reading("allocator", of, |_| record.allocator.name().to_owned())
            .with_reading("pool_bytes", of, |_| record.pool_bytes.map_or_else(String::new, |pool| pool.0.to_string()))
            .with_reading("block_bytes", of, |_| record.block_bytes.0.to_string())
            .with_reading("crew", of, |signed| signed.crew.name().to_owned())
            .with_reading("workers", of, |signed| signed.crew.workers().to_string())
            .with_reading("elapsed_seconds", of, |signed| csv::seconds(signed.elapsed_seconds))
            .with_reading("cpu_seconds", of, |signed| csv::seconds(signed.cpu_seconds))
            .with_reading("user_seconds", of, |signed| field(&signed.user_seconds, |user| csv::seconds(*user)))
            .with_reading("system_seconds", of, |signed| field(&signed.system_seconds, |system| csv::seconds(*system)))
            .with_reading("bytes_per_second", of, |signed| field(&signed.bytes_per_second, f64::to_string))
            .with_reading("allocations", of, |signed| signed.allocations.to_string())
            .with_reading("lock_acquisitions", of, |signed| {
                field(&signed.lock, |lock| lock.lock_acquisitions.to_string())
            })
            .with_reading("lock_contended", of, |signed| field(&signed.lock, |lock| lock.lock_contended.to_string()))
            .with_reading("lock_waited_seconds", of, |signed| {
                field(&signed.lock, |lock| csv::seconds(lock.lock_waited_seconds))
            })
            .with_reading("peak_memory_bytes", of, |signed| {
                field(&signed.peak_memory_bytes, |bytes| bytes.0.to_string())
            })
            .with("absent", of.as_ref().err().map_or("", |absent| absent.0.as_str()))
    };
    csv::text(&record.files.iter().map(row).collect::<Vec<_>>())
}

/// Formats a field of CSV; empty if there is no reading.
fn field<T>(reading: &Reading<T>, text: impl Fn(&T) -> String) -> String {
    reading.as_ref().map_or_else(|_| String::new(), text)
}

/// Returns the size in bytes that the questions are about.
fn main_bytes(record: &BenchRecord) -> u64 {
    main_size(&record.conditions.iter().map(|one| one.condition).collect::<Vec<_>>())
}

/// Formats the allocator and the number of workers: `pool × 8`.
fn name(condition: &BenchCondition) -> String {
    format!("{}{TIE}×{TIE}{}", condition.allocator.name(), condition.workers)
}

/// Formats the size of a condition's pools; empty if it has none.
fn pool(record: &BenchRecord, at: usize) -> String {
    record.conditions[at].condition.pool_bytes.map_or_else(String::new, |pool| memory(pool.0 as f64))
}

/// Returns the conditions with this size of the input, by allocator and number of workers.
fn ways(record: &BenchRecord, bytes: u64) -> Vec<&MeasuredCondition> {
    let is_one = |one: &&MeasuredCondition| one.condition.bytes == bytes && !one.condition.kept;
    let mut all: Vec<&MeasuredCondition> = record.conditions.iter().filter(is_one).collect();
    all.sort_by_key(|one| (one.condition.allocator, one.condition.workers));
    all
}

/// Returns the distinct numbers of workers in ascending order.
fn workers(ways: &[&MeasuredCondition]) -> Vec<u32> {
    let mut workers: Vec<u32> = ways.iter().map(|one| one.condition.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    workers
}
