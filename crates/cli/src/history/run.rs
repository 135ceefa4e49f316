//! A run of any kind, as the history keeps it and shows it again.

use std::ops::Deref;

use steady_feature::Record;
use steady_model::{Facts, Kept, ReleaseReport, RunKind};
use steady_report::{
    ReadError, judged_run_json_text, other_run_text, read_release_report, release_summary, runs_json_text,
    said_run_json_text, said_run_text,
};

use crate::features;
use crate::flags::{Form, ListFormat};
use crate::output::{Shown, style};
use crate::release;

/// What the history keeps.
pub(crate) trait Run: Shown {
    /// What tells it from others.
    fn facts(&self) -> Facts;
    /// It by itself, in short.
    fn shown(&self, kept: &Kept, format: ListFormat) -> String {
        facts_shown(kept, format)
    }
    /// The exit status that goes with it.
    fn status(&self) -> u8 {
        0
    }
}

/// The run whose export is `text`.
pub(super) fn read(kind: RunKind, text: &str) -> Result<Box<dyn Run>, ReadError> {
    if let Some(record) = features::record_kind(kind) {
        return Ok(Box::new(OfFeature((record.read)(text)?)));
    }
    Ok(match kind {
        RunKind::Release => Box::new(read_release_report(text)?),
        RunKind::Compare
        | RunKind::Load
        | RunKind::Rulers
        | RunKind::Limit
        | RunKind::Locks
        | RunKind::Costs
        | RunKind::Warm
        | RunKind::Explain => {
            unreachable!("they are in the table of features")
        }
    })
}

/// The text of a run's export: all of it.
pub(super) fn export(run: &dyn Run) -> String {
    run.rendered(Form::Json, true)
}

/// A record of a feature of the table.
pub(crate) struct OfFeature<R>(pub(crate) R);

impl<'a, R: Deref<Target = dyn Record + 'a>> Shown for OfFeature<R> {
    fn rendered(&self, form: Form, samples: bool) -> String {
        self.0.rendered(form, style(), samples)
    }
}

impl<'a, R: Deref<Target = dyn Record + 'a>> Run for OfFeature<R> {
    fn facts(&self) -> Facts {
        self.0.facts()
    }

    fn shown(&self, kept: &Kept, format: ListFormat) -> String {
        let sentences = self.0.sentences();
        match (format, self.0.verdicts()) {
            (ListFormat::Json, Some(verdicts)) => judged_run_json_text(kept, verdicts),
            _ if sentences.is_empty() => facts_shown(kept, format),
            (ListFormat::Text, _) => said_run_text(kept, &sentences, style()),
            (ListFormat::Json, None) => said_run_json_text(kept, &sentences),
        }
    }

    fn status(&self) -> u8 {
        self.0.status()
    }
}

/// What tells a run from others, by itself.
fn facts_shown(kept: &Kept, format: ListFormat) -> String {
    match format {
        ListFormat::Text => other_run_text(kept, style()),
        ListFormat::Json => runs_json_text(std::slice::from_ref(kept)),
    }
}

impl Shown for Box<dyn Run> {
    fn rendered(&self, form: Form, samples: bool) -> String {
        (**self).rendered(form, samples)
    }
}

impl Run for ReleaseReport {
    fn facts(&self) -> Facts {
        Facts::of_release(self, release_summary(self))
    }

    fn status(&self) -> u8 {
        release::status(self, false)
    }
}
