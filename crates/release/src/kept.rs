//! The report as a record of the history.

use steady_feature::flags::Form;
use steady_feature::{Record, Report};
use steady_model::{Facts, ReleaseReport};
use steady_render::Style;
use steady_render::document::Document;
use steady_render::json::ReadError;

use crate::run::status;

/// What a release changed.
pub(crate) struct Kept(pub(crate) ReleaseReport);

/// The report in the text of its JSON.
pub(crate) fn read(text: &str) -> Result<Kept, ReadError> {
    steady_report::read_release_report(text).map(Kept)
}

impl Kept {
    /// The answer alone: its sentences, and what to beware of.
    pub(crate) fn answer_text(&self, style: Style) -> String {
        steady_report::release_answer_text(&self.0, style)
    }
}

impl Report for Kept {
    fn document(&self) -> Document {
        Document::default()
    }

    fn csv(&self) -> String {
        steady_report::release_csv(&self.0)
    }

    fn json(&self, _: bool) -> String {
        steady_report::release_json_text(&self.0)
    }

    fn text(&self, style: Style) -> String {
        steady_report::release_text(&self.0, style)
    }

    fn rendered(&self, form: Form, style: Style, samples: bool) -> String {
        match form {
            Form::Text => self.text(style),
            Form::Json => self.json(samples),
            Form::Csv => self.csv(),
            Form::Markdown => steady_report::release_markdown(&self.0),
            Form::Html => steady_report::release_html(&self.0),
        }
    }
}

impl Record for Kept {
    fn facts(&self) -> Facts {
        Facts::of_release(&self.0, steady_report::release_summary(&self.0))
    }

    fn status(&self) -> u8 {
        status(&self.0, false)
    }
}
