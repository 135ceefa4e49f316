//! Prices kept in a small file, for the host, the kernel and the boot that they were measured under.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use steady_linux::{Root, procfs};
use steady_model::{Absent, Prices, Reading};

use super::boot;

/// The version of the file and of how prices are measured.
const VERSION: u32 = 1;

/// What the file holds.
#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    host: String,
    prices: Prices,
}

/// The prices in a file, if they are of this host under this kernel since its last boot; none where there is no such file,
/// it cannot be read, or it makes no sense.
pub fn kept(file: &Path, root: &Root) -> Option<Prices> {
    let bytes = fs::read(file).ok()?;
    let content: Content =
        serde_json::from_slice(&bytes).ok().filter(|content: &Content| content.version == VERSION)?;
    // What cannot be told is not taken to be the same.
    let same = |kept: &Reading<String>, now: Reading<String>| kept.is_ok() && *kept == now;
    let prices = content.prices;
    let ours = host(root).is_ok_and(|host| host == content.host);
    let valid = ours && same(&prices.kernel, procfs::kernel(root)) && same(&prices.boot, boot(root));
    valid.then_some(prices)
}

/// Keeps prices in a file, replaced whole or not at all. Those that could not be measured are left out, for the next time
/// they may be.
///
/// # Errors
/// What the file system says; where the host cannot be told from others.
pub fn keep(file: &Path, root: &Root, prices: &Prices) -> io::Result<()> {
    let host = host(root).map_err(|absent| io::Error::other(absent.0))?;
    let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
    let mut prices = prices.clone();
    prices.prices.retain(|(_, price)| price.is_ok());
    let text = serde_json::to_vec(&Content { version: VERSION, host, prices })?;
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        // What cannot be removed could not be written either.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// What tells this host from others: machine-id(5), or its name.
fn host(root: &Root) -> Reading<String> {
    let id = root.read_line("/etc/machine-id").or_else(|_| procfs::hostname(root));
    id.map_err(|absent| Absent::because(format!("the host cannot be told from others: {absent}")))
}
