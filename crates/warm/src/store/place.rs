//! The directory of a store: its name, who may access it, and how much disk space it may use.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use steady_linux::private::remove_own_tree;
use steady_linux::{Root, host, procfs};
use steady_preload::card::VERSION;

use super::{FOLDER, NoStore, Store, is_ours, make_folder};

/// The directory of the store of this user, boot and build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreDirectory {
    /// The user's directory for caches (XDG Base Directory Specification).
    pub(super) cache: PathBuf,
    /// The name of the store's directory.
    pub(super) name: String,
    /// The boot ID, with which the names of all stores of this boot begin.
    boot: String,
    /// A hash that identifies the host, because hosts may share the directory over a network.
    host: String,
}

/// The path from the directory for caches to the stores.
pub(super) const FOLDERS: [&str; 2] = ["steady", "warm"];

impl StoreDirectory {
    /// Returns the place below `cache` for this build of the program.
    ///
    /// # Errors
    /// The boot ID cannot be read.
    pub fn of(cache: &Path, root: &Root, build: &str) -> Result<Self, NoStore> {
        let boot = host::boot_id(root)
            .map_err(|absent| NoStore(format!("the current boot cannot be identified: {absent}")))?;
        let machine = root.read_line("/etc/machine-id").unwrap_or_default();
        let name = procfs::hostname(root).unwrap_or_default();
        let host = format!("{:08x}", hash(&[machine.as_bytes(), name.as_bytes()]) as u32);
        // Libraries choose functions by the features of the CPU, so a snapshot is for one kind of CPU.
        let cpu = root.read("/proc/cpuinfo").unwrap_or_default();
        let cpu: String = cpu.lines().filter(|line| ["model", "flags"].iter().any(|of| line.starts_with(of))).collect();
        let parts = [steady_preload::HOOK, steady_preload::STUB, build.as_bytes(), cpu.as_bytes()];
        let user = rustix::process::geteuid().as_raw();
        let name = format!("{boot}-{host}-u{user}-v{VERSION}-{:016x}", hash(&parts));
        Ok(StoreDirectory { cache: cache.to_owned(), name, boot, host })
    }

    /// Returns the store's directory; it may have symbolic links above it.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.stores().join(&self.name)
    }

    fn stores(&self) -> PathBuf {
        FOLDERS.iter().fold(self.cache.clone(), |path, name| path.join(name))
    }

    /// Removes the stores of this host's earlier boots. What cannot be removed stays until the next attempt.
    pub(super) fn remove_earlier_boots(&self) {
        let entries = fs::read_dir(self.stores()).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if self.is_earlier(&name) {
                let _ = remove_own_tree(&entry.path());
            }
        }
    }

    /// Returns whether a name is that of a store of this user and host from another boot:
    /// `BOOT-HOST-uUSER-vVERSION-BUILD`.
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

/// FNV-1a over parts and their lengths. It is used for names only, so collisions with hostile input do not matter.
fn hash(parts: &[&[u8]]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    parts.iter().fold(START, |hash, part| {
        let length = (part.len() as u64).to_le_bytes();
        length.iter().chain(part.iter()).fold(hash, |hash, byte| step(hash, *byte))
    })
}

/// The maximum size of all snapshots, in bytes.
pub const LIMIT: u64 = 2 << 30;
/// One part in this many of a file system is left free.
const LEFT: u64 = 50;

impl Store {
    /// Makes room for `bytes` more: removes the programs with the oldest cards, except `key`. Returns whether there is
    /// room.
    ///
    /// # Errors
    /// An error of the file system.
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

    /// Returns the disk space that all snapshots use, in bytes.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn used(&self) -> io::Result<u64> {
        Ok(self.cards()?.iter().map(|card| self.size(&card.key)).sum())
    }

    /// Returns whether the disk has room for this many bytes and its reserve.
    fn fits(&self, bytes: u64) -> io::Result<bool> {
        let system = rustix::fs::statvfs(self.folder())?;
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        let all = system.f_blocks.saturating_mul(system.f_frsize);
        Ok(bytes.saturating_add(all / LEFT) <= free)
    }
}

