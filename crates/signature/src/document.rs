//! Signatures of files in words.

#[path = "document/bench.rs"]
pub(crate) mod bench;

use steady_model::{SignatureCrew, SignatureReport, Signed};

use crate::units::{TIE, count as events, memory, short, thousands, time};
use crate::words::{count, one_line};

/// A file's name as it is printed: on one line, whatever is in it.
pub fn signature_name(name: &str) -> String {
    one_line(name)
}

/// What a signature took: labels, and what belongs to them. The first is as published programs print it.
pub(crate) fn stats(signed: &Signed) -> Vec<(&'static str, String)> {
    let absent = |absent: &steady_model::Absent| format!("absent: {}", one_line(&absent.0));
    let lock = |of: &dyn Fn(&steady_model::SignatureLock) -> String| signed.lock.as_ref().map_or_else(absent, of);
    vec![
        ("Total allocator lock acquisitions", lock(&|lock| lock.acquisitions.to_string())),
        ("Contended acquisitions", lock(&|lock| lock.contended.to_string())),
        ("Waited for the lock", lock(&|lock| waited(signed, lock))),
        ("Allocations", signed.allocations.to_string()),
        ("Real time", time(signed.elapsed.seconds())),
        ("User time", time(signed.user.seconds())),
        ("System time", time(signed.system.seconds())),
        ("Peak memory", signed.peak_memory.as_ref().map_or_else(absent, |bytes| memory(bytes.0 as f64))),
        ("Read", format!("{} with {}", memory(signed.bytes as f64), crew(signed.crew))),
        ("Throughput", rate(signed)),
    ]
}

fn waited(signed: &Signed, lock: &steady_model::SignatureLock) -> String {
    let all = signed.elapsed.seconds() * f64::from(signed.crew.workers());
    let share = if all > 0.0 { lock.waited.seconds() / all * 100.0 } else { 0.0 };
    format!("{}, {}{TIE}% of all workers' time", time(lock.waited.seconds()), short(share))
}

/// Who worked.
pub(crate) fn crew(crew: SignatureCrew) -> String {
    match crew {
        SignatureCrew::Single => "a single thread".to_owned(),
        SignatureCrew::Threads(many) => count(many as usize, "thread", "threads"),
        SignatureCrew::Processes(many) => count(many as usize, "process", "processes"),
    }
}

/// Millions of bytes a second.
pub(crate) fn rate(signed: &Signed) -> String {
    match signed.elapsed.seconds() {
        seconds if seconds > 0.0 => format!("{}{TIE}MB/s", short(signed.bytes as f64 / 1e6 / seconds)),
        _ => "absent: the clock did not move".to_owned(),
    }
}

/// How the nodes were had.
pub(crate) fn allocator(report: &SignatureReport) -> String {
    match report.pool {
        Some(pool) => format!("{} of {}", report.allocator.name(), memory(pool.0 as f64)),
        None => report.allocator.name().to_owned(),
    }
}

/// The cells of a table: names of columns, and for each file what is below them.
pub(crate) fn table(report: &SignatureReport) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let mut names = vec!["file", "signature", "bytes"];
    if report.stats {
        names.extend([
            "crew",
            "real",
            "user",
            "system",
            "MB/s",
            "lock taken",
            "contended",
            "waited",
            "allocations",
            "peak memory",
        ]);
    }
    let row = |file: &steady_model::SignatureFile| {
        let name = one_line(&file.name);
        let Ok(signed) = &file.signed else {
            return vec![name, "absent".to_owned()].into_iter().chain(vec![String::new(); names.len() - 2]).collect();
        };
        let mut cells = vec![name, signed.signature.to_string(), thousands(signed.bytes as usize)];
        if report.stats {
            cells.extend(taken(signed));
        }
        cells
    };
    let rows = report.files.iter().map(row).collect();
    (names.clone(), rows)
}

fn taken(signed: &Signed) -> Vec<String> {
    let lock = |of: &dyn Fn(&steady_model::SignatureLock) -> String| {
        signed.lock.as_ref().map_or_else(|_| "absent".to_owned(), of)
    };
    vec![
        crew(signed.crew),
        time(signed.elapsed.seconds()),
        time(signed.user.seconds()),
        time(signed.system.seconds()),
        rate(signed).replace(&format!("{TIE}MB/s"), ""),
        lock(&|lock| events(lock.acquisitions as f64)),
        lock(&|lock| events(lock.contended as f64)),
        lock(&|lock| time(lock.waited.seconds())),
        events(signed.allocations as f64),
        signed.peak_memory.as_ref().map_or_else(|_| "absent".to_owned(), |bytes| memory(bytes.0 as f64)),
    ]
}

/// Why files have no signature, and why readings of others are not to be had.
pub(crate) fn notes(report: &SignatureReport) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for file in &report.files {
        let reasons = match &file.signed {
            Err(absent) => vec![absent],
            Ok(signed) if report.stats => {
                signed.lock.as_ref().err().into_iter().chain(signed.peak_memory.as_ref().err()).collect()
            }
            Ok(_) => vec![],
        };
        notes.extend(reasons.into_iter().map(|absent| format!("{}: {}", one_line(&file.name), one_line(&absent.0))));
    }
    notes
}
