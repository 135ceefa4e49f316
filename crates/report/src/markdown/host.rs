//! A host and its knobs, as Markdown.

use steady_model::HostReport;

use crate::words::host::{last, sections, sentence};
use steady_render::markdown::plain;

/// The report as GitHub's Markdown.
pub fn host_markdown(report: &HostReport) -> String {
    let mut out = format!("**{}**\n", plain(&sentence(report)));
    for section in sections(report) {
        out.push_str(&format!("\n**{}**\n\n", plain(section.heading)));
        for item in section.items {
            let below = item.below.map_or_else(String::new, |below| format!(" — {}", plain(&below)));
            out.push_str(&format!("- {}: {}{below}\n", plain(&item.label), plain(&item.text)));
        }
    }
    last(report).iter().for_each(|line| out.push_str(&format!("\n{}\n", plain(line))));
    out
}