const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Creates the directory of a store if it does not exist, and returns its path without symbolic links.
pub(super) fn create(place: &StoreDirectory) -> Result<PathBuf, NoStore> {
    check_text(&place.cache.canonicalize().unwrap_or_else(|_| place.cache.clone()))?;
    // Any program may create the directory for caches, by the specification.
    let cache = DirBuilder::new().recursive(true).mode(FOLDER).create(&place.cache);
    cache.map_err(|error| no_store(&place.cache, &error))?;
    let cache = place.cache.canonicalize().map_err(|error| no_store(&place.cache, &error))?;
    check_trusted(&cache)?;
    let mut path = cache;
    for name in FOLDERS.into_iter().chain([place.name.as_str()]) {
        path.push(name);
        make_folder(&path).map_err(|error| no_store(&path, &error))?;
    }
    check_usable(&path)?;
    Ok(path)
}

/// Checks that the directory of a store can be trusted. Returns `None` if it does not exist.
pub(super) fn check(folder: &Path) -> Result<Option<()>, NoStore> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() && is_ours(&found, FOLDER) => {}
        Ok(_) => return Err(not_private(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(no_store(folder, &error)),
    }
    check_trusted(folder)?;
    check_usable(folder)?;
    Ok(Some(()))
}

/// Checks that only this user and root can replace a directory or one above it.
fn check_trusted(path: &Path) -> Result<(), NoStore> {
    let user = rustix::process::geteuid().as_raw();
    for folder in path.ancestors() {
        let found = fs::symlink_metadata(folder).map_err(|error| no_store(folder, &error))?;
        if let Some(why) = reason_against(&found, user) {
            return Err(NoStore(format!("'{}' {why}, who could put programs there", folder.display())));
        }
    }
    Ok(())
}

/// Returns why a directory above a store cannot be trusted.
fn reason_against(found: &Metadata, user: u32) -> Option<&'static str> {
    let mode = found.permissions().mode();
    if found.uid() != user && found.uid() != 0 {
        Some("belongs to another user")
    } else if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
        // In a sticky directory every user may create files, but replace only own ones.
        Some("can be written by other users")
    } else {
        None
    }
}

/// Checks that the hook and snapshots can be executed from a directory.
fn check_usable(path: &Path) -> Result<(), NoStore> {
    let text = path.display();
    let system = rustix::fs::statvfs(path).map_err(|error| no_store(path, &error.into()))?;
    if system.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(NoStore(format!("the file system of '{text}' is mounted with noexec")));
    }
    check_text(path)
}

/// Checks that LD_PRELOAD can contain a path.
fn check_text(path: &Path) -> Result<(), NoStore> {
    // ld.so splits LD_PRELOAD at blanks and colons, and expands names such as `$ORIGIN`.
    if path.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b' ' | b':' | b'$' | b'\n' | b'\t')) {
        let text = path.display();
        return Err(NoStore(format!("'{text}' cannot be in LD_PRELOAD: it has a blank, a colon or a dollar sign")));
    }
    Ok(())
}

fn not_private(folder: &Path) -> NoStore {
    NoStore(format!("'{}' is not a directory that only this user can access", folder.display()))
}

fn no_store(path: &Path, error: &io::Error) -> NoStore {
    NoStore(format!("'{}': {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_of_other_boots_are_recognised() {
        let place = StoreDirectory::of(Path::new("/c"), &Root::default(), "1").unwrap();
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
        assert_ne!(
            place.name,
            StoreDirectory::of(Path::new("/c"), &Root::default(), "2").unwrap().name,
            "another build"
        );
    }

    #[test]
    fn the_hash_depends_on_where_parts_end() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }
}
