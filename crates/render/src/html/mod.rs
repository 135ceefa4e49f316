//! Documents as one self-contained HTML page: nothing is loaded from elsewhere. The only script hides the rows of a
//! long table that do not contain what the reader types; without scripts, all rows are shown.

mod chart;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::document::{Block, Document, Emphasis, Fact, Section, Shown, Span};
use crate::letters::harmless;
use crate::table::{Align, Column, Table};

/// The style sheet of the page, for light and dark screens and for print.
const STYLE: &str = include_str!("../page.css");
/// The script of pages with a long table.
const SCRIPT: &str = include_str!("../page.js");
/// The Content-Security-Policy: the page may load nothing, and may use its own inline styles and the script with this
/// SHA-256 (`openssl dgst -sha256 -binary page.js | base64`). The literal is split so that scanners do not take it for
/// the Rust keyword.
const POLICY: &str = concat!(
    "default-src 'none'; style-src 'un",
    "safe-inline'; script-src 'sha256-ResKEJQ2ZDN8ygfvQw6FsK41OliXEAUaonOUtJu6VOs='"
);

/// The maximum rows of a table, unless its section is shown whole.
const ROWS: usize = 2000;
/// The least rows of a table with a field for a text that selects rows.
const LONG: usize = 20;

/// Returns a document as a page: the answer first, then the sections.
pub fn text(document: &Document) -> String {
    let title: String = document.answer.first().into_iter().flatten().map(|(_, text)| text.as_str()).collect();
    let header = html! {
        h1 { (document.subject) }
        @for (at, one) in document.answer.iter().enumerate() {
            @if at == 0 { p.verdict { (sentence(one)) } } @else { p { (sentence(one)) } }
        }
    };
    let main = html! { @for part in document.sections.iter().filter(|part| part.shown != Shown::OnTerminal) { (section(part)) } };
    page(&title, &header, &main)
}

fn section(section: &Section) -> Markup {
    let blocks = html! { @for one in &section.blocks { (block(one, section.rows(ROWS))) } };
    match &section.heading {
        Some(heading) => html! { section { h2 { (heading) } (blocks) } },
        None => blocks,
    }
}

fn block(block: &Block, most: usize) -> Markup {
    match block {
        Block::Command(words) => html! { p { code { (words) } } },
        Block::Facts(facts) => html! { dl { @for fact in facts { (definition(fact)) } } },
        Block::Paragraph(spans) => html! { p { (sentence(spans)) } },
        Block::Table(table) => rows(table, most),
        Block::Chart(chart) => chart::figure(chart),
    }
}

/// The columns of text that fit next to each other on a phone. The cells of a wider table are below the first cell of
/// their row there, each with its heading.
const NARROW: usize = 46;

fn rows(table: &Table, most: usize) -> Markup {
    let shown = table.shown(most);
    let class = |column: &Column| if column.align == Align::Words { "words" } else { "number" };
    let is_wide = shown.width() > NARROW;
    html! {
        @if shown.rows >= LONG {
            // The script shows it.
            input.filter type="search" hidden placeholder="Show rows with …"
                aria-label=(format!("Show rows of {} with this text", table.label));
        }
        div.scroll role="region" aria-label=(table.label) tabindex="0" { table.numbers.stacked[is_wide] {
            thead { tr { @for column in &table.columns { th scope="col" class=(class(column)) { (column.head) } } } }
            tbody { @for row in 0..shown.rows { tr {
                @for (at, column) in table.columns.iter().enumerate() {
                    @let cell = sentence(&[shown.cell(column, row)]);
                    @if at == 0 { th scope="row" class=(class(column)) { (cell) } }
                    @else { td class=(class(column)) data-head=[is_wide.then(|| column.short_head())] { (cell) } }
                }
            } } }
        } }
        @for note in shown.notes() { p.note { (note) } }
    }
}

fn definition(fact: &Fact) -> Markup {
    let note = fact.note.as_ref().map(|note| html! { br; span.note { (note) } });
    html! { div { dt { (fact.label) } dd { (sentence(&fact.text)) @if let Some(note) = note { (note) } } } }
}

/// Returns a sentence with its emphasized parts marked.
fn sentence(spans: &[Span]) -> Markup {
    let class = |emphasis: &Emphasis| match emphasis {
        Emphasis::Plain | Emphasis::Code => None,
        Emphasis::Heading => Some("claim"),
        Emphasis::Less => Some("claim less"),
        Emphasis::More => Some("claim more"),
        Emphasis::Same => Some("claim same"),
        Emphasis::Open => Some("claim open"),
    };
    html! {
        @for (emphasis, text) in spans {
            @match class(emphasis) {
                Some(class) => strong class=(class) { (text) },
                None if *emphasis == Emphasis::Code => code { (text) },
                None => (text),
            }
        }
    }
}

/// Returns a page around `header` and `main`.
fn page(title: &str, header: &Markup, main: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { (header) }
                main { (main) }
                @if main.0.contains("<input class=\"filter\"") { script { (PreEscaped(SCRIPT)) } }
            }
        }
    };
    let mut text = harmless(page.into_string());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_have_notes_and_paragraphs_have_no_section() {
        let page = text(&crate::document::sample());
        let fact = "<div><dt>two_2</dt><dd><strong class=\"claim open\">noisy</strong><br>\
                    <span class=\"note\">because of\\u{1b} others</span></dd></div>";
        assert!(page.contains(fact), "{page}");
        assert!(page.contains("<section><h2>Facts</h2><dl>"), "{page}");
        assert!(page.contains("</p></section><p>First.</p><p>Last.</p></main>"), "{page}");
    }
}
