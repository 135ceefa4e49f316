//! Documents for Org mode (orgmode.org/manual).

use crate::document::Document;
use crate::markup::{self, Markup, letters};
use crate::table::Align;

/// Returns a document: its answer, then each section below its heading.
pub fn text(document: &Document) -> String {
    markup::text::<Org>(document)
}

struct Org;

/// Letters with a meaning in Org, and the names of the entities that stand for them.
const ENTITIES: [(char, &str); 17] = [
    ('\\', "backslash"),
    ('*', "ast"),
    ('_', "under"),
    ('=', "equal"),
    ('~', "tilde"),
    ('+', "plus"),
    ('/', "slash"),
    ('|', "vert"),
    ('[', "lbrack"),
    (']', "rbrack"),
    ('<', "lt"),
    ('>', "gt"),
    ('{', "lbrace"),
    ('}', "rbrace"),
    ('$', "dollar"),
    ('^', "asciicirc"),
    ('#', "num"),
];

impl Markup for Org {
    const ITEM: &'static str = "- ";

    fn plain(text: &str) -> String {
        let text = letters(text, |letter| {
            let entity = ENTITIES.iter().find(|(one, _)| *one == letter);
            entity.map(|(_, name)| format!("\\{name}{{}}"))
        });
        // Two hyphens would become a dash.
        text.replace("--", "-\\zwnj{}-")
    }

    fn code(text: &str) -> String {
        // A mark within verbatim text would end it, and a bar would end the cell.
        let verbatim = ['=', '~'].into_iter().find(|mark| !text.contains(*mark));
        let is_tight =
            !text.is_empty() && !text.starts_with(char::is_whitespace) && !text.ends_with(char::is_whitespace);
        match verbatim.filter(|_| is_tight && !text.contains('|')) {
            Some(mark) => format!("{mark}{}{mark}", letters(text, |_| None)),
            None => Org::plain(text),
        }
    }

    fn strong(escaped: &str) -> String {
        format!("*{escaped}*")
    }

    fn heading(escaped: &str) -> String {
        format!("* {escaped}\n\n")
    }

    fn table(heads: &[(String, Align)], rows: &[Vec<String>]) -> String {
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let aligned = heads.iter().map(|(_, align)| if *align == Align::Words { "<l>" } else { "<r>" });
        let rule = format!("|{}|\n", vec!["---"; heads.len()].join("+"));
        let rows: String = rows.iter().map(|row| line(row.iter().map(String::as_str).collect())).collect();
        line(heads.iter().map(|(head, _)| head.as_str()).collect()) + &line(aligned.collect()) + &rule + &rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_below_headings() {
        let text = text(&crate::document::sample());
        let facts = "* Facts\n\n- one: 1 s\n- two\\under{}2: *noisy* — because of  others\n";
        let table = "| lock | median wait | at |\n| <l> | <r> | <l> |\n|---+---+---|\n| L1 mutex | 1234 s | – |\n";
        assert!(text.starts_with(&format!("*It is so.*\n\n{facts}\n* Locks\n\n{table}")), "{text}");
    }

    #[test]
    fn escaped_texts_read_as_written() {
        assert_eq!(Org::plain("a|b *c*\n/d/"), "a\\vert{}b \\ast{}c\\ast{} \\slash{}d\\slash{}");
        assert_eq!(Org::plain("--budget 3s"), "-\\zwnj{}-budget 3s");
        assert_eq!(Org::code("sort -u f"), "=sort -u f=");
        assert_eq!(Org::code("a=b"), "~a=b~");
        assert_eq!(Org::code("a | b"), "a \\vert{} b");
        assert_eq!(Org::code(""), "");
        assert_eq!(Org::plain("a\u{202e}b\u{1b}"), "a\\u{202e}b ");
    }
}
