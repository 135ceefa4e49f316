//! The files of programs that run from snapshots: `/proc/PID/exe` is the snapshot.

use core::ffi::{CStr, c_char, c_int, c_ulong};

use super::buffer::{ShortText, of_descriptor};
use super::calls::AT_FDCWD;
use super::card::Card;
use super::scratch::{Mapped, Memory, Scratch};
use super::store::{Lookup, Store};
use super::{calls, store};

const AT_SECURE: c_ulong = 23;
const AT_EXECFN: c_ulong = 31;

#[link(name = "c")]
unsafe extern "C" {
    fn getauxval(kind: c_ulong) -> c_ulong;
}

/// Whether the kernel calls the program a secure one.
pub(crate) fn is_secure() -> bool {
    // SAFETY: takes a number.
    unsafe { getauxval(AT_SECURE) != 0 }
}

/// A program's file, in place of its snapshot.
pub(crate) enum File {
    /// The program's own.
    Own(&'static CStr),
    /// Another program's.
    Other(Mapped),
}

impl File {
    pub(crate) fn path(&mut self) -> Option<&CStr> {
        match self {
            File::Own(path) => Some(path),
            File::Other(mapped) => mapped.get().found.path(),
        }
    }
}

/// The program's own file, if the program runs from a snapshot and this path leads to it by way of `/proc`.
pub(crate) fn instead(path: &CStr) -> Option<&'static CStr> {
    if is_own(process_of(path)?) { own() } else { None }
}

/// The same of a path relative to a folder, or the file of another program that runs from a snapshot of this store.
pub(crate) fn instead_of_any(folder: c_int, path: &CStr) -> Option<File> {
    if path == c"exe" && folder >= 0 {
        return in_folder(folder);
    }
    let process = process_of(path)?;
    if is_own(process) {
        return own().map(File::Own);
    }
    decimal(process).and_then(|_| other(path)).map(File::Other)
}

/// The same of `exe` in a folder, which may be that of a process.
#[inline(never)]
fn in_folder(folder: c_int) -> Option<File> {
    let mut path = ShortText::empty();
    if !path.fill(|place| calls::readlink(of_descriptor(folder).path().unwrap_or(c""), place)) {
        return None;
    }
    instead_of_any(AT_FDCWD, path.push(b"/exe").path()?)
}

/// The process whose program the path names in `/proc`.
fn process_of(path: &CStr) -> Option<&[u8]> {
    path.to_bytes().strip_prefix(b"/proc/")?.strip_suffix(b"/exe")
}

fn is_own(process: &[u8]) -> bool {
    matches!(process, b"self" | b"thread-self") || decimal(process) == Some(calls::getpid())
}

#[inline(never)]
fn own() -> Option<&'static CStr> {
    is_from_snapshot().then(program)?
}

/// The program of the snapshot that the path leads to, as the card of the snapshot names it.
#[inline(never)]
fn other(path: &CStr) -> Option<Mapped> {
    let mut mapped = Mapped::new()?;
    let Scratch { memory, found, .. } = mapped.get();
    let Memory { store, card, link, .. } = memory;
    if !link.fill(|place| calls::readlink(path, place)) {
        return None;
    }
    let key = key_of_snapshot(link.bytes())?;
    let mut store = Store::open(store)?;
    let Lookup::Card(length) = store.card(key, card) else { return None };
    let Card::Warm(warm) = Card::parse(card.get(..length)?)? else { return None };
    found.push(warm.program.to_bytes()).path()?;
    Some(mapped)
}

/// The key of the program whose snapshot this is the path of.
fn key_of_snapshot(path: &[u8]) -> Option<&[u8]> {
    let hook = store::find()?.to_bytes();
    let folder = hook.get(..hook.iter().rposition(|&letter| letter == b'/')?)?;
    path.strip_prefix(folder)?.strip_prefix(b"/snapshots/")?.split(|&letter| letter == b'/').next()
}

fn decimal(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Whether what the kernel calls the program lies among the snapshots of the hook's own store.
fn is_from_snapshot() -> bool {
    let mut found = [0; 512];
    let length = calls::readlink(c"/proc/self/exe", &mut found);
    length.ok().and_then(|length| found.get(..length)).and_then(key_of_snapshot).is_some()
}

/// The last part of the path that the program was executed by.
pub(crate) fn name() -> Option<&'static [u8]> {
    program().and_then(|path| path.to_bytes().rsplit(|&letter| letter == b'/').next())
}

/// The program's path, which a snapshot holds in place of what it was executed by.
fn program() -> Option<&'static CStr> {
    // SAFETY: takes a number.
    let path = unsafe { getauxval(AT_EXECFN) };
    let path: *const c_char = core::ptr::with_exposed_provenance(path as usize);
    // SAFETY: where it is not null it is a text that lasts as long as the program.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}
