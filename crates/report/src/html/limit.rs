//! A limited command as a page.

use maud::html;
use steady_model::LimitReport;

use super::facts::{cpus, fact, host, reading};
use super::{page, spans};
use crate::text::Paint;
use crate::words::{limit_lines, limit_sentence, one_line};

/// The report as a page: what became of the command, what it used, and where.
pub fn limit_html(report: &LimitReport) -> String {
    let (claim, rest) = limit_sentence(report);
    let title = format!("{claim}{rest}");
    let header = html! {
        h1 { "Steadyhand: a command with limits" }
        p.verdict { (spans(&[(Paint::Heading, claim), (Paint::Plain, rest)])) }
    };
    let main = html! {
        section {
            h2 { "The command" }
            p { code { (one_line(&report.plan.command.name)) } }
            dl { @for (label, text) in limit_lines(report) { (fact(label, &text)) } }
        }
        section {
            h2 { "Where and when" }
            dl {
                (fact("begun", &crate::json::started(report.started)))
                (host(&report.host, &cpus(&report.host)))
                (reading("git revision", &report.revision, |revision| one_line(revision)))
            }
        }
    };
    page(&title, &header, &main)
}
