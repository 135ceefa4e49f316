//! What a release changed, as Markdown.

use steady_model::ReleaseReport;

use super::tree::tree;
use super::{close, open, spoken};
use crate::words::release;
use steady_render::markdown::plain;

/// More routes than this are not listed.
const ROUTES: usize = 100;
/// More hosts than this are not listed.
const HOSTS: usize = 20;
/// Texts have as much room as they want.
const ROOM: usize = usize::MAX;

/// The report as GitHub's Markdown: the answer and the table of changes; the rest is folded away.
pub fn release_markdown(report: &ReleaseReport) -> String {
    let mut out = String::new();
    release::sentences(report).iter().for_each(|sentence| out.push_str(&format!("{}\n\n", spoken(sentence))));
    for text in release::warnings(report) {
        out.push_str(&format!("> **Warning:** {}\n\n", plain(&text)));
    }
    let heads: Vec<&str> =
        std::iter::once("CPU time per request").chain(release::CHANGE_HEADS).chain(["verdict"]).collect();
    tree(&release::changes(report, ROUTES, ROOM), &heads, &mut out);
    if let Some(more) = release::left_out(report, ROUTES) {
        out.push_str(&format!("{}\n\n", plain(&more)));
    }
    out.push_str(&format!("{}\n\n", plain(&release::notes(report))));
    let hosts = release::hosts(report, HOSTS, ROOM);
    if !hosts.branches.is_empty() {
        let heads: Vec<&str> = std::iter::once("host").chain(release::CHANGE_HEADS).chain([""]).collect();
        tree(&hosts, &heads, &mut out);
        if let Some(more) = release::hosts_left_out(report, HOSTS) {
            out.push_str(&format!("{}\n\n", plain(&more)));
        }
    }
    open(&mut out, release::wall_heading(report));
    match release::wall(report) {
        Ok(times) => {
            let versions = release::wall_heads(report);
            let heads: Vec<&str> =
                std::iter::once("wall time").chain(versions.iter().map(String::as_str)).chain([""]).collect();
            tree(&times, &heads, &mut out);
        }
        Err(absent) => out.push_str(&format!("absent: {}\n", plain(&release::named_reason(&absent.0)))),
    }
    close(&mut out);
    let facts = release::facts(report);
    facts.iter().for_each(|(label, text)| out.push_str(&format!("- {label}: {}\n", plain(text))));
    out
}
