//! Checks pointers of the caller. execve(2) fails with EFAULT for invalid pointers, and the hook must not change that.
//! Before it reads a page, it finds out by a system call whether the page is readable.

use core::ffi::{CStr, c_char};

use super::calls;
use super::target::Strings;

const PAGE: usize = 4096;

/// Reads memory that may not be mapped, with one system call per page.
pub(crate) struct Prober {
    /// A readable page; 0 for none.
    page: usize,
}

impl Prober {
    pub(crate) fn new() -> Self {
        Prober { page: 0 }
    }

    fn can_read(&mut self, address: usize) -> bool {
        let page = address & !(PAGE - 1);
        if page == 0 || (page != self.page && !calls::can_read(page)) {
            return false;
        }
        self.page = page;
        true
    }

    /// Returns the string at this address; none if the pointer is null or part of the string is not readable.
    pub(crate) fn text<'a>(&mut self, text: *const c_char) -> Option<&'a CStr> {
        let mut length = 0;
        loop {
            let position = text.wrapping_add(length);
            if !self.can_read(position.addr()) {
                return None;
            }
            for letter in 0..PAGE - position.addr() % PAGE {
                // SAFETY: this page is readable.
                if unsafe { position.add(letter).read() } == 0 {
                    // SAFETY: all bytes up to this NUL are readable. Callers do not change them during the call.
                    return Some(unsafe { CStr::from_ptr(text) });
                }
            }
            length += PAGE - position.addr() % PAGE;
        }
    }

    /// Returns the entry of a vector at this address; none if it is not readable.
    fn entry(&mut self, position: Strings) -> Option<*const c_char> {
        let last = position.addr().wrapping_add(size_of::<*const c_char>() - 1);
        // SAFETY: its first and its last byte are readable.
        (self.can_read(position.addr()) && self.can_read(last)).then(|| unsafe { position.read_unaligned() })
    }
}

/// Returns whether a vector is readable up to its null pointer.
pub(crate) fn is_vector(vector: Strings) -> bool {
    all_entries(vector, |_| true)
}

/// Returns whether a vector and all its strings are readable. It may be null, as an environment may.
pub(crate) fn is_vector_of_strings(vector: Strings) -> bool {
    let mut strings = Prober::new();
    vector.is_null() || all_entries(vector, |entry| strings.text(entry).is_some())
}

fn all_entries(vector: Strings, mut holds: impl FnMut(*const c_char) -> bool) -> bool {
    let mut vectors = Prober::new();
    let mut position = vector;
    loop {
        match vectors.entry(position) {
            None => return false,
            Some(entry) if entry.is_null() => return true,
            Some(entry) if !holds(entry) => return false,
            Some(_) => position = position.wrapping_add(1),
        }
    }
}
