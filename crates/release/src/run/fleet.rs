//! The store that scrapes a fleet's agents, as the flags name it.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use steady_feature::Failure;
use steady_fleet::{Client, FleetError, Settings, header};
use steady_linux::files::read_bounded;

use crate::flags::{FleetFlags, HeaderFlag};

/// The most that is read of a file with headers.
const LONGEST: u64 = 1 << 20;

/// The client of the store, if one is named.
pub(super) fn client(flags: &FleetFlags) -> Result<Option<Client>, Failure> {
    let Some(address) = flags.prometheus.clone() else { return Ok(None) };
    let mut headers = Vec::new();
    for flag in &flags.header {
        match flag {
            HeaderFlag::One(name, value) => headers.push((name.clone(), value.clone())),
            HeaderFlag::File(path) => headers.extend(in_file(path)?),
        }
    }
    Ok(Some(Client::new(Settings {
        address,
        headers,
        timeout: Duration::from_nanos(flags.timeout.0),
        select: flags.select.clone(),
        host_label: flags.host_label.clone(),
        block: flags.block.map(|block| block.seconds().ceil() as u64),
    })))
}

/// The headers in a file, a line each.
fn in_file(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--header @{}: {why}", path.display()));
    // A pipe may be meant: `@<(pass show token)`.
    let bytes =
        File::open(path).and_then(|file| read_bounded(file, LONGEST)).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| header(line).map_err(wrong)).collect()
}

/// What the store gave instead of rows.
pub(super) fn failed(error: &FleetError) -> Failure {
    match error.is_of_usage() {
        true => Failure::Usage(error.to_string()),
        false => Failure::Own(error.to_string()),
    }
}
