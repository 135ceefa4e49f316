//! A host and its knobs, as a page.

use maud::html;
use steady_model::{HostQuestion, HostReport};

use crate::html::page;
use crate::words::host::{last, sections, sentence};

/// The report as a page.
pub fn host_html(report: &HostReport) -> String {
    let title = match report.question {
        HostQuestion::Status => "How quiet this host is",
        HostQuestion::Quiet => "A host made quiet",
        HostQuestion::Restore => "A host put back",
    };
    let header = html! {
        h1 { "Steadyhand: " (title.to_lowercase()) }
        p.verdict { (sentence(report)) }
    };
    let main = html! {
        @for section in sections(report) {
            section {
                h2 { (section.heading) }
                dl {
                    @for item in &section.items {
                        div {
                            dt { (item.label) }
                            dd { (item.text) @if let Some(below) = &item.below { br; span.note { (below) } } }
                        }
                    }
                }
            }
        }
        @for line in last(report) { p { (line) } }
    };
    page(title, &header, &main)
}
