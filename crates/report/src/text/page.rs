//! Lines that fit: wrapping, hanging indents, colour.

use super::Style;
use crate::words::{one_line, width};

/// What a piece of text is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// The bulk.
    Plain,
    /// A heading.
    Heading,
    /// The verdict is that it costs less.
    Less,
    /// The verdict is that it costs more.
    More,
    /// The verdict is that it costs the same.
    Same,
    /// There is no verdict, or something to beware of.
    Open,
}

impl Paint {
    /// The code that starts the colour.
    fn code(self) -> Option<&'static str> {
        match self {
            Paint::Plain => None,
            Paint::Heading => Some("\x1b[1m"),
            Paint::Less => Some("\x1b[1;32m"),
            Paint::More => Some("\x1b[1;31m"),
            Paint::Same => Some("\x1b[1;36m"),
            Paint::Open => Some("\x1b[1;33m"),
        }
    }
}

/// A piece of text and what it is.
pub(crate) type Span = (Paint, String);

/// The text so far.
pub(super) struct Page {
    out: String,
    style: Style,
}

impl Page {
    pub(super) fn new(style: Style) -> Self {
        Page { out: String::new(), style: Style { width: style.width.max(40), ..style } }
    }

    /// The columns that a line may take.
    pub(super) fn width(&self) -> usize {
        self.style.width
    }

    /// An empty line, but never at the top and never two.
    pub(super) fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// A heading, with an empty line before it.
    pub(super) fn heading(&mut self, text: &str) {
        self.blank();
        self.paragraph(0, 2, &[(Paint::Heading, text.to_owned())]);
    }

    /// A label and what belongs to it, two columns in.
    pub(super) fn item(&mut self, label: &str, labels: usize, spans: &[Span]) {
        let pad = labels.saturating_sub(width(label)) + 2;
        // Ties keep the padding together.
        let mut all = vec![(Paint::Plain, format!("{}{}", label.replace(' ', "\u{a0}"), "\u{a0}".repeat(pad)))];
        all.extend_from_slice(spans);
        self.paragraph(2, 2 + labels + 2, &all);
    }

    /// Text set in lines that fit: the first indented by `first`, the others by `rest`.
    pub(super) fn paragraph(&mut self, first: usize, rest: usize, spans: &[Span]) {
        let mut line: Vec<Span> = vec![(Paint::Plain, " ".repeat(first))];
        let (mut column, mut empty) = (first, true);
        for word in words(spans) {
            let size = word.iter().map(|(_, text)| width(text)).sum::<usize>();
            if !empty && column + 1 + size > self.style.width {
                self.line(&std::mem::replace(&mut line, vec![(Paint::Plain, " ".repeat(rest))]));
                (column, empty) = (rest, true);
            }
            if !empty {
                // A space between words of one colour belongs to them.
                let same = line.last().map(|(paint, _)| *paint) == word.first().map(|(paint, _)| *paint);
                push(&mut line, if same { word[0].0 } else { Paint::Plain }, " ");
                column += 1;
            }
            word.iter().for_each(|(paint, text)| push(&mut line, *paint, text));
            (column, empty) = (column + size, false);
        }
        self.line(&line);
    }

    /// One line as it is.
    pub(super) fn line(&mut self, spans: &[Span]) {
        for (paint, text) in spans {
            self.paint(*paint, text);
        }
        // Names may end with a space of another kind.
        let end = self.out.trim_end_matches(|letter: char| letter.is_whitespace() && letter != '\n').len();
        self.out.truncate(end);
        self.out.push('\n');
    }

    /// Text in its colour; ties become the spaces that they look like. Names and reasons come from files, programs and the
    /// kernel: no letter of theirs may move the cursor or change the terminal.
    fn paint(&mut self, paint: Paint, text: &str) {
        let text = one_line(text).replace('\u{a0}', " ");
        match paint.code().filter(|_| self.style.color && !text.is_empty()) {
            Some(code) => self.out.extend([code, &text, "\x1b[0m"]),
            None => self.out.push_str(&text),
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}

/// Adds text to a line, to the piece before it where that has the same paint.
fn push(line: &mut Vec<Span>, paint: Paint, text: &str) {
    match line.last_mut() {
        Some((last, piece)) if *last == paint => piece.push_str(text),
        _ => line.push((paint, text.to_owned())),
    }
}

/// The words of some text; a word may be of several pieces, where no space parts them.
fn words(spans: &[Span]) -> Vec<Vec<Span>> {
    let mut all = Vec::new();
    let mut word: Vec<Span> = Vec::new();
    for (paint, text) in spans {
        // Before the words are measured, because what is spelled out is wider.
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
    fn what_would_move_the_cursor_is_spelled_out_and_fits() {
        let mut page = Page::new(Style { width: 40, color: true });
        let hostile = "/proc/x\u{1b}[2J\r\u{202e}is\nempty \u{7}\u{9b}31m".to_owned();
        page.heading(&hostile);
        page.item(&hostile, 4, &[(Paint::Plain, hostile.clone())]);
        page.line(&[(Paint::More, hostile)]);
        let text = page.finish();
        let ours = ["\u{1b}[1m", "\u{1b}[1;31m", "\u{1b}[0m", "\n"];
        let left = ours.iter().fold(text.clone(), |text, code| text.replace(code, ""));
        assert!(!left.chars().any(|letter| letter.is_control() || letter == '\u{202e}'), "{left:?}");
        assert!(text.contains("\\u{1b}[2J\\r\\u{202e}is\\nempty"), "{text}");
    }
}
