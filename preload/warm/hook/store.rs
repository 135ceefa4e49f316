//! The store: the directory of the hook.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::buffer::PathBuffer;
use super::calls::{self, Descriptor, ENOENT};
use super::identity::Key;
use super::process;

/// The path of the hook in ld.so's memory, once it is known.
static HOOK: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// The layout of `Dl_info` of dladdr(3).
#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

#[link(name = "c")]
unsafe extern "C" {
    fn dladdr(address: *const c_void, found: *mut DlInfo) -> c_int;
}

/// Returns the path of the hook; none if it was not preloaded by an absolute path.
pub(crate) fn hook_path() -> Option<&'static CStr> {
    let mut path = HOOK.load(Ordering::Relaxed);
    if path.is_null() {
        let mut found =
            DlInfo { file: ptr::null(), base: ptr::null_mut(), symbol: ptr::null(), address: ptr::null_mut() };
        // SAFETY: the address is in this library, and `found` is valid for writes of a `Dl_info`.
        if unsafe { dladdr((&raw const HOOK).cast(), &raw mut found) } == 0 || found.file.is_null() {
            return None;
        }
        path = found.file.cast_mut();
        HOOK.store(path, Ordering::Relaxed);
    }
    // SAFETY: ld.so keeps the path as long as the library is loaded, and preloaded libraries are never unloaded.
    Some(unsafe { CStr::from_ptr(path) }).filter(|path| path.to_bytes().starts_with(b"/"))
}

/// A trusted store, with a buffer for paths in it.
pub(crate) struct Store<'m> {
    pub(crate) hook: &'static [u8],
    /// The owner's user id.
    pub(crate) user: u32,
    path: &'m mut PathBuffer,
    directory: usize,
}

/// The result of reading a card.
pub(crate) enum Lookup {
    /// A file of this length.
    Card(usize),
    None,
    /// The file is invalid, or other users can write to it.
    Broken,
    /// The file cannot be opened now, for example because of too many open files.
    Unknown,
}

impl<'m> Store<'m> {
    /// Opens the store if it belongs to the user of this process and no other user has any access.
    #[inline(never)]
    pub(crate) fn open(path: &'m mut PathBuffer) -> Option<Self> {
        let hook = hook_path()?.to_bytes();
        let directory = hook.iter().rposition(|&letter| letter == b'/')?;
        let store = Store { hook, user: process::user()?, path, directory };
        store.path.clear().push(hook.get(..directory)?);
        let stat = calls::stat(store.path.path()?).ok()?;
        (stat.is_directory() && stat.uid == store.user && stat.mode & 0o077 == 0).then_some(store)
    }

    /// Joins the parts to a path in the store.
    pub(crate) fn path(&mut self, parts: &[&[u8]]) -> Option<&CStr> {
        self.path.clear().push(self.hook.get(..self.directory)?);
        for part in parts {
            self.path.push(part);
        }
        self.path.path()
    }

    /// Reads a card into `memory`.
    pub(crate) fn card(&mut self, key: &[u8], memory: &mut [u8]) -> Lookup {
        let Some(path) = self.path(&[b"/cards/", key]) else { return Lookup::Broken };
        match Descriptor::open_read(path) {
            Ok(file) => read_card(&file, self.user, memory).map_or(Lookup::Broken, Lookup::Card),
            Err(ENOENT) => Lookup::None,
            Err(_) => Lookup::Unknown,
        }
    }

    /// Asks the keeper for a snapshot of the program at `path`.
    pub(crate) fn request(&mut self, key: &Key, path: &CStr) {
        if let Some(link) = self.path(&[b"/wanted/", key.as_bytes()]) {
            calls::symlink(path, link);
        }
    }
}

/// Reads the file of a card if only its owner can write to it. Returns its length.
#[inline(never)]
fn read_card(file: &Descriptor, user: u32, into: &mut [u8]) -> Option<usize> {
    let stat = file.stat().ok()?;
    let bytes = usize::try_from(stat.bytes()).ok().filter(|&bytes| bytes > 0)?;
    if !stat.is_file() || stat.uid != user || stat.mode & 0o022 != 0 {
        return None;
    }
    let buffer = into.get_mut(..bytes)?;
    (file.read(buffer) == Ok(bytes)).then_some(bytes)
}
