//! Where stores lie, what their names say, how much of a disk they take, and whether nobody else can put anything into them.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use steady_linux::private::remove_own_tree;
use steady_linux::{Root, host, procfs};
use steady_preload::card::VERSION;

use super::{FOLDER, NoStore, Store, is_ours, make_folder};

/// Where the store of this user, boot and build lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The user's folder for what can be made again (the XDG Base Directory Specification).
    pub(super) cache: PathBuf,
    /// The name of the store's folder.
    pub(super) name: String,
    /// What it begins with in all stores of this boot.
    boot: String,
    /// What tells the host from others that may share the folder over a network.
    host: String,
}

/// The folders from the cache down to the stores.
pub(super) const FOLDERS: [&str; 2] = ["steady", "warm"];

impl Place {
    /// The place below `cache`, for this build of the program.
    ///
    /// # Errors
    /// Where the boot cannot be told from others.
    pub fn of(cache: &Path, root: &Root, build: &str) -> Result<Self, NoStore> {
        let boot = host::boot_id(root).map_err(|absent| NoStore(format!("this boot cannot be told: {absent}")))?;
        let machine = root.read_line("/etc/machine-id").unwrap_or_default();
        let name = procfs::hostname(root).unwrap_or_default();
        let host = format!("{:08x}", hash(&[machine.as_bytes(), name.as_bytes()]) as u32);
        // Programs choose their functions by what the CPU can do.
        let cpu = root.read("/proc/cpuinfo").unwrap_or_default();
        let cpu: String = cpu.lines().filter(|line| ["model", "flags"].iter().any(|of| line.starts_with(of))).collect();
        let parts = [steady_preload::HOOK, steady_preload::STUB, build.as_bytes(), cpu.as_bytes()];
        let user = rustix::process::geteuid().as_raw();
        let name = format!("{boot}-{host}-u{user}-v{VERSION}-{:016x}", hash(&parts));
        Ok(Place { cache: cache.to_owned(), name, boot, host })
    }

    /// The folder, by the name that it was asked for.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.stores().join(&self.name)
    }

    fn stores(&self) -> PathBuf {
        FOLDERS.iter().fold(self.cache.clone(), |path, name| path.join(name))
    }

    /// Removes the stores of this host's earlier boots: nothing of those runs any more. What cannot be removed is left for the
    /// next time.
    pub(super) fn remove_earlier_boots(&self) {
        let entries = fs::read_dir(self.stores()).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if self.is_earlier(&name) {
                let _ = remove_own_tree(&entry.path());
            }
        }
    }

    /// Returns whether a name is that of a store of this user and host from another boot: `BOOT-HOST-uUSER-vVERSION-BUILD`.
    fn is_earlier(&self, name: &str) -> bool {
        let user = format!("-{}-u{}-v", self.host, rustix::process::geteuid().as_raw());
        let Some((boot, version_and_build)) = name.split_once(user.as_str()) else { return false };
        let Some((version, build)) = version_and_build.split_once('-') else { return false };
        let is_hexadecimal = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let same_form = boot.len() == self.boot.len()
            && boot.bytes().zip(self.boot.bytes()).all(|(other, own)| (other == b'-') == (own == b'-'))
            && boot.split('-').all(is_hexadecimal);
        boot != self.boot && same_form && version.parse::<u32>().is_ok() && build.len() == 16 && is_hexadecimal(build)
    }
}

/// FNV-1a, of parts that are told apart: for names only, what is used is compared byte by byte.
fn hash(parts: &[&[u8]]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    parts.iter().fold(START, |hash, part| {
        let length = (part.len() as u64).to_le_bytes();
        length.iter().chain(part.iter()).fold(hash, |hash, byte| step(hash, *byte))
    })
}

/// The most that snapshots may take, in bytes.
pub const LIMIT: u64 = 2 << 30;
/// The share of a file system that is left to others: a fiftieth.
const LEFT: u64 = 50;

impl Store {
    /// Makes room for `bytes` more: the programs whose cards are oldest are forgotten, but for `key`. Whether there is room.
    ///
    /// # Errors
    /// What the file system says.
    pub fn make_room(&self, bytes: u64, key: &str) -> io::Result<bool> {
        self.make_room_within(bytes, key, LIMIT)
    }

    pub(super) fn make_room_within(&self, bytes: u64, key: &str, limit: u64) -> io::Result<bool> {
        let locked = self.lock()?;
        let mut cards = self.cards()?;
        cards.sort_by_key(|card| card.written);
        let mut used: u64 = cards.iter().map(|card| self.size(&card.key)).sum();
        for card in cards.iter().filter(|card| card.key != key) {
            if used.saturating_add(bytes) <= limit && self.fits(bytes)? {
                break;
            }
            let size = self.size(&card.key);
            if size > 0 {
                self.forget(&card.key, &locked)?;
                used = used.saturating_sub(size);
            }
        }
        Ok(used.saturating_add(bytes) <= limit && self.fits(bytes)?)
    }

