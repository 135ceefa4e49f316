//! Stores prices in a file, which is valid for one host, kernel and boot.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use steady_linux::{Root, procfs};
use steady_model::{Absent, Reading};
use steady_render::json;
use steady_workloads::rulers;

use super::{Prices, boot};

/// Version of the file format and of the method of measuring prices.
const VERSION: u32 = 4;

/// Content of the file.
#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    /// Version of the arithmetic ruler, because its step may differ between builds.
    ruler: String,
    host: String,
    prices: Prices,
}

/// Reads prices from a file. Returns `None` if they are from another host, kernel or boot, or if the file is missing or
/// invalid.
pub fn kept(file: &Path, root: &Root) -> Option<Prices> {
    let bytes = fs::read(file).ok()?;
    let content: Content = json::of_value(serde_json::from_slice(&bytes).ok()?).ok()?;
    if content.version != VERSION || content.ruler != rulers::VERSION {
        return None;
    }
    // An unknown kernel or boot does not count as the same.
    let same = |kept: &Reading<String>, now: Reading<String>| kept.is_ok() && *kept == now;
    let prices = content.prices;
    let ours = host(root).is_ok_and(|host| host == content.host);
    let valid = ours && same(&prices.kernel, procfs::kernel(root)) && same(&prices.boot, boot(root));
    valid.then_some(prices)
}

/// Stores prices in a file, atomically. Prices that could not be measured are left out, so that the next run tries
/// again.
///
/// # Errors
/// Errors of the file system, or that the host has no identity.
pub fn keep(file: &Path, root: &Root, prices: &Prices) -> io::Result<()> {
    let host = host(root).map_err(|absent| io::Error::other(absent.0))?;
    let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
    let mut prices = prices.clone();
    prices.prices.retain(|(_, price)| price.is_ok());
    let content = Content { version: VERSION, ruler: rulers::VERSION.to_owned(), host, prices };
    let text = json::part(&content).to_string();
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        // If the temporary file cannot be removed, it was not created either.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Identity of this host: machine-id(5), or its name.
fn host(root: &Root) -> Reading<String> {
    let id = root.read_line("/etc/machine-id").or_else(|_| procfs::hostname(root));
    id.map_err(|absent| Absent::because(format!("the host has neither a machine ID nor a name: {absent}")))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use steady_model::{Interval, Timestamp};

    use super::*;
    use crate::prices::{Price, Priced};

    /// A tree with the files that identify a host, its kernel and its boot.
    fn tree(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("steady-prices-{}-{name}", std::process::id()));
        for (file, text) in [
            ("etc/machine-id", "0123"),
            ("proc/sys/kernel/ostype", "Linux"),
            ("proc/sys/kernel/osrelease", "6.1"),
            ("proc/sys/kernel/random/boot_id", "a-b"),
        ] {
            fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
            fs::write(folder.join(file), text).unwrap();
        }
        folder
    }

    fn prices(root: &Root) -> Prices {
        let price = Price { seconds: 1e-6, interval: Interval { low: 9e-7, high: 1.1e-6 } };
        Prices {
            measured: Timestamp(1),
            kernel: procfs::kernel(root),
            boot: boot(root),
            alu: Err(Absent::because("not read")),
            prices: vec![(Priced::Switch, Ok(price)), (Priced::Exec, Err(Absent::because("no time")))],
        }
    }

    #[test]
    fn prices_are_valid_for_one_boot_of_one_kernel_on_one_host() {
        let folder = tree("holds");
        let (root, file) = (Root::at(&folder), folder.join("prices.json"));
        assert_eq!(kept(&file, &root), None);
        keep(&file, &root, &prices(&root)).unwrap();
        let found = kept(&file, &root).unwrap();
        assert_eq!(found.prices, prices(&root).prices[..1], "missing prices are not stored");
        for (other, text) in
            [("etc/machine-id", "9"), ("proc/sys/kernel/osrelease", "6.2"), ("proc/sys/kernel/random/boot_id", "c")]
        {
            let before = fs::read(folder.join(other)).unwrap();
            fs::write(folder.join(other), text).unwrap();
            assert_eq!(kept(&file, &root), None, "{other}");
            fs::remove_file(folder.join(other)).unwrap();
            assert_eq!(kept(&file, &root), None, "{other} is unknown");
            fs::write(folder.join(other), before).unwrap();
        }
        assert!(kept(&file, &root).is_some());
        let text = fs::read_to_string(&file).unwrap();
        let other = text.replace(&format!("\"ruler\":\"{}\"", rulers::VERSION), "\"ruler\":\"of another build\"");
        assert_ne!(text, other);
        fs::write(&file, other).unwrap();
        assert_eq!(kept(&file, &root), None, "readings of another ruler are not comparable");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_invalid_file_is_ignored() {
        let folder = tree("broken");
        let (root, file) = (Root::at(&folder), folder.join("prices.json"));
        for broken in ["", "{", "[]", "{\"version\":1}", "{\"version\":99,\"host\":\"0123\",\"prices\":{}}"] {
            fs::write(&file, broken).unwrap();
            assert_eq!(kept(&file, &root), None, "{broken}");
        }
        assert!(keep(Path::new("/nowhere/prices.json"), &root, &prices(&root)).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
