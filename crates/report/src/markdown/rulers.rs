//! What the rulers read as Markdown.

use steady_model::RulerRecord;

use super::load::table;
use crate::text::rulers::{facts, tables};
use crate::words::rulers::{early, sentences};
use steady_render::markdown::plain;

/// What the rulers read as GitHub's Markdown: in words, then in tables.
pub fn rulers_markdown(record: &RulerRecord) -> String {
    let mut out = String::new();
    for sentence in sentences(record) {
        out.push_str(&format!("{}\n\n", plain(&sentence)));
    }
    if let Some(text) = early(record) {
        out.push_str(&format!("> **{}**\n\n", plain(&text)));
    }
    for (heading, content) in tables(record) {
        out.push_str(&format!("**{}**\n\n", plain(&heading)));
        table(content, &mut out);
        out.push('\n');
    }
    facts(record).iter().for_each(|(label, text)| out.push_str(&format!("- {label}: {}\n", plain(text))));
    out.push_str(&format!("\nSeed {}.\n", record.seed));
    out
}
