//! What the agent tells of itself, as text.

use steady_model::AgentStatus;

use crate::text::Style;
use crate::text::page::Page;
use crate::words::agent::{sections, sentence};
use crate::words::{cut, width};

/// Longer labels, which services choose, are cut.
const LABEL: usize = 24;

/// The status as text.
pub fn agent_text(status: &AgentStatus, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(0, 2, &[sentence(status)]);
    for section in sections(status) {
        page.heading(section.heading);
        let labels: Vec<String> = section.items.iter().map(|(label, ..)| cut(label, LABEL)).collect();
        let widest = labels.iter().map(|label| width(label)).max().unwrap_or(0);
        for ((_, paint, text), label) in section.items.iter().zip(labels) {
            page.item(&label, widest, &[(*paint, text.clone())]);
        }
    }
    page.finish()
}
