//! `steady release`: what a release changed, in production.

mod outcome;

use steady_model::ReleaseReport;

use crate::flags::Form;
use crate::output::{Shown, style};

pub(crate) use outcome::status;

impl Shown for ReleaseReport {
    /// It has no samples: what it rests on stays in the store.
    fn rendered(&self, form: Form, _: bool) -> String {
        match form {
            Form::Text => steady_report::release_text(self, style()),
            Form::Json => steady_report::release_json_text(self),
            Form::Csv => steady_report::release_csv(self),
            Form::Markdown => steady_report::release_markdown(self),
            Form::Html => steady_report::release_html(self),
        }
    }
}
