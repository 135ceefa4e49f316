//! What a run leaves behind: a report that can be shown in every form, and a record that the history keeps.

use serde_json::Value;
use steady_model::{Facts, RunKind};
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

    /// What it says, a sentence each, where that is more than its facts.
    fn sentences(&self) -> Vec<String> {
        Vec::new()
    }

    /// Its verdicts as a JSON array, for those who show one run of the history: they take the place of the sentences. `None` for
    /// runs of a kind without verdicts.
    fn verdicts(&self) -> Option<Value> {
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
    /// How the log of a run is read that did not come to its end, if [`Session::log`](crate::Session::log) is used for it.
    pub log: Option<LogKind>,
}

/// A kind of log.
#[derive(Clone, Copy)]
pub struct LogKind {
    /// What is whole in the text of a log; none for the log of something else. No input makes it panic.
    pub read: fn(&str) -> Option<Box<dyn Record>>,
    /// Whether a line may stand in such a log.
    pub is_line: fn(&str) -> bool,
}
