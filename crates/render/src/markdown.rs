//! Documents as GitHub-flavoured Markdown. Texts of users are escaped, so that they read as written.

use crate::document::{Block, Document, Emphasis, Fact, Section, Shown, Span};
use crate::letters::harmless;
use crate::table::{Align, Column, Table};

/// The maximum rows of a table, unless its section is shown whole.
const ROWS: usize = 50;

/// Returns a document: its answer, then each section below its heading.
pub fn text(document: &Document) -> String {
    let mut out = document.answer.iter().map(|one| sentence(one) + "\n").collect::<Vec<_>>().join("\n");
    // Markdown shows no charts, and a section of charts only would be a heading above nothing.
    let is_drawn = |section: &Section| section.is_all(|block| matches!(block, Block::Chart(_)));
    let shown =
        document.sections.iter().filter(|section| matches!(section.shown, Shown::Everywhere | Shown::OffTerminal));
    for section in shown.filter(|section| !is_drawn(section)) {
        blank(&mut out);
        let heading = section.heading_in_text(document);
        match heading {
            Some(heading) if section.is_detail => {
                out.push_str(&format!("<details><summary>{}</summary>\n\n", plain(heading)));
            }
            Some(heading) => out.push_str(&format!("### {}\n\n", plain(heading))),
            None => {}
        }
        section.blocks.iter().for_each(|one| block(one, section.rows(ROWS), &mut out));
        if heading.is_some() && section.is_detail {
            blank(&mut out);
            out.push_str("</details>\n");
        }
    }
    out
}

fn block(block: &Block, most: usize, out: &mut String) {
    match block {
        Block::Command(words) => out.push_str(&format!("- command: {}\n", code(words))),
        Block::Facts(facts) => facts.iter().for_each(|fact| out.push_str(&item(fact))),
        Block::Paragraph(spans) => {
            blank(out);
            out.push_str(&format!("{}\n", sentence(spans)));
        }
        Block::Table(table) => {
            // Without an empty line, Markdown would read the table as part of the paragraph above.
            if !out.is_empty() {
                blank(out);
            }
            rows(table, most, out);
        }
        Block::Chart(_) => {}
    }
}

fn rows(table: &Table, most: usize, out: &mut String) {
    let shown = table.shown(most);
    let mut line = |cells: Vec<String>| out.push_str(&format!("| {} |\n", cells.join(" | ")));
    line(table.columns.iter().map(|column| plain(&column.head)).collect());
    let rule = |column: &Column| if column.align == Align::Words { "---" } else { "---:" }.to_owned();
    line(table.columns.iter().map(rule).collect());
    for row in 0..shown.rows {
        line(table.columns.iter().map(|column| sentence(&[shown.cell(column, row)])).collect());
    }
    for note in shown.notes() {
        out.push_str(&format!("\n{}\n", plain(&note)));
    }
}

/// Ends a paragraph with an empty line.
fn blank(out: &mut String) {
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
}

/// Returns a fact as an item of a list.
fn item(fact: &Fact) -> String {
    let note = fact.note.as_ref().map_or_else(String::new, |note| format!(" — {}", plain(note)));
    format!("- {}: {}{note}\n", plain(&fact.label), sentence(&fact.text))
}

/// Returns a sentence with its emphasized parts in bold.
pub fn sentence(spans: &[Span]) -> String {
    let piece = |(emphasis, text): &Span| match emphasis {
        Emphasis::Plain => plain(text),
        Emphasis::Code => code(text),
        _ => format!("**{}**", plain(text)),
    };
    spans.iter().map(piece).collect()
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
    // Between backticks, a pipe ends the cell of a table and a backtick cannot be escaped.
    if text.is_empty() || text.contains(['`', '|', '\\']) || text.starts_with(' ') || text.ends_with(' ') {
        let letter = |letter: char| match letter {
            _ if letter.is_control() => " ".to_owned(),
            _ if letter.is_ascii_punctuation() => format!("&#{};", letter as u32),
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
