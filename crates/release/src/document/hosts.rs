//! Several hosts: how far their changes lie from each other, and which of them lie apart.

use steady_render::document::{Block, Section};
use steady_render::letters::count;
use steady_render::table::Column;

use super::table::{Row, table};
use super::{moved, named, number, plain, sized};
use crate::record::{ReleaseHost, ReleaseReport};

/// Hosts that lie apart and are named in the sentence; a longer list is for the table.
const NAMED: usize = 3;

/// How hosts spread, on a line: `4 hosts, changes from +1.2 % to +2.1 %; web-7 lies apart: +9.1 % (8.2 to 10.0 %).`
pub(super) fn line(report: &ReleaseReport) -> Option<String> {
    let hosts = &report.hosts;
    if hosts.is_empty() {
        return None;
    }
    let changes = hosts.iter().filter(|host| !host.outlying).filter_map(|host| host.change.change.as_ref().ok());
    let (low, high) =
        changes.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(*one), high.max(*one)));
    let spread = match (low <= high, one_version_each(report)) {
        (true, _) => format!(", changes from {} to {}", moved(low), moved(high)),
        (false, true) => ", each with one version".to_owned(),
        (false, false) => String::new(),
    };
    Some(format!("{}{spread}{}.", count(hosts.len(), "host", "hosts"), apart(hosts)))
}

/// Whether no host had both versions.
pub(super) fn one_version_each(report: &ReleaseReport) -> bool {
    !report.hosts.is_empty() && report.hosts.iter().all(|host| host.change.requests.contains(&0))
}

/// Those that lie apart: `; web-7 lies apart: +9.1 % (8.2 to 10.0 %)`.
fn apart(hosts: &[ReleaseHost]) -> String {
    let outlying: Vec<&ReleaseHost> = hosts.iter().filter(|host| host.outlying).collect();
    let told = |host: &&ReleaseHost| {
        let name = named(&host.host);
        match (&host.change.change, host.change.interval()) {
            (Ok(change), Ok(interval)) => {
                let (size, range) = sized(*change, interval);
                format!("{name}: {size} ({range})")
            }
            (Ok(change), Err(_)) => format!("{name}: {}", moved(*change)),
            (Err(_), _) => name,
        }
    };
    let mut names: Vec<String> = outlying.iter().take(NAMED).map(told).collect();
    match (outlying.len(), outlying.len().saturating_sub(NAMED)) {
        (0, _) => return String::new(),
        (_, 0) => {}
        (_, more) => names.push(format!("{} more", number(more as u64))),
    }
    let last = names.pop().unwrap_or_default();
    match names.is_empty() {
        true => match last.split_once(": ") {
            Some((name, change)) => format!("; {name} lies apart: {change}"),
            None => format!("; {last} lies apart"),
        },
        false => format!("; {} and {last} lie apart", names.join(", ")),
    }
}

/// Whether there is anything to say of a host by itself.
fn is_told(host: &&ReleaseHost) -> bool {
    host.outlying || host.change.change.is_ok()
}

/// The hosts that lie apart, then those furthest from the others, a row each; none of which nothing is known.
pub(super) fn section(report: &ReleaseReport) -> Option<Section> {
    let hosts: Vec<&ReleaseHost> = report.hosts.iter().filter(is_told).collect();
    if hosts.is_empty() {
        return None;
    }
    let row =
        |host: &&ReleaseHost| Row { name: host.host.clone(), change: host.change.clone(), cpu_ratio: host.cpu_ratio };
    let rows: Vec<Row> = hosts.iter().map(row).collect();
    let mut table = table("Hosts", ("host", "hosts"), &rows);
    table.columns.push(Column::words("remark", &hosts, |host| if host.outlying { "apart" } else { "" }));
    let mut blocks = vec![Block::Table(table)];
    let unknown = report.hosts.len() - hosts.len();
    if unknown > 0 {
        let hosts = count(unknown, "host by itself", "hosts by themselves");
        blocks.push(Block::Paragraph(plain(format!("Nothing is known of {hosts}."))));
    }
    Some(Section::new("Hosts, furthest from the others first", blocks))
}
