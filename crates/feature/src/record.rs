//! What a run leaves behind: a report that can be shown in every form, and a record that the history keeps.

use steady_model::{Facts, Kept, RunKind};
use steady_render::Style;
use steady_render::json::ReadError;

use crate::flags::Form;

/// What can be shown in every form.
pub trait Report {
    /// It in one of its forms, as text in a style; with the raw samples, where the form can hold them and they are wanted.
    fn rendered(&self, form: Form, style: Style, samples: bool) -> String;
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

impl<R: Report + ?Sized> Report for Box<R> {
    fn rendered(&self, form: Form, style: Style, samples: bool) -> String {
        (**self).rendered(form, style, samples)
    }
}

/// A kind of record.
pub struct RecordKind {
    /// Under which name the history has it.
    pub kind: RunKind,
    /// The record in the text of its JSON, judged again where there is something to judge.
    pub read: fn(&str) -> Result<Box<dyn Record>, ReadError>,
}
