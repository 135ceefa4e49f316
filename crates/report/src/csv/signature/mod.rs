//! Signatures of files as comma-separated values: a line per file.

mod bench;

use steady_model::{SignatureFile, SignatureReport};

use crate::csv::{field, number, quoted, seconds};

pub use bench::signature_bench_csv;

const NAMES: &str = "file,signature,bytes,allocator,pool_bytes,crew,workers,elapsed_seconds,user_seconds,system_seconds,\
bytes_per_second,allocations,lock_acquisitions,lock_contended,lock_waited_seconds,peak_memory_bytes,absent";

/// The files, below a line of names; where one has no signature, the last field says why.
pub fn signature_csv(report: &SignatureReport) -> String {
    let mut out = format!("{NAMES}\n");
    report.files.iter().for_each(|file| out.push_str(&(line(report, file).join(",") + "\n")));
    out
}

fn line(report: &SignatureReport, file: &SignatureFile) -> Vec<String> {
    let name = quoted(&file.name);
    let signed = match &file.signed {
        Ok(signed) => signed,
        Err(absent) => {
            let between = vec![String::new(); NAMES.split(',').count() - 2];
            return [vec![name], between, vec![quoted(&absent.0)]].concat();
        }
    };
    let elapsed = signed.elapsed.seconds();
    let lock = signed.lock.as_ref().ok();
    vec![
        name,
        signed.signature.to_string(),
        signed.bytes.to_string(),
        report.allocator.name().to_owned(),
        field(report.pool.map(|pool| pool.0)),
        signed.crew.name().to_owned(),
        signed.crew.workers().to_string(),
        seconds(signed.elapsed),
        seconds(signed.user),
        seconds(signed.system),
        if elapsed > 0.0 { number(signed.bytes as f64 / elapsed) } else { String::new() },
        signed.allocations.to_string(),
        field(lock.map(|lock| lock.acquisitions)),
        field(lock.map(|lock| lock.contended)),
        lock.map_or_else(String::new, |lock| seconds(lock.waited)),
        field(signed.peak_memory.as_ref().ok().map(|bytes| bytes.0)),
        String::new(),
    ]
}
