//! Pages of anonymous memory, in small pages only.

use std::ffi::c_void;
use std::io;
use std::ptr;

use super::flush::flush;

/// No cache that can be flushed has shorter lines.
const LINE_BYTES: usize = 64;

/// Pages that nobody has touched yet; given back when dropped.
#[derive(Debug)]
pub(crate) struct Map {
    start: *mut u8,
    pages: usize,
    page: usize,
}

impl Map {
    /// So many pages of `page` bytes: mmap(2), and madvise(2) so that the kernel puts no large pages there.
    pub(crate) fn new(pages: usize, page: usize) -> io::Result<Self> {
        let map = Self::with(pages, page, libc::PROT_READ | libc::PROT_WRITE)?;
        // SAFETY: the range is the mapping's own.
        match unsafe { libc::madvise(map.start.cast(), pages * page, libc::MADV_NOHUGEPAGE) } {
            0 => Ok(map),
            // A kernel without large pages does not know the word, and needs none.
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) => Ok(map),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn with(pages: usize, page: usize, access: libc::c_int) -> io::Result<Self> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: the kernel picks a place where nothing is.
        let start = unsafe { libc::mmap(ptr::null_mut(), pages * page, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Map { start: start.cast(), pages, page })
    }

    /// Writes to the page with this number, counted from zero.
    #[inline(always)]
    pub(crate) fn touch(&mut self, page: usize) {
        assert!(page < self.pages, "no page of this map");
        // SAFETY: it is within the map, which may be written to and belongs to nobody else.
        unsafe { self.start.add(page * self.page).write_volatile(1) };
    }

    /// Puts all of it out of all caches.
    pub(crate) fn flush(&self) {
        let words = self.pages * self.page / size_of::<usize>();
        // SAFETY: the map is as long, aligned to a page, and holds nothing but zeros and what `touch` wrote; while the words
        // are borrowed nobody writes to it.
        let words = unsafe { std::slice::from_raw_parts(self.start.cast::<usize>(), words) };
        flush(words.iter().step_by(LINE_BYTES / size_of::<usize>()));
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping's own, and nobody has a pointer into it any more.
        unsafe { libc::munmap(self.start.cast::<c_void>(), self.pages * self.page) };
    }
}

/// A page between two others that may not be touched, so that it is an area of its own, whatever may be done with it.
#[derive(Debug)]
pub(crate) struct Guarded {
    map: Map,
    writable: bool,
}

impl Guarded {
    /// A page of `page` bytes that may be read only, and was never touched.
    pub(crate) fn new(page: usize) -> io::Result<Self> {
        let mut guarded = Guarded { map: Map::with(3, page, libc::PROT_NONE)?, writable: true };
        if guarded.protect() < 0 { Err(io::Error::last_os_error()) } else { Ok(guarded) }
    }

    /// mprotect(2): lets it be written to, or only be read, the other of what was before; what the call returns.
    #[inline(always)]
    pub(crate) fn protect(&mut self) -> libc::c_long {
        self.writable = !self.writable;
        let access = if self.writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: it is the page in the middle of the map, of which nobody holds a reference.
        unsafe { libc::syscall(libc::SYS_mprotect, self.map.start.add(self.map.page), self.map.page, access) }
    }
}
