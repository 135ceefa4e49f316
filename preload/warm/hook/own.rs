//! The program's own file: `/proc/self/exe` is the snapshot, where a program runs from one.

use core::ffi::{CStr, c_char, c_ulong};

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

/// The path to be used instead of this one: the program's own, if the program runs from a snapshot and this leads to it by
/// way of `/proc`.
pub(crate) fn instead(path: &CStr) -> Option<&'static CStr> {
    let rest = path.to_bytes().strip_prefix(b"/proc/")?;
    own(rest)
}

#[inline(never)]
fn own(rest: &[u8]) -> Option<&'static CStr> {
    (is_own(rest) && is_from_snapshot()).then(program)?
}

fn is_own(rest: &[u8]) -> bool {
    match rest.strip_suffix(b"/exe") {
        Some(b"self" | b"thread-self") => true,
        Some(number) => decimal(number) == Some(calls::getpid()),
        None => false,
    }
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
    let Ok(length) = calls::readlink(c"/proc/self/exe", &mut found) else { return false };
    let folder = store::find().and_then(|hook| {
        let hook = hook.to_bytes();
        hook.get(..hook.iter().rposition(|&letter| letter == b'/')?)
    });
    let found = found.get(..length).zip(folder).and_then(|(found, folder)| found.strip_prefix(folder));
    found.is_some_and(|rest| rest.starts_with(b"/snapshots/"))
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
