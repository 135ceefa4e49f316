//! Signatures of files as a page.

mod bench;

use maud::html;
use steady_model::SignatureReport;

use crate::html::facts::fact;
use crate::html::page;
use crate::words::signature as words;

pub use bench::signature_bench_html;

/// A table of files, and what has no place in it.
pub fn signature_html(report: &SignatureReport) -> String {
    let (names, rows) = words::table(report);
    let header = html! { h1 { "Steadyhand: signatures of files" } };
    let main = html! {
        section {
            h2 { "Signatures" }
            div.scroll role="region" aria-label="Signatures" tabindex="0" { table {
                thead { tr { @for name in &names { th scope="col" { (name) } } } }
                tbody { @for cells in &rows { tr {
                    @for (at, cell) in cells.iter().enumerate() {
                        @if at == 0 { th scope="row" { code { (cell) } } } @else { td.number { (cell) } }
                    }
                } } }
            } }
            @for note in words::notes(report) { p.note { "Absent: " (note) "." } }
        }
        section {
            h2 { "How they were made" }
            dl { (fact("allocator", &words::allocator(report))) }
        }
    };
    page("Signatures of files", &header, &main)
}
