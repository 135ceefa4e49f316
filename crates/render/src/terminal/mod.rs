//! Documents as text that fits a terminal: wrapping, hanging indents, colours.

pub mod columns;
mod dots;
mod table;

use crate::document::{Block, Document, Emphasis, Fact, Section, Shown, Span};
use crate::letters::{cut, one_line, width};

/// The width and the colours of text on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The available terminal columns. Values below 40 count as 40.
    pub width: usize,
    /// Whether verdicts and headings have colours.
    pub color: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { width: 80, color: false }
    }
}

/// Returns a document: its answer, then each section below its heading.
pub fn text(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    for (at, sentence) in document.answer.iter().enumerate() {
        match (document.is_brief, at) {
            (true, 0) => {
                let name = (Emphasis::Plain, "steady: ".to_owned());
                page.paragraph(0, 2, &std::iter::once(name).chain(sentence.iter().cloned()).collect::<Vec<_>>());
            }
            (true, _) => page.paragraph(2, 2, sentence),
            (false, _) => {
                page.blank();
                page.paragraph(0, 2, sentence);
            }
        }
    }
    let is_drawn =
        |section: &Section| section.is_all(|block| matches!(block, Block::Chart(chart) if !chart.has_text_form()));
    let sections =
        document.sections.iter().filter(|section| matches!(section.shown, Shown::Everywhere | Shown::OnTerminal));
    for (at, section) in sections.filter(|section| !is_drawn(section)).enumerate() {
        match section.heading_in_text(document) {
            Some(heading) => page.heading(heading),
            // Directly below a brief answer, the sentences continue it.
            None if document.is_brief && at == 0 => {}
            None => page.blank(),
        }
        for (at, block) in section.blocks.iter().enumerate() {
            if at > 0 && matches!(block, Block::Table(_) | Block::Chart(_)) {
                page.blank();
            }
            page.block(block, section.rows(table::ROWS));
        }
    }
    page.finish()
}

/// A text that grows line by line, wrapped to a terminal's width.
#[derive(Debug)]
pub struct Page {
    out: String,
    style: Style,
}

impl Page {
    /// Creates an empty text.
    pub fn new(style: Style) -> Self {
        Page { out: String::new(), style: Style { width: style.width.max(40), ..style } }
    }

    /// Returns the columns of a line.
    pub fn width(&self) -> usize {
        self.style.width
    }

    /// Adds an empty line, but never at the top and never two in a row.
    pub fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Adds a heading, with an empty line before it.
    pub fn heading(&mut self, text: &str) {
        self.blank();
        self.paragraph(0, 2, &[(Emphasis::Heading, text.to_owned())]);
    }

    fn block(&mut self, block: &Block, rows: usize) {
        match block {
            Block::Command(_) => {}
            Block::Facts(facts) => self.facts(facts),
            Block::Paragraph(spans) => {
                self.blank();
                self.paragraph(0, 2, spans);
            }
            Block::Table(table) => table::write(table, rows, self),
            Block::Chart(chart) => {
                columns::bars(chart, self);
                columns::write(chart, self);
                dots::write(chart, self);
            }
        }
    }

    /// Adds facts, one below the other, with their texts and notes aligned in a column. Labels that would take more than
    /// half of the width are followed by their texts without alignment.
    pub fn facts(&mut self, facts: &[Fact]) {
        let labels = facts.iter().map(|fact| width(&fact.label)).max().unwrap_or(0).min(self.style.width / 2);
        for fact in facts {
            self.item(&fact.label, labels, &fact.text);
            if let Some(note) = &fact.note {
                self.paragraph(labels + 4, labels + 4, &[(Emphasis::Plain, note.clone())]);
            }
        }
    }

    /// Adds a label and its text, indented by two columns. `labels` is the width of the column of labels.
    pub fn item(&mut self, label: &str, labels: usize, spans: &[Span]) {
        // No-break spaces keep the padding in one piece when the text wraps.
        let after = match labels.checked_sub(width(label)) {
            Some(pad) => "\u{a0}".repeat(pad + 2),
            None => " ".to_owned(),
        };
        let mut all = vec![(Emphasis::Plain, label.replace(' ', "\u{a0}") + &after)];
        all.extend_from_slice(spans);
        self.paragraph(2, 2 + labels + 2, &all);
    }

