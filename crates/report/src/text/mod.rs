//! The report as text for a terminal.

mod absent;
pub(crate) mod breakdown;
mod explain;
pub(crate) mod grid;
pub(crate) mod headline;
mod history;
mod joined;
pub(crate) mod machine;
pub(crate) mod pairs;
pub(crate) mod secondary;
mod sentence;
pub(crate) mod table;
pub(crate) mod tree;
mod warm;

use steady_model::{Report, Undecided, Warning};

pub use explain::{explain_pair_text, explain_text};
pub use history::{other_run_text, run_text, runs_text, said_run_text, summary};
pub use joined::joined_text;
pub use sentence::sentence;
pub use warm::{warm_bench_text, warm_status_text};

use crate::words::message;
pub(crate) use absent::Footnotes;
use steady_render::terminal::Page;
pub(crate) use steady_render::{Emphasis as Paint, Span, Style};

/// The report as text: the verdict in plain words first, then what it rests on.
pub fn text(report: &Report, style: Style) -> String {
    let mut page = Page::new(style);
    headline::write(report, &mut page);
    secondary::write(report, &mut page);
    breakdown::write(report, &mut page);
    pairs::write(report, &mut page);
    machine::write(report, &mut page);
    warnings(report, &mut page);
    page.blank();
    page.paragraph(0, 0, &[(Paint::Plain, format!("Seed {}", report.record.plan.seed))]);
    page.finish()
}

/// The warnings, a paragraph each.
fn warnings(report: &Report, page: &mut Page) {
    for (index, text) in fresh_warnings(report).into_iter().enumerate() {
        if index == 0 {
            page.blank();
        }
        page.paragraph(0, 2, &[(Paint::Open, "Warning:".to_owned()), (Paint::Plain, format!(" {text}"))]);
    }
}

/// The warnings in words, less those that the first sentences told with their remedy.
pub(crate) fn fresh_warnings(report: &Report) -> Vec<String> {
    let told = |reason| report.primary().any(|judgement| judgement.undecided == Some(reason));
    let fresh = report.warnings.iter().filter(|warning| match warning {
        Warning::TooFewPairs { .. } => !told(Undecided::TooFewPairs),
        Warning::BelowGrain { .. } => !told(Undecided::BelowGrain),
        _ => true,
    });
    fresh.map(|warning| message(report, warning)).collect()
}
