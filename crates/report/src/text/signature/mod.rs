//! Signatures of files as text: a line each, as programs that print checksums have them.

mod bench;

use steady_model::{SignatureFile, SignatureReport};

use crate::words::signature as words;

pub use bench::signature_bench_text;

/// All of them.
pub fn signature_text(report: &SignatureReport) -> String {
    let line = |file| signature_line(file, report.files.len() > 1, report.stats);
    report.files.iter().map(line).collect()
}

/// One of them, with its name where there are `several`, and what it took where that is wanted; nothing where there is none.
pub fn signature_line(file: &SignatureFile, several: bool, stats: bool) -> String {
    let Ok(signed) = &file.signed else { return String::new() };
    let mut out = match several {
        true => format!("{}  {}\n", signed.signature, words::signature_name(&file.name)),
        false => format!("Final signature: {}\n", signed.signature),
    };
    if stats {
        let indent = if several { "  " } else { "" };
        let lines = words::stats(signed).into_iter().map(|(label, value)| format!("{indent}{label}: {value}\n"));
        lines.for_each(|line| out.push_str(&line.replace('\u{a0}', " ")));
    }
    out
}
