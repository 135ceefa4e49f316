//! The files to which `/proc/PID/exe` refers: for a process that runs from a snapshot, the program's file is shown in
//! place of the snapshot.

use core::ffi::{CStr, c_char, c_int, c_ulong};

use super::buffer::{ShortText, descriptor_link};
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

/// Returns whether the process is in secure-execution mode (AT_SECURE).
pub(crate) fn is_secure() -> bool {
    // SAFETY: takes a number.
    unsafe { getauxval(AT_SECURE) != 0 }
}

/// The path of a program whose process runs from a snapshot: `found` of the scratch memory.
pub(crate) struct ProgramFile(Mapped);

impl ProgramFile {
    pub(crate) fn path(&mut self) -> Option<&CStr> {
        self.0.get().found.path()
    }
}

/// Returns the program's path if `path`, relative to `directory`, is the link `exe` in `/proc` of a process that runs
/// from a snapshot of this store.
pub(crate) fn program_of_link(directory: c_int, path: &CStr) -> Option<ProgramFile> {
    if path == c"exe" && directory >= 0 {
        return program_in_directory(directory);
    }
    let process = process_in_link(path)?;
    if is_own_process(process) {
        return own_program();
    }
    decimal(process).and_then(|_| program_of_other(path))
}

/// Like [`program_of_link`], for the path `exe` in `directory`, which may be that of a process.
#[inline(never)]
fn program_in_directory(directory: c_int) -> Option<ProgramFile> {
    let mut path = ShortText::empty();
    if !path.fill(|buffer| calls::readlink(descriptor_link(directory).path().unwrap_or(c""), buffer)) {
        return None;
    }
    program_of_link(AT_FDCWD, path.push(b"/exe").path()?)
}

/// Returns the process directory in a path `/proc/.../exe`.
fn process_in_link(path: &CStr) -> Option<&[u8]> {
    path.to_bytes().strip_prefix(b"/proc/")?.strip_suffix(b"/exe")
}

fn is_own_process(process: &[u8]) -> bool {
    matches!(process, b"self" | b"thread-self") || decimal(process) == Some(calls::getpid())
}

/// Returns the program that the calling process runs from a snapshot. The path by which it was executed is in the
/// directory of the program, but may have another name. The file of the snapshot has the program's name.
#[inline(never)]
fn own_program() -> Option<ProgramFile> {
    let mut mapped = Mapped::new()?;
    let Scratch { memory, found, .. } = mapped.get();
    let link = &mut memory.link;
    if !link.fill(|buffer| calls::readlink(c"/proc/self/exe", buffer)) {
        return None;
    }
    key_of_snapshot(link.bytes())?;
    let snapshot = link.bytes().strip_suffix(b" (deleted)").unwrap_or(link.bytes());
    found.push(split(executed_path()?.to_bytes())[0]).push(split(snapshot)[1]).path()?;
    Some(ProgramFile(mapped))
}

/// Returns the program that another process runs from a snapshot, as the card names it.
#[inline(never)]
fn program_of_other(path: &CStr) -> Option<ProgramFile> {
    let mut mapped = Mapped::new()?;
    let Scratch { memory, found, .. } = mapped.get();
    let Memory { store, card, link, .. } = memory;
    if !link.fill(|buffer| calls::readlink(path, buffer)) {
        return None;
    }
    let key = key_of_snapshot(link.bytes())?;
    let mut store = Store::open(store)?;
    let Lookup::Card(length) = store.card(key, card) else { return None };
    let Card::Warm(warm) = Card::parse(card.get(..length)?)? else { return None };
    found.push(warm.program.to_bytes()).path()?;
    Some(ProgramFile(mapped))
}

/// Returns the key of the program whose snapshot has this path.
fn key_of_snapshot(path: &[u8]) -> Option<&[u8]> {
    let hook = store::hook_path()?.to_bytes();
    let directory = hook.get(..hook.iter().rposition(|&letter| letter == b'/')?)?;
    path.strip_prefix(directory)?.strip_prefix(b"/snapshots/")?.split(|&letter| letter == b'/').next()
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

/// Splits a path into its directory, with the slash, and its last part.
fn split(path: &[u8]) -> [&[u8]; 2] {
    let name = path.rsplit(|&letter| letter == b'/').next().unwrap_or(path);
    [path.strip_suffix(name).unwrap_or(&[]), name]
}

/// Returns the last part of the path by which the program was executed.
pub(crate) fn own_name() -> Option<&'static [u8]> {
    executed_path().map(|path| split(path.to_bytes())[1])
}

/// Returns the path by which the program was executed, from AT_EXECFN. The stub replaces the snapshot's path there.
fn executed_path() -> Option<&'static CStr> {
    // SAFETY: takes a number.
    let path = unsafe { getauxval(AT_EXECFN) };
    let path: *const c_char = core::ptr::with_exposed_provenance(path as usize);
    // SAFETY: if not null, it is a string that lasts as long as the process.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}
