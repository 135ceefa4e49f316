//! Signatures of files as Markdown.

mod bench;

use steady_model::SignatureReport;

use crate::markdown::row;
use crate::words::signature as words;
use steady_render::markdown::plain;

pub use bench::signature_bench_markdown;

/// A table of files, and what has no place in it.
pub fn signature_markdown(report: &SignatureReport) -> String {
    let (names, rows) = words::table(report);
    let mut out = String::new();
    row(&mut out, names.iter().map(|name| plain(name)));
    row(&mut out, names.iter().enumerate().map(|(at, _)| if at == 0 { "---" } else { "---:" }.to_owned()));
    rows.iter().for_each(|cells| row(&mut out, cells.iter().map(|cell| plain(cell))));
    out.push_str(&format!("\n- allocator: {}\n", plain(&words::allocator(report))));
    words::notes(report).iter().for_each(|note| out.push_str(&format!("- absent: {}\n", plain(note))));
    out
}
