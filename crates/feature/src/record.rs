//! The results of a run: a report, which can be written in every format, and a record, which the history stores.

use serde_json::Value;
use steady_model::{Facts, RunKind};
use steady_render::document::Document;
use steady_render::json::ReadError;
use steady_render::{Chart, Style, asciidoc, html, markdown, org, terminal};

use crate::flags::Form;

/// A report, which can be written in every format.
pub trait Report {
    /// The report as a document.
    fn document(&self) -> Document;

    /// The rows of the report as comma-separated values.
    fn csv(&self) -> String;

    /// The report as JSON. `samples` adds the raw samples, if there are any.
    fn json(&self, samples: bool) -> String;

    /// The report as text for a terminal.
    fn text(&self, style: Style) -> String {
        terminal::text(&self.document(), style)
    }

    /// The chart for `--export-svg`. `None` if the feature has no such option.
    fn drawing(&self) -> Option<Chart> {
        None
    }

    /// The report in one of the formats. `style` applies to text only.
    fn rendered(&self, form: Form, style: Style, samples: bool) -> String {
        match form {
            Form::Text => self.text(style),
            Form::Json => self.json(samples),
            Form::Csv => self.csv(),
            Form::Markdown => markdown::text(&self.document()),
            Form::AsciiDoc => asciidoc::text(&self.document()),
            Form::Org => org::text(&self.document()),
            Form::Html => html::text(&self.document()),
        }
    }
}

/// The record of a run. The history stores its JSON with all samples.
pub trait Record: Report {
    /// The properties of the run for the list of the history.
    fn facts(&self) -> Facts;

    /// The results in sentences. Empty if the facts contain all results.
    fn sentences(&self) -> Vec<String> {
        Vec::new()
    }

    /// The verdicts as a JSON array, which replaces the sentences in the JSON of one run of the history. `None` for
    /// runs without verdicts.
    fn verdicts(&self) -> Option<Value> {
        None
    }

    /// The exit status of the run.
    fn status(&self) -> u8 {
        0
    }
}

/// A kind of record.
pub struct RecordKind {
    /// The name of the kind in the history.
    pub kind: RunKind,
    /// Reads a record from its JSON, and computes its verdicts again if it has any.
    pub read: fn(&str) -> Result<Box<dyn Record>, ReadError>,
    /// How the log of a killed run is read. `None` if the feature does not use [`Session::log`](crate::Session::log).
    pub log: Option<LogKind>,
    /// Joins exports of several runs that are parts of one. `None` if `steady judge` joins no runs of this kind.
    pub join: Option<Join>,
}

/// Joins the texts of exports into one record. The error says why that is not possible.
pub type Join = fn(&[String]) -> Result<Box<dyn Record>, String>;

/// A kind of log.
#[derive(Clone, Copy)]
pub struct LogKind {
    /// Reads the complete parts of a log. Returns `None` if there are none, or if it is another kind of log. No input
    /// makes it panic.
    pub read: fn(&str) -> Option<Box<dyn Record>>,
    /// Returns whether a line is valid in this kind of log.
    pub is_line: fn(&str) -> bool,
}
