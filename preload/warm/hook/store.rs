//! The store: where the hook itself lies.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::buffer::PathBuffer;
use super::calls::{self, Descriptor, ENOENT};
use super::card::LONGEST_CARD;
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
pub(crate) struct Store {
    pub(crate) hook: &'static [u8],
    /// Whose it is.
    pub(crate) user: u32,
    path: PathBuffer,
    folder: usize,
}

/// What lies in the store of a file.
pub(crate) enum Lookup<'a> {
    Card(&'a [u8]),
    None,
    /// It makes no sense, or it is not only its user's.
    Broken,
    /// It cannot be opened now, as where there are too many descriptors.
    Unknown,
}

impl Store {
    /// The store, if it belongs to the one user that this process runs as, and nobody else may look into it.
    pub(crate) fn open() -> Option<Self> {
        let hook = find()?.to_bytes();
        let folder = hook.iter().rposition(|&letter| letter == b'/')?;
        let mut store = Store { hook, user: process::user()?, path: PathBuffer::empty(), folder };
        store.path.push(hook.get(..folder)?);
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

    /// Reads the card of a file into memory that it is given, or into memory of its own where it is longer.
    pub(crate) fn card<'a>(&mut self, key: &Key, memory: &'a mut CardMemory) -> Lookup<'a> {
        let Some(path) = self.path(&[b"/cards/", key.as_bytes()]) else { return Lookup::Broken };
        match Descriptor::to_read(path) {
            Ok(file) => memory.read(&file, self.user).map_or(Lookup::Broken, Lookup::Card),
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

/// So much of a card lies on the stack; most are shorter.
const ON_THE_STACK: usize = 3 << 10;

/// Where a card is kept while it is looked at.
pub(crate) struct CardMemory {
    bytes: [u8; ON_THE_STACK],
    mapped: Option<(*const c_void, usize)>,
}

impl CardMemory {
    pub(crate) fn new() -> Self {
        CardMemory { bytes: [0; ON_THE_STACK], mapped: None }
    }

    /// What the file holds, if it is its user's own and nobody else may write it.
    fn read(&mut self, file: &Descriptor, user: u32) -> Option<&[u8]> {
        let stat = file.stat().ok()?;
        let bytes = (stat.bytes as usize > 0 && stat.bytes <= LONGEST_CARD as u64).then_some(stat.bytes as usize)?;
        if !stat.is_file() || stat.uid != user || stat.mode & 0o022 != 0 {
            return None;
        }
        if let Some(place) = self.bytes.get_mut(..bytes) {
            return (file.read(place) == Ok(bytes)).then_some(place);
        }
        let place = calls::memory(bytes).ok()?;
        self.mapped = Some((place.cast_const(), bytes));
        // SAFETY: so much is mapped, and nobody else knows of it.
        let place = unsafe { core::slice::from_raw_parts_mut(place.cast::<u8>(), bytes) };
        (file.read(place) == Ok(bytes)).then_some(place)
    }
}

impl Drop for CardMemory {
    fn drop(&mut self) {
        if let Some((place, bytes)) = self.mapped {
            // SAFETY: what was read from it borrows this, and is gone.
            unsafe { calls::unmap(place, bytes) };
        }
    }
}
