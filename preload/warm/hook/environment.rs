//! Checks whether an environment allows a snapshot.

use core::ffi::{CStr, c_char};

use super::card::Warm;

/// Variables that change how ld.so loads a program or how its C library initialises itself, and therefore the snapshot.
const AFFECTING_NAMES: [&[u8]; 3] = [b"GLIBC_TUNABLES=", b"LOCPATH=", b"GCONV_PATH="];
/// Prefixes of such variables.
const AFFECTING_PREFIXES: [&[u8]; 2] = [b"LD_", b"MALLOC_"];

/// Returns the entries of an environment; none if it is null.
pub(crate) fn entries<'a>(environment: *const *const c_char) -> impl Iterator<Item = &'a CStr> {
    let mut position = environment;
    core::iter::from_fn(move || {
        if position.is_null() {
            return None;
        }
        // SAFETY: an environment is a null-terminated vector of strings; `position` never passes its end.
        unsafe {
            let entry = *position;
            if entry.is_null() {
                return None;
            }
            position = position.add(1);
            Some(CStr::from_ptr(entry))
        }
    })
}

/// Returns the value of the first variable with this name.
pub(crate) fn value<'a>(environment: *const *const c_char, name: &[u8]) -> Option<&'a [u8]> {
    entries(environment).find_map(|entry| entry.to_bytes().strip_prefix(name)?.strip_prefix(b"="))
}

/// Returns whether the environment allows a snapshot: ld.so and the C library ignore everything in it but the hook, and
/// the variables that the program read have the same values.
pub(crate) fn allows(environment: *const *const c_char, hook: &[u8], warm: &Warm<'_>) -> bool {
    entries(environment).all(|entry| is_harmless(entry.to_bytes(), hook))
        && warm
            .conditions()
            .all(|condition| value(environment, condition.name.to_bytes()) == condition.value.map(CStr::to_bytes))
}

fn is_harmless(entry: &[u8], hook: &[u8]) -> bool {
    // The first letter excludes most entries without comparing names.
    if !matches!(entry.first(), Some(b'L' | b'G' | b'M')) {
        return true;
    }
    if let Some(preloaded) = entry.strip_prefix(b"LD_PRELOAD=") {
        return preloaded == hook;
    }
    !AFFECTING_NAMES.iter().chain(&AFFECTING_PREFIXES).any(|prefix| entry.starts_with(prefix))
}
