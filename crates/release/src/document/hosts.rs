//! Changes of several hosts: how much they differ, and which hosts are outliers.

use steady_render::document::{Block, Section};
use steady_render::effect::signed;
use steady_render::letters::{count, listed_with_more};
use steady_render::table::Column;

use super::table::{Row, table};
use super::{moved, named, plain};
use crate::record::{ReleaseHost, ReleaseReport};

/// Most outliers that the sentence names; the table has all of them.
const NAMED: usize = 3;

/// Summarises the hosts: `4 hosts, changes from +1.2 % to +2.1 %; web-7 is an outlier: +9.1 % (8.2 to 10.0 %).`
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
    Some(format!("{}{spread}{}.", count(hosts.len(), "host", "hosts"), outliers(hosts)))
}

/// Returns whether each host served only one version.
pub(super) fn one_version_each(report: &ReleaseReport) -> bool {
    !report.hosts.is_empty() && report.hosts.iter().all(|host| host.change.requests.contains(&0))
}

/// Names the outliers: `; web-7 is an outlier: +9.1 % (8.2 to 10.0 %)`.
fn outliers(hosts: &[ReleaseHost]) -> String {
    let outlying: Vec<&ReleaseHost> = hosts.iter().filter(|host| host.outlying).collect();
    let change = |host: &ReleaseHost| match (&host.change.change, host.change.interval()) {
        (Ok(change), Ok(interval)) => {
            let (size, range) = signed(*change, interval);
            format!(": {size} ({range})")
        }
        (Ok(change), Err(_)) => format!(": {}", moved(*change)),
        (Err(_), _) => String::new(),
    };
    let names: Vec<String> = outlying.iter().take(NAMED).map(|host| named(&host.host) + &change(host)).collect();
    match outlying[..] {
        [] => String::new(),
        [host] => format!("; {} is an outlier{}", named(&host.host), change(host)),
        _ => format!("; {} are outliers", listed_with_more(&names, outlying.len().saturating_sub(NAMED))),
    }
}

/// Returns whether the table has a row for the host.
fn has_row(host: &&ReleaseHost) -> bool {
    host.outlying || host.change.change.is_ok()
}

/// Returns the table of hosts, in the order of the record: outliers and hosts furthest from the others first.
pub(super) fn section(report: &ReleaseReport) -> Option<Section> {
    let hosts: Vec<&ReleaseHost> = report.hosts.iter().filter(has_row).collect();
    if hosts.is_empty() {
        return None;
    }
    let row =
        |host: &&ReleaseHost| Row { name: host.host.clone(), change: host.change.clone(), cpu_ratio: host.cpu_ratio };
    let rows: Vec<Row> = hosts.iter().map(row).collect();
    let mut table = table("Hosts", ("host", "hosts"), &rows);
    table.columns.push(Column::words("remark", &hosts, |host| if host.outlying { "outlier" } else { "" }));
    let mut blocks = vec![Block::Table(table)];
    let unknown = report.hosts.len() - hosts.len();
    if unknown > 0 {
        let hosts = count(unknown, "host has no estimate of its own", "hosts have no estimates of their own");
        blocks.push(Block::Paragraph(plain(format!("{hosts}."))));
    }
    Some(Section::new("Hosts, furthest from the others first", blocks))
}
