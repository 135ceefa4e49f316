//! The page of what the rulers read.

use maud::html;
use steady_model::RulerRecord;

use super::facts;
use super::load::table;
use crate::text::rulers;
use crate::words::one_line;
use crate::words::rulers::{early, sentences};

/// What the rulers read as a page: in words, then in tables.
pub fn rulers_html(record: &RulerRecord) -> String {
    let sentences = sentences(record);
    let title = sentences.first().map_or("What the rulers read", String::as_str);
    let header = html! {
        h1 { "Steadyhand: how slow each resource is" }
        @for (index, sentence) in sentences.iter().enumerate() {
            @if index == 0 { p.verdict { (sentence) } } @else { p { (sentence) } }
        }
        @if let Some(text) = early(record) { p.warning role="note" { (text) } }
    };
    let main = html! {
        @for (heading, content) in rulers::tables(record) {
            section {
                h2 { (heading) }
                (table(content, &heading))
            }
        }
        section {
            h2 { "Where, when and how" }
            dl {
                (facts::fact("begun", &crate::json::started(record.started)))
                @for (label, text) in rulers::facts(record) { (facts::fact(label, &text)) }
                (facts::host(&record.host, &html! {}))
                (facts::reading("git revision", &record.revision, |revision| one_line(revision)))
                (facts::fact("seed", &record.seed.to_string()))
            }
        }
    };
    super::page(title, &header, &main)
}