    /// Adds wrapped text. The first line is indented by `first` columns, the others by `rest`. A word that is wider
    /// than a line is cut, unless it is a path or part of a command.
    pub fn paragraph(&mut self, first: usize, rest: usize, spans: &[Span]) {
        let mut line: Vec<Span> = vec![(Emphasis::Plain, " ".repeat(first))];
        let (mut column, mut empty) = (first, true);
        for (at, mut word) in words(spans).into_iter().enumerate() {
            shorten(&mut word, self.style.width.saturating_sub(if at == 0 { first } else { rest }));
            let size = word.iter().map(|(_, text)| width(text)).sum::<usize>();
            if !empty && column + 1 + size > self.style.width {
                self.line(&std::mem::replace(&mut line, vec![(Emphasis::Plain, " ".repeat(rest))]));
                (column, empty) = (rest, true);
            }
            if !empty {
                // A space between words of the same emphasis has that emphasis too.
                let same = line.last().map(|(paint, _)| *paint) == word.first().map(|(paint, _)| *paint);
                push(&mut line, if same { word[0].0 } else { Emphasis::Plain }, " ");
                column += 1;
            }
            word.iter().for_each(|(paint, text)| push(&mut line, *paint, text));
            (column, empty) = (column + size, false);
        }
        self.line(&line);
    }

    /// Adds one line without wrapping it.
    pub fn line(&mut self, spans: &[Span]) {
        for (paint, text) in spans {
            self.paint(*paint, text);
        }
        // Names of users may end with spaces of other kinds.
        let end = self.out.trim_end_matches(|letter: char| letter.is_whitespace() && letter != '\n').len();
        self.out.truncate(end);
        self.out.push('\n');
    }

    /// Adds text in its colour, with no-break spaces replaced by spaces. Names and reasons come from files, programs
    /// and the kernel. Their control characters are escaped so that they cannot move the cursor or change the terminal.
    fn paint(&mut self, emphasis: Emphasis, text: &str) {
        let text = one_line(text).replace('\u{a0}', " ");
        match code(emphasis).filter(|_| self.style.color && !text.is_empty()) {
            Some(code) => self.out.extend([code, &text, "\x1b[0m"]),
            None => self.out.push_str(&text),
        }
    }

    /// Returns the whole text.
    pub fn finish(self) -> String {
        self.out
    }
}

/// Returns the escape sequence that starts the colour of an emphasis.
fn code(emphasis: Emphasis) -> Option<&'static str> {
    match emphasis {
        Emphasis::Plain | Emphasis::Code => None,
        Emphasis::Heading => Some("\x1b[1m"),
        Emphasis::Less => Some("\x1b[1;32m"),
        Emphasis::More => Some("\x1b[1;31m"),
        Emphasis::Same => Some("\x1b[1;36m"),
        Emphasis::Open => Some("\x1b[1;33m"),
    }
}

/// Cuts the middle of the longest piece of a word that is wider than a line. Paths and parts of commands stay whole.
fn shorten(word: &mut [Span], room: usize) {
    let excess = word.iter().map(|(_, text)| width(text)).sum::<usize>().saturating_sub(room);
    let Some((emphasis, text)) = word.iter_mut().max_by_key(|(_, text)| width(text)) else { return };
    if excess > 0 && *emphasis != Emphasis::Code && !text.starts_with('/') {
        *text = cut(text, width(text).saturating_sub(excess));
    }
}

/// Appends text to a line. It extends the last piece if that has the same emphasis.
fn push(line: &mut Vec<Span>, emphasis: Emphasis, text: &str) {
    match line.last_mut() {
        Some((last, piece)) if *last == emphasis => piece.push_str(text),
        _ => line.push((emphasis, text.to_owned())),
    }
}

