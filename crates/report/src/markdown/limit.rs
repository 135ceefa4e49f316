//! A limited command as Markdown.

use steady_model::LimitReport;

use super::escape::{code, plain};
use crate::words::{limit_lines, limit_sentence, one_line};

/// The report as GitHub's Markdown: what became of the command, then a list of what it used.
pub fn limit_markdown(report: &LimitReport) -> String {
    let (claim, rest) = limit_sentence(report);
    let mut out = format!("**{}**{}\n\n", plain(&claim), plain(&rest));
    out.push_str(&format!("- command: {}\n", code(&one_line(&report.plan.command.name))));
    for (label, text) in limit_lines(report) {
        out.push_str(&format!("- {label}: {}\n", plain(&text)));
    }
    out
}
