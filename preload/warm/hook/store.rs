//! The store: where the hook itself lies.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::buffer::PathBuffer;
use super::calls::{self, Descriptor, ENOENT};
use super::identity::Key;
use super::process;

/// The path of the hook as ld.so has it; once found, it stays.
static HOOK: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// As dladdr(3) fills it.
#[repr(C)]
struct Found {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

#[link(name = "c")]
unsafe extern "C" {
    fn dladdr(address: *const c_void, found: *mut Found) -> c_int;
}

/// The path of the hook: absolute, for so it was preloaded; none otherwise.
pub(crate) fn find() -> Option<&'static CStr> {
    let mut path = HOOK.load(Ordering::Relaxed);
    if path.is_null() {
        let mut found =
            Found { file: ptr::null(), base: ptr::null_mut(), symbol: ptr::null(), address: ptr::null_mut() };
        // SAFETY: the address lies in this library, and the struct is dladdr's.
        if unsafe { dladdr((&raw const HOOK).cast(), &raw mut found) } == 0 || found.file.is_null() {
            return None;
        }
        path = found.file.cast_mut();
        HOOK.store(path, Ordering::Relaxed);
    }
    // SAFETY: ld.so keeps the path as long as the library is loaded, which nobody unloads: it was preloaded.
    Some(unsafe { CStr::from_ptr(path) }).filter(|path| path.to_bytes().starts_with(b"/"))
}

/// A store that can be trusted, and room to put paths in it together.
pub(crate) struct Store<'m> {
    pub(crate) hook: &'static [u8],
    /// Whose it is.
    pub(crate) user: u32,
    path: &'m mut PathBuffer,
    folder: usize,
}

/// What lies in the store of a file.
pub(crate) enum Lookup {
    /// A card, this long.
    Card(usize),
    None,
    /// It makes no sense, or it is not only its user's.
    Broken,
    /// It cannot be opened now, as where there are too many descriptors.
    Unknown,
}

impl<'m> Store<'m> {
    /// The store, if it belongs to the one user that this process runs as, and nobody else may look into it.
    #[inline(never)]
    pub(crate) fn open(path: &'m mut PathBuffer) -> Option<Self> {
        let hook = find()?.to_bytes();
        let folder = hook.iter().rposition(|&letter| letter == b'/')?;
        let store = Store { hook, user: process::user()?, path, folder };
        store.path.clear().push(hook.get(..folder)?);
        let stat = calls::stat(store.path.path()?).ok()?;
        (stat.is_folder() && stat.uid == store.user && stat.mode & 0o077 == 0).then_some(store)
    }

    /// The path in the store that these parts make.
    pub(crate) fn path(&mut self, parts: &[&[u8]]) -> Option<&CStr> {
        self.path.clear().push(self.hook.get(..self.folder)?);
        for part in parts {
            self.path.push(part);
        }
        self.path.path()
    }

    /// Reads the card of a file into memory that it is given.
    pub(crate) fn card(&mut self, key: &[u8], memory: &mut [u8]) -> Lookup {
        let Some(path) = self.path(&[b"/cards/", key]) else { return Lookup::Broken };
        match Descriptor::to_read(path) {
            Ok(file) => read_card(&file, self.user, memory).map_or(Lookup::Broken, Lookup::Card),
            Err(ENOENT) => Lookup::None,
            Err(_) => Lookup::Unknown,
        }
    }

    /// Tells the keeper what should be taken.
    pub(crate) fn wish(&mut self, key: &Key, path: &CStr) {
        if let Some(link) = self.path(&[b"/wanted/", key.as_bytes()]) {
            calls::symlink(path, link);
        }
    }
}

/// Reads the file of a card, and returns its length, if it is its user's own and nobody else may write it.
#[inline(never)]
fn read_card(file: &Descriptor, user: u32, into: &mut [u8]) -> Option<usize> {
    let stat = file.stat().ok()?;
    let bytes = usize::try_from(stat.bytes()).ok().filter(|&bytes| bytes > 0)?;
    if !stat.is_file() || stat.uid != user || stat.mode & 0o022 != 0 {
        return None;
    }
    let place = into.get_mut(..bytes)?;
    (file.read(place) == Ok(bytes)).then_some(bytes)
}
