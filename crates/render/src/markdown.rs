//! Documents as GitHub-flavoured Markdown.

use crate::document::{Document, Span};
use crate::letters::harmless;
use crate::markup::{self, Markup};
use crate::table::Align;

/// Returns a document: its answer, then each section below its heading.
pub fn text(document: &Document) -> String {
    markup::text::<Markdown>(document)
}

/// Returns a sentence with its emphasized parts in bold.
pub fn sentence(spans: &[Span]) -> String {
    markup::sentence::<Markdown>(spans)
}

struct Markdown;

impl Markup for Markdown {
    const ITEM: &'static str = "- ";

    fn plain(text: &str) -> String {
        plain(text)
    }

    fn code(text: &str) -> String {
        code(text)
    }

    fn strong(escaped: &str) -> String {
        format!("**{escaped}**")
    }

    fn heading(escaped: &str) -> String {
        format!("### {escaped}\n\n")
    }

    fn begin_detail(escaped: &str) -> String {
        format!("<details><summary>{escaped}</summary>\n\n")
    }

    const END_DETAIL: &'static str = "</details>\n";

    fn table(heads: &[(String, Align)], rows: &[Vec<String>]) -> String {
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let rule = heads.iter().map(|(_, align)| if *align == Align::Words { "---" } else { "---:" });
        let rows: String = rows.iter().map(|row| line(row.iter().map(String::as_str).collect())).collect();
        line(heads.iter().map(|(head, _)| head.as_str()).collect()) + &line(rule.collect()) + &rows
    }
}

/// Escapes a text so that it reads as written, on one line, in a paragraph or in a cell of a table.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' => out.extend(['\\', letter]),
            // Otherwise GitHub would notify a person or team of that name, or link an issue.
            '@' | '#' => out.extend([&letter.to_string(), "<!-- -->"]),
            _ if letter.is_control() => out.push(' '),
            _ => out.push(letter),
        }
    }
    harmless(out)
}

/// Returns a text as inline code, for a paragraph or a cell of a table.
pub fn code(text: &str) -> String {
    /// Characters with a meaning in Markdown, also inside of HTML elements, or on GitHub.
    const ACTIVE: &str = "\\`*_[]<>|~&!#@:$";
    // Between backticks, a pipe ends the cell of a table and a backtick cannot be escaped.
    if text.is_empty() || text.contains(['`', '|', '\\']) || text.starts_with(' ') || text.ends_with(' ') {
        let letter = |letter: char| match letter {
            _ if letter.is_control() => " ".to_owned(),
            _ if ACTIVE.contains(letter) => format!("&#{};", letter as u32),
            _ => letter.to_string(),
        };
        return harmless(format!("<code>{}</code>", text.chars().map(letter).collect::<String>()));
    }
    let text = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    harmless(format!("`{}`", text.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Block, Section};

    #[test]
    fn sections_have_headings_if_text_needs_them() {
        let facts = "- one: 1 s\n- two\\_2: **noisy** — because of  others\n";
        let table = "| lock | median wait | at |\n| --- | ---: | --- |\n| L1 mutex | 1234 s | – |\n\
                     | L2 | \\[1\\] | – |\n| L3 | \\[1\\] | – |\n\n\\[1\\]\u{a0}not measured: not\\\\u{1b} sampled\n";
        let last = format!("<details><summary>Locks</summary>\n\n{table}\n</details>\n\nFirst.\n\nLast.\n");
        let document = crate::document::sample();
        assert_eq!(text(&document), format!("**It is so.**\n\n### Facts\n\n{facts}\n{last}"));
        let mut document = Document { is_brief: true, ..document };
        let chart = Section::new("Drawn", vec![Block::Chart(crate::chart::sample())]);
        document.sections.push(chart);
        assert_eq!(text(&document), format!("**It is so.**\n\n{facts}\n{last}"));
    }

    #[test]
    fn headings_of_columns_are_whole() {
        let name = format!("1\u{a0}./{} --option", "x".repeat(100));
        let mut table = crate::table::sample();
        table.columns[1].head.clone_from(&name);
        let section = Section::new("Named", vec![Block::Table(table)]);
        let document = Document { sections: vec![section], ..Document::default() };
        assert!(text(&document).contains(&format!("| lock | {name} | at |")), "{}", text(&document));
    }

    #[test]
    fn escaped_texts_read_as_written() {
        assert_eq!(plain("a|b `c` <i> *d*"), "a\\|b \\`c\\` \\<i\\> \\*d\\*");
        assert_eq!(plain("@team #12"), "@<!-- -->team #<!-- -->12");
        assert_eq!(code("sort f"), "`sort f`");
        assert_eq!(code("a | b"), "<code>a &#124; b</code>");
        assert_eq!(code("`x`\n"), "<code>&#96;x&#96; </code>");
        assert_eq!(code("<script>"), "`<script>`");
        assert_eq!(plain("a\u{202e}b\u{1b}"), "a\\u{202e}b ");
        assert_eq!(code("a\u{2066}b"), "`a\\u{2066}b`");
    }
}
