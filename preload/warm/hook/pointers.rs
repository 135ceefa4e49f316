//! Pointers that a caller gave. execve(2) says EFAULT of one that leads nowhere, and so must the program with the hook in it:
//! the kernel is asked whether a page can be read before it is.

use core::ffi::{CStr, c_char};

use super::calls;
use super::start::Texts;

const PAGE: usize = 4096;

/// Reads memory that may not be there. What lies in one page needs one question.
pub(crate) struct Prober {
    /// A page that can be read; 0 for none.
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

    /// The text at this address; none if the pointer is null or not all of the text can be read.
    pub(crate) fn text<'a>(&mut self, text: *const c_char) -> Option<&'a CStr> {
        let mut length = 0;
        loop {
            let place = text.wrapping_add(length);
            if !self.can_read(place.addr()) {
                return None;
            }
            for letter in 0..PAGE - place.addr() % PAGE {
                // SAFETY: this page can be read.
                if unsafe { place.add(letter).read() } == 0 {
                    // SAFETY: all bytes up to this zero can be read. Callers do not change them during the call.
                    return Some(unsafe { CStr::from_ptr(text) });
                }
            }
            length += PAGE - place.addr() % PAGE;
        }
    }

    /// The entry of a vector at this address; none if it cannot be read.
    fn entry(&mut self, place: Texts) -> Option<*const c_char> {
        let last = place.addr().wrapping_add(size_of::<*const c_char>() - 1);
        // SAFETY: its first and its last byte can be read.
        (self.can_read(place.addr()) && self.can_read(last)).then(|| unsafe { place.read_unaligned() })
    }
}

/// Whether a vector of texts can be read up to the null pointer at its end.
pub(crate) fn is_vector(vector: Texts) -> bool {
    all_entries(vector, |_| true)
}

/// The same, and all of its texts. An environment may be null.
pub(crate) fn is_vector_of_texts(vector: Texts) -> bool {
    let mut texts = Prober::new();
    vector.is_null() || all_entries(vector, |entry| texts.text(entry).is_some())
}

fn all_entries(vector: Texts, mut holds: impl FnMut(*const c_char) -> bool) -> bool {
    let mut vectors = Prober::new();
    let mut place = vector;
    loop {
        match vectors.entry(place) {
            None => return false,
            Some(entry) if entry.is_null() => return true,
            Some(entry) if !holds(entry) => return false,
            Some(_) => place = place.wrapping_add(1),
        }
    }
}
