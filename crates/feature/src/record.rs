//! What a run leaves behind: a report that can be shown in every form, and a record that the history keeps.

use steady_model::{Facts, Kept, RunKind};
use steady_render::document::Document;
use steady_render::json::ReadError;
use steady_render::{Chart, Style, html, markdown, terminal};

use crate::flags::Form;

/// What can be shown in every form.
pub trait Report {
    /// It as a document.
    fn document(&self) -> Document;

    /// Its rows as comma-separated values.
    fn csv(&self) -> String;

    /// Its JSON, with the raw samples if there are any and they are wanted.
    fn json(&self, samples: bool) -> String;

    /// Its text for a terminal.
    fn text(&self, style: Style) -> String {
        terminal::text(&self.document(), style)
    }

    /// The chart that `--export-svg` draws, if there is such an option.
    fn drawing(&self) -> Option<Chart> {
        None
    }

    /// It in one of its forms, as text in a style.
    fn rendered(&self, form: Form, style: Style, samples: bool) -> String {
        match form {
            Form::Text => self.text(style),
            Form::Json => self.json(samples),
            Form::Csv => self.csv(),
            Form::Markdown => markdown::text(&self.document()),
            Form::Html => html::text(&self.document()),
        }
    }
}

/// What the history keeps of a run, as the text of its JSON with all samples.
pub trait Record: Report {
    /// What tells it from others.
    fn facts(&self) -> Facts;

    /// It in short, as text, where that is more than its facts.
    fn history_text(&self, _kept: &Kept, _style: Style) -> Option<String> {
        None
    }

    /// The same as JSON.
    fn history_json(&self, _kept: &Kept) -> Option<String> {
        None
    }

    /// The exit status that goes with it.
    fn status(&self) -> u8 {
        0
    }
}

/// A kind of record.
pub struct RecordKind {
    /// Under which name the history has it.
    pub kind: RunKind,
    /// The record in the text of its JSON, judged again where there is something to judge.
    pub read: fn(&str) -> Result<Box<dyn Record>, ReadError>,
}