    /// What all snapshots take, in bytes.
    ///
    /// # Errors
    /// What the file system says.
    pub fn used(&self) -> io::Result<u64> {
        Ok(self.cards()?.iter().map(|card| self.size(&card.key)).sum())
    }

    /// Whether the disk has room for as much, and some is left then.
    fn fits(&self, bytes: u64) -> io::Result<bool> {
        let system = rustix::fs::statvfs(self.folder())?;
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        let all = system.f_blocks.saturating_mul(system.f_frsize);
        Ok(bytes.saturating_add(all / LEFT) <= free)
    }
}

const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The folder of the store at a place, made where it is missing: its real path.
pub(super) fn made(place: &Place) -> Result<PathBuf, NoStore> {
    // The cache itself is everybody's to make, as the specification has it.
    let cache = DirBuilder::new().recursive(true).mode(FOLDER).create(&place.cache);
    cache.map_err(|error| no_store(&place.cache, &error))?;
    let cache = place.cache.canonicalize().map_err(|error| no_store(&place.cache, &error))?;
    trusted(&cache)?;
    let mut path = cache;
    for name in FOLDERS.into_iter().chain([place.name.as_str()]) {
        path.push(name);
        make_folder(&path).map_err(|error| no_store(&path, &error))?;
    }
    usable(&path)?;
    Ok(path)
}

/// Whether the folder of a store that was made can be trusted; nothing where there is none.
pub(super) fn check(folder: &Path) -> Result<Option<()>, NoStore> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() && is_ours(&found, FOLDER) => {}
        Ok(_) => return Err(NoStore(format!("'{}' is not a folder of this user's alone", folder.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(no_store(folder, &error)),
    }
    trusted(folder)?;
    usable(folder)?;
    Ok(Some(()))
}

/// Whether nobody but this user and root can replace a folder or one above it.
fn trusted(path: &Path) -> Result<(), NoStore> {
    let user = rustix::process::geteuid().as_raw();
    for folder in path.ancestors() {
        let found = fs::symlink_metadata(folder).map_err(|error| no_store(folder, &error))?;
        if let Some(why) = mistrust(&found, user) {
            return Err(NoStore(format!("'{}' {why}, who could put programs there", folder.display())));
        }
    }
    Ok(())
}

/// Why a folder above a store is not to be trusted.
fn mistrust(found: &Metadata, user: u32) -> Option<&'static str> {
    let mode = found.permissions().mode();
    if found.uid() != user && found.uid() != 0 {
        Some("belongs to another user")
    } else if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
        // In a sticky folder everybody may make things, but replace one's own only.
        Some("can be written by other users")
    } else {
        None
    }
}

/// Whether a hook and snapshots can be used from there.
fn usable(path: &Path) -> Result<(), NoStore> {
    let text = path.display();
    let system = rustix::fs::statvfs(path).map_err(|error| no_store(path, &error.into()))?;
    if system.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(NoStore(format!("nothing may be executed from the file system of '{text}'")));
    }
    // As ld.so takes LD_PRELOAD apart; and its `$ORIGIN` and the like would be taken for something else.
    if path.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b' ' | b':' | b'$' | b'\n' | b'\t')) {
        return Err(NoStore(format!(
            "the loader cannot be told of '{text}': it has a blank, a colon or a dollar sign"
        )));
    }
    Ok(())
}

fn no_store(path: &Path, error: &io::Error) -> NoStore {
    NoStore(format!("'{}': {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_of_other_boots_are_told_from_those_of_others() {
        let place = Place::of(Path::new("/c"), &Root::default(), "1").unwrap();
        assert!(!place.is_earlier(&place.name));
        let other: String = place.boot.chars().map(|digit| if digit == '-' { digit } else { '0' }).collect();
        assert!(place.is_earlier(&place.name.replace(&place.boot, &other)));
        assert!(!place.is_earlier(&place.name.replace(&place.boot, &other).replace(&place.host, "x")), "another host");
        let earlier = place.name.replace(&place.boot, &other);
        let other_user = earlier.replace(&format!("-u{}-", rustix::process::geteuid()), "-u54321-");
        let boot_path = earlier.replace(&other, "00000000-0000-0000-0000-00000000../x");
        for strange in [
            "",
            "x",
            "data",
            &"ä".repeat(40),
            &format!("{earlier}x"),
            &earlier[..earlier.len() - 1],
            &other_user,
            &boot_path,
        ] {
            assert!(!place.is_earlier(strange), "{strange}");
        }
        assert_ne!(place.name, Place::of(Path::new("/c"), &Root::default(), "2").unwrap().name, "another build");
    }

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }
}
