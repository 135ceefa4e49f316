//! Documents in a markup language: the order of their parts, which is the same in all of these languages.

use crate::document::{Block, Document, Emphasis, Fact, Section, Shown, Span};
use crate::table::{Align, Table};

/// The maximum rows of a table, unless its section is shown whole.
const ROWS: usize = 50;

/// A markup language. Texts are escaped, so that they read as written.
pub(crate) trait Markup {
    /// What begins an item of a list.
    const ITEM: &'static str;

    /// Escapes a text on one line, in a paragraph or in a cell of a table.
    fn plain(text: &str) -> String;

    /// Returns a text as inline code, for a paragraph or a cell of a table.
    fn code(text: &str) -> String;

    /// Returns an escaped text with emphasis.
    fn strong(escaped: &str) -> String;

    /// Returns the heading of a section, with the empty line below it if the language has one.
    fn heading(escaped: &str) -> String;

    /// Returns what begins a section that is closed at first, if the language has such sections.
    fn begin_detail(escaped: &str) -> String {
        Self::heading(escaped)
    }

    /// Returns what ends such a section.
    const END_DETAIL: &'static str = "";

    /// Returns a table from its escaped heads and cells.
    fn table(heads: &[(String, Align)], rows: &[Vec<String>]) -> String;
}

/// Returns a document: its answer, then each section below its heading. It has no charts.
pub(crate) fn text<M: Markup>(document: &Document) -> String {
    let mut out = document.answer.iter().map(|one| sentence::<M>(one) + "\n").collect::<Vec<_>>().join("\n");
    // A section of charts only would be a heading above nothing.
    let is_drawn = |section: &Section| section.is_all(|block| matches!(block, Block::Chart(_)));
    let shown =
        document.sections.iter().filter(|section| matches!(section.shown, Shown::Everywhere | Shown::OffTerminal));
    for section in shown.filter(|section| !is_drawn(section)) {
        blank(&mut out);
        let heading = section.heading_in_text(document).map(|heading| M::plain(heading));
        match &heading {
            Some(heading) if section.is_detail => out.push_str(&M::begin_detail(heading)),
            Some(heading) => out.push_str(&M::heading(heading)),
            None => {}
        }
        section.blocks.iter().for_each(|one| block::<M>(one, section.rows(ROWS), &mut out));
        if heading.is_some() && section.is_detail && !M::END_DETAIL.is_empty() {
            blank(&mut out);
            out.push_str(M::END_DETAIL);
        }
    }
    out
}

fn block<M: Markup>(block: &Block, most: usize, out: &mut String) {
    match block {
        Block::Command(words) => out.push_str(&format!("{}command: {}\n", M::ITEM, M::code(words))),
        Block::Facts(facts) => facts.iter().for_each(|fact| out.push_str(&item::<M>(fact))),
        Block::Paragraph(spans) => {
            blank(out);
            out.push_str(&format!("{}\n", sentence::<M>(spans)));
        }
        Block::Table(table) => {
            // Without an empty line, the table would be read as part of the paragraph above.
            if !out.is_empty() {
                blank(out);
            }
            rows::<M>(table, most, out);
        }
        Block::Chart(_) => {}
    }
}

fn rows<M: Markup>(table: &Table, most: usize, out: &mut String) {
    let shown = table.shown(most);
    let heads: Vec<_> = table.columns.iter().map(|column| (M::plain(&column.head), column.align)).collect();
    let row = |row| table.columns.iter().map(|column| sentence::<M>(&[shown.cell(column, row)])).collect();
    out.push_str(&M::table(&heads, &(0..shown.rows).map(row).collect::<Vec<_>>()));
    for note in shown.notes() {
        out.push_str(&format!("\n{}\n", M::plain(&note)));
    }
}

/// Ends a paragraph with an empty line.
fn blank(out: &mut String) {
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
}

/// Returns a fact as an item of a list.
fn item<M: Markup>(fact: &Fact) -> String {
    let note = fact.note.as_ref().map_or_else(String::new, |note| format!(" — {}", M::plain(note)));
    format!("{}{}: {}{note}\n", M::ITEM, M::plain(&fact.label), sentence::<M>(&fact.text))
}

/// Returns a sentence with its emphasized parts.
pub(crate) fn sentence<M: Markup>(spans: &[Span]) -> String {
    let piece = |(emphasis, text): &Span| match emphasis {
        Emphasis::Plain => M::plain(text),
        Emphasis::Code => M::code(text),
        _ => M::strong(&M::plain(text)),
    };
    spans.iter().map(piece).collect()
}

/// Returns the letters of a text on one line, each as `escaped` returns it.
pub(crate) fn letters(text: &str, escaped: impl Fn(char) -> Option<String>) -> String {
    let letter = |letter: char| match letter {
        _ if letter.is_control() => " ".to_owned(),
        _ => escaped(letter).unwrap_or_else(|| letter.to_string()),
    };
    crate::letters::harmless(text.chars().map(letter).collect())
}
