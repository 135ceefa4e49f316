//! `steady release`: what a release changed, in production.

mod compare;
mod demo;
mod fleet;
mod outcome;
mod source;
mod store;
mod watch;
mod window;

use steady_model::ReleaseReport;

use crate::failure::Failure;
use crate::flags::{Form, ReleaseCommands, ReleaseFlags};
use crate::output::{Shown, style};

pub(crate) use demo::{SWEEPER, WORKER, serve, sweep};
pub(crate) use outcome::status;

/// Does what the flags say; the exit status.
pub(crate) fn run(flags: &ReleaseFlags) -> Result<u8, Failure> {
    match &flags.command {
        ReleaseCommands::Compare(flags) => compare::run(flags),
        ReleaseCommands::Demo(flags) => demo::run(flags),
    }
}

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
