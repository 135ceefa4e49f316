//! A run of any kind, as the history keeps it and shows it again.

use std::ops::Deref;

use steady_experiments::{explain, judge, warm};
use steady_feature::Record;
use steady_model::{ExplainPairReport, ExplainReport, Facts, Kept, Report, RunKind, WarmBenchReport};
use steady_report::{
    ReadError, explain_pair_summary, explain_summary, explains_a_pair, other_run_text, read_explain_pair_record,
    read_explain_record, read_record, read_warm_bench_record, run_json_text, run_text, runs_json_text,
    said_run_json_text, said_run_text, summary, warm_bench_summary,
};

use crate::compare;
use crate::features;
use crate::flags::{Form, ListFormat};
use crate::output::{Shown, style};

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
        RunKind::Compare => Box::new(judge(read_record(text)?)),
        RunKind::Explain if explains_a_pair(text)? => Box::new(explain::pair_report(read_explain_pair_record(text)?)),
        RunKind::Explain => Box::new(explain::report(read_explain_record(text)?)),
        RunKind::Warm => Box::new(warm::bench::report(read_warm_bench_record(text)?)),
        RunKind::Load | RunKind::Rulers | RunKind::Limit | RunKind::Locks | RunKind::Costs | RunKind::Release => {
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
        match format {
            _ if sentences.is_empty() => facts_shown(kept, format),
            ListFormat::Text => said_run_text(kept, &sentences, style()),
            ListFormat::Json => said_run_json_text(kept, &sentences),
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

impl Run for Report {
    fn facts(&self) -> Facts {
        Facts::of(self, summary(self))
    }

    fn shown(&self, kept: &Kept, format: ListFormat) -> String {
        match format {
            ListFormat::Text => run_text(kept, self, style()),
            ListFormat::Json => run_json_text(kept, self),
        }
    }

    fn status(&self) -> u8 {
        compare::status(self)
    }
}

impl Run for ExplainReport {
    fn facts(&self) -> Facts {
        Facts::of_explain(self, explain_summary(self))
    }
}

impl Run for WarmBenchReport {
    fn facts(&self) -> Facts {
        Facts::of_warm_bench(self, warm_bench_summary(self))
    }
}

impl Run for ExplainPairReport {
    fn facts(&self) -> Facts {
        Facts::of_explain_pair(self, explain_pair_summary(self))
    }
}
