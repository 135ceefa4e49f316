//! A host and its knobs, as text.

use steady_model::HostReport;

use crate::text::Style;
use crate::text::{Page, Paint};
use crate::words::host::{last, sections, sentence};
use crate::words::width;

/// The report as text: first what can be done or was, last how far it is from quiet.
pub fn host_text(report: &HostReport, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(0, 2, &[(Paint::Heading, sentence(report))]);
    for section in sections(report) {
        page.heading(section.heading);
        let labels = section.items.iter().map(|item| width(&item.label)).max().unwrap_or(0);
        for item in section.items {
            page.item(&item.label, labels, &[(item.paint, item.text)]);
            if let Some(below) = item.below {
                page.paragraph(labels + 4, labels + 4, &[(Paint::Plain, below)]);
            }
        }
    }
    for line in last(report) {
        page.blank();
        page.paragraph(0, 2, &[(Paint::Plain, line)]);
    }
    page.finish()
}
