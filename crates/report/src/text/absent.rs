//! Reasons of absent readings: each said once, below the table that refers to it.

use super::{Page, Paint};

/// The reasons so far, in the order of their numbers.
#[derive(Default)]
pub(crate) struct Footnotes(Vec<String>);

impl Footnotes {
    /// The mark of a reason; the same reason keeps its mark.
    pub(crate) fn mark(&mut self, reason: &str) -> String {
        let place = self.0.iter().position(|known| known == reason).unwrap_or_else(|| {
            self.0.push(reason.to_owned());
            self.0.len() - 1
        });
        format!("[{}]", place + 1)
    }

    /// The reasons, each behind its mark.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().zip(1..).map(|(reason, number)| format!("[{number}]\u{a0}{reason}"))
    }

    /// The reasons, a paragraph each.
    pub(super) fn write(&self, page: &mut Page) {
        self.lines().for_each(|line| page.paragraph(2, 6, &[(Paint::Plain, line)]));
    }
}
