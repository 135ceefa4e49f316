//! The hosts: a dot and an interval each, and a table of those furthest from the others.

use maud::{Markup, html};
use steady_model::ReleaseReport;

use super::intervals::{self, Bar};
use super::{ROOM, tree};
use crate::html::svg::sample;
use crate::words::{count, release};

/// More hosts than this are not drawn, and more than this not listed.
const DRAWN: usize = 1_000;
const LISTED: usize = 50;
/// With more hosts than this there is room for the names of those alone that lie apart.
const NAMED: usize = 12;

/// The hosts; nothing where there is one.
pub(super) fn draw(report: &ReleaseReport) -> Markup {
    let hosts = release::hosts(report, LISTED, ROOM);
    if hosts.branches.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { "Hosts" }
            (dots(report))
            (tree(&hosts, &release::CHANGE_HEADS, ""))
            @if let Some(more) = release::hosts_left_out(report, LISTED) { p.note { (more) } }
        }
    }
}

/// A dot for each, in the order of their changes; nothing where none has an interval.
fn dots(report: &ReleaseReport) -> Markup {
    let few = report.hosts.len() <= NAMED;
    let bar = |host: &steady_model::ReleaseHost| {
        let name = if few || host.outlying { host.host.clone() } else { String::new() };
        Bar::new(name, &host.change).map(|bar| bar.lying_apart(host.outlying))
    };
    let mut known: Vec<Bar> = report.hosts.iter().take(DRAWN).filter_map(bar).collect();
    if known.is_empty() {
        return html! {};
    }
    known.sort_by(|one, other| other.change().total_cmp(&one.change()));
    let told: Vec<String> = known.iter().filter(|bar| bar.apart).map(Bar::told).collect();
    let told = if told.is_empty() { "None lies apart".to_owned() } else { format!("Apart: {}", told.join("; ")) };
    let label = format!("Changes of {} in their order. {told}.", count(known.len(), "host", "hosts"));
    let left_out = report.hosts.len().saturating_sub(known.len());
    html! {
        figure {
            (intervals::draw(&known, report.question.resolution, &label))
            p.key {
                (intervals::key(report.question.resolution))
                @if known.iter().any(|bar| bar.apart) { span { (sample("dots apart")) "lies apart" } }
            }
            p.note {
                "Hosts in the order of their changes."
                @if left_out > 0 { " " (count(left_out, "host", "hosts")) " not drawn." }
            }
        }
    }
}