/// Splits text at spaces into words. A word may have several pieces of different emphasis.
fn words(spans: &[Span]) -> Vec<Vec<Span>> {
    let mut all = Vec::new();
    let mut word: Vec<Span> = Vec::new();
    for (paint, text) in spans {
        // Escape before words are measured, because escaped text is wider.
        for (index, piece) in one_line(text).split(' ').enumerate() {
            if index > 0 && !word.is_empty() {
                all.push(std::mem::take(&mut word));
            }
            if !piece.is_empty() {
                word.push((*paint, piece.to_owned()));
            }
        }
    }
    if !word.is_empty() {
        all.push(word);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_headings_unless_they_are_brief() {
        let facts = "  one    1 s\n  two_2  noisy\n         because of\\u{1b} others\n";
        let head = "            median\n  lock        wait  at\n";
        let rows = "  L1 mutex  1234 s  –\n  L2           [1]  –\n  L3           [1]  –\n";
        let table = format!("{head}{rows}  [1] not measured: not\\u{{1b}} sampled\n");
        let last = format!("Locks\n{table}\nFirst.\n\nLast.\n");
        let document = crate::document::sample();
        assert_eq!(text(&document, Style::default()), format!("It is so.\n\nFacts\n{facts}\n{last}"));
        let document = Document { is_brief: true, ..document };
        assert_eq!(text(&document, Style::default()), format!("steady: It is so.\n{facts}\n{last}"));
    }

    #[test]
    fn whole_tables_show_all_rows() {
        let numbers: Vec<String> = (0..3000).map(|number| number.to_string()).collect();
        let columns = vec![crate::table::Column::numbers("n", &numbers, String::clone)];
        let table = crate::table::Table { label: "Rows".to_owned(), rows: ("row", "rows"), columns };
        let section = Section::new("Rows", vec![Block::Table(table)]);
        let last = |section| {
            let document = Document { sections: vec![section], ..Document::default() };
            let texts =
                [text(&document, Style::default()), crate::markdown::text(&document), crate::html::text(&document)];
            texts.map(|text| text.contains("2999"))
        };
        assert_eq!((last(section.clone()), last(section.whole())), ([false; 3], [true; 3]));
    }

    #[test]
    fn sections_for_terminals_are_in_no_other_format() {
        let section = Section::paragraphs([vec![(Emphasis::Plain, "Here.".to_owned())]]).shown(Shown::OnTerminal);
        let document = Document { sections: vec![section], ..Document::default() };
        assert_eq!(text(&document, Style::default()), "Here.\n");
        let others = [crate::markdown::text(&document), crate::html::text(&document)];
        assert!(others.iter().all(|other| !other.contains("Here")), "{others:?}");
    }

    #[test]
    fn charts_that_are_not_drawn_have_no_heading() {
        let bars = crate::chart::sample();
        let lines = crate::chart::Chart { y: bars.x.clone(), x: bars.y.clone(), series: vec![], ..bars.clone() };
        let section = |heading, chart| Section::new(heading, vec![Block::Chart(chart)]);
        let sections = vec![section("Bars", bars), section("Lines", lines)];
        let document = Document { sections, ..Document::default() };
        let text = text(&document, Style::default());
        assert!(text.contains("Bars") && !text.contains("Lines"), "{text}");
        assert_eq!(crate::markdown::text(&document), "");
    }

    #[test]
    fn texts_beside_labels_that_are_too_wide_stay_whole() {
        let label = "turbo, governor, epp, min-frequency";
        let fact = |label: &str| Fact::new(label, "the virtual machine has no control of the clock rate");
        let mut page = Page::new(Style { width: 40, color: false });
        page.facts(&[fact("smt"), fact(label)]);
        let text = page.finish();
        assert!(!text.contains('…') && text.contains(label), "{text}");
        assert!(text.lines().all(|line| width(line) <= 40), "{text}");
    }

    #[test]
    fn control_characters_are_escaped_and_fit() {
        let mut page = Page::new(Style { width: 40, color: true });
        let hostile = "/proc/x\u{1b}[2J\r\u{202e}is\nempty \u{7}\u{9b}31m".to_owned();
        page.heading(&hostile);
        page.item(&hostile, 4, &[(Emphasis::Plain, hostile.clone())]);
        page.line(&[(Emphasis::More, hostile)]);
        let text = page.finish();
        let ours = ["\u{1b}[1m", "\u{1b}[1;31m", "\u{1b}[0m", "\n"];
        let left = ours.iter().fold(text.clone(), |text, code| text.replace(code, ""));
        assert!(!left.chars().any(|letter| letter.is_control() || letter == '\u{202e}'), "{left:?}");
        assert!(text.contains("\\u{1b}[2J\\r\\u{202e}is\\nempty"), "{text}");
    }
}
