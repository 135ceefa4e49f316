//! Documents as AsciiDoc (docs.asciidoctor.org).

use crate::document::Document;
use crate::markup::{self, Markup, letters};
use crate::table::Align;

/// Returns a document: its answer, then each section below its title.
pub fn text(document: &Document) -> String {
    markup::text::<AsciiDoc>(document)
}

struct AsciiDoc;

impl Markup for AsciiDoc {
    const ITEM: &'static str = "* ";

    fn plain(text: &str) -> String {
        let text = letters(text, |letter| "\\`*_#+^~|[]<>{}&\"'".contains(letter).then(|| reference(letter)));
        // Two hyphens between spaces would become a dash.
        text.replace("--", "&#45;-")
    }

    fn code(text: &str) -> String {
        format!("`{}`", letters(text, |letter| letter.is_ascii_punctuation().then(|| reference(letter))))
    }

    fn strong(escaped: &str) -> String {
        // Doubled marks are also valid within words.
        format!("**{escaped}**")
    }

    fn heading(escaped: &str) -> String {
        format!("== {escaped}\n\n")
    }

    fn begin_detail(escaped: &str) -> String {
        format!(".{escaped}\n[%collapsible]\n====\n\n")
    }

    const END_DETAIL: &'static str = "====\n";

    fn table(heads: &[(String, Align)], rows: &[Vec<String>]) -> String {
        let aligned = heads.iter().map(|(_, align)| if *align == Align::Words { "<" } else { ">" });
        let aligned = aligned.collect::<Vec<_>>().join(",");
        let line = |cells: Vec<&str>| cells.iter().map(|cell| format!("|{cell}")).collect::<Vec<_>>().join(" ") + "\n";
        let head = line(heads.iter().map(|(head, _)| head.as_str()).collect());
        let rows: String = rows.iter().map(|row| line(row.iter().map(String::as_str).collect())).collect();
        format!("[cols=\"{aligned}\",options=\"header\"]\n|===\n{head}\n{rows}|===\n")
    }
}

/// Returns the character reference of a letter that would have a meaning.
fn reference(letter: char) -> String {
    format!("&#{};", letter as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_below_titles_and_details_are_collapsible() {
        let text = text(&crate::document::sample());
        let facts = "== Facts\n\n* one: 1 s\n* two&#95;2: **noisy** — because of  others\n";
        let table = "[cols=\"<,>,<\",options=\"header\"]\n|===\n|lock |median wait |at\n\n|L1 mutex |1234 s |–\n\
                     |L2 |&#91;1&#93; |–\n|L3 |&#91;1&#93; |–\n|===\n";
        let detail = format!(".Locks\n[%collapsible]\n====\n\n{table}");
        assert!(text.starts_with(&format!("**It is so.**\n\n{facts}\n{detail}")), "{text}");
        assert!(text.ends_with("\n====\n\nFirst.\n\nLast.\n"), "{text}");
    }

    #[test]
    fn escaped_texts_read_as_written() {
        assert_eq!(AsciiDoc::plain("a|b *c*\n{d}"), "a&#124;b &#42;c&#42; &#123;d&#125;");
        assert_eq!(AsciiDoc::plain("a -- b"), "a &#45;- b");
        assert_eq!(AsciiDoc::code("sort -u f | cat"), "`sort &#45;u f &#124; cat`");
        assert_eq!(AsciiDoc::plain("a\u{202e}b\u{1b}"), "a\\u{202e}b ");
    }
}
