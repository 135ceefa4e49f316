//! Several hosts: how far their changes lie from each other, and which of them lie apart.

use steady_model::{ReleaseHost, ReleaseReport};

use super::table::{HEADS, branch};
use super::{moved, named, number, sized};
use crate::text::tree::{Branch, Tree};
use crate::words::{count, cut, one_line};

/// Hosts that lie apart and are named in the sentence; a longer list is for the table.
const NAMED: usize = 3;

/// How hosts spread, on a line: `4 hosts, changes from +1.2 % to +2.1 %; web-7 lies apart: +9.1 % (8.2 to 10.0 %).`
pub(crate) fn line(report: &ReleaseReport) -> Option<String> {
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
        match (&host.change.change, &host.change.interval) {
            (Ok(change), Ok(interval)) => {
                let (size, range) = sized(*change, *interval);
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

/// The hosts that lie apart, then those furthest from the others, a line each; none of which nothing is known.
pub(crate) fn hosts(report: &ReleaseReport, most: usize, room: usize) -> Tree {
    let line = |host: &ReleaseHost| {
        let remark = if host.outlying { "apart" } else { "" }.to_owned();
        Branch { remark, ..branch(0, cut(&one_line(&host.host), room), &host.change, host.cpu_ratio) }
    };
    let branches = report.hosts.iter().filter(is_told).take(most).map(line).collect();
    Tree { heads: HEADS.map(str::to_owned).to_vec(), branches }
}

/// How many hosts the table leaves out.
pub(crate) fn left_out(report: &ReleaseReport, most: usize) -> Option<String> {
    let more = report.hosts.len() - report.hosts.iter().filter(is_told).take(most).count();
    (more > 0).then(|| format!("and {}; --export-csv has them all", count(more, "further host", "further hosts")))
}
