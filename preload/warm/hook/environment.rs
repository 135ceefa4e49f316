//! What an environment says against a snapshot.

use core::ffi::{CStr, c_char};

use super::card::Warm;

/// Names that change how a program is loaded or how its C library sets itself up, and so what was taken.
const TOLD_BY_NAME: [&[u8]; 3] = [b"GLIBC_TUNABLES=", b"LOCPATH=", b"GCONV_PATH="];
/// And beginnings of such names.
const TOLD_BY_BEGINNING: [&[u8]; 2] = [b"LD_", b"MALLOC_"];

/// The entries of an environment that can be read; none where it is null.
pub(crate) fn entries<'a>(environment: *const *const c_char) -> impl Iterator<Item = &'a CStr> {
    let mut place = environment;
    core::iter::from_fn(move || {
        if place.is_null() {
            return None;
        }
        // SAFETY: an environment is a vector of texts with a null pointer at its end, behind which we never go.
        unsafe {
            let entry = *place;
            if entry.is_null() {
                return None;
            }
            place = place.add(1);
            Some(CStr::from_ptr(entry))
        }
    })
}

/// What a variable is set to: the first one of that name.
pub(crate) fn value<'a>(environment: *const *const c_char, name: &[u8]) -> Option<&'a [u8]> {
    entries(environment).find_map(|entry| entry.to_bytes().strip_prefix(name)?.strip_prefix(b"="))
}

/// Whether nothing in the environment speaks against a snapshot: nothing that the loader or the C library would heed but
/// the hook itself, and all that the program's libraries asked for is as it was.
pub(crate) fn fits(environment: *const *const c_char, hook: &[u8], warm: &Warm<'_>) -> bool {
    entries(environment).all(|entry| harmless(entry.to_bytes(), hook))
        && warm
            .conditions()
            .all(|condition| value(environment, condition.name.to_bytes()) == condition.value.map(CStr::to_bytes))
}

fn harmless(entry: &[u8], hook: &[u8]) -> bool {
    // Most entries are told by their first letter.
    if !matches!(entry.first(), Some(b'L' | b'G' | b'M')) {
        return true;
    }
    if let Some(preloaded) = entry.strip_prefix(b"LD_PRELOAD=") {
        return preloaded == hook;
    }
    !TOLD_BY_NAME.iter().chain(&TOLD_BY_BEGINNING).any(|told| entry.starts_with(told))
}
