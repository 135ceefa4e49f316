//! Reasons of absent readings: each said once, below the table that refers to it.

use steady_model::Absent;

use super::page::{Page, Paint};

/// The reasons so far, in the order of their numbers.
#[derive(Default)]
pub(super) struct Footnotes(Vec<String>);

impl Footnotes {
    /// What stands in the place of the reading.
    pub(super) fn cell(&mut self, absent: &Absent) -> String {
        format!("absent\u{a0}{}", self.mark(&absent.0))
    }

    /// The mark of a reason; the same reason keeps its mark.
    pub(super) fn mark(&mut self, reason: &str) -> String {
        let place = self.0.iter().position(|known| known == reason).unwrap_or_else(|| {
            self.0.push(reason.to_owned());
            self.0.len() - 1
        });
        format!("[{}]", place + 1)
    }

    /// The reasons.
    pub(super) fn write(&self, page: &mut Page) {
        for (index, reason) in self.0.iter().enumerate() {
            page.paragraph(2, 6, &[(Paint::Plain, format!("[{}]\u{a0}{reason}", index + 1))]);
        }
    }
}
