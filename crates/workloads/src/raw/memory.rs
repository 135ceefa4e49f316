//! Pages of anonymous memory, in small pages only, and memory flushed from all caches.

use std::ffi::c_void;
use std::{io, ptr};

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

/// Whether [`flush`] can be had on the kind of CPU that this is built for.
pub(crate) const CAN_FLUSH: bool = cfg!(target_arch = "x86_64");

/// Puts the cache lines that hold these words out of all levels of all caches, and waits until they are.
///
/// Source: CLFLUSH in the "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2: ordered by MFENCE.
#[cfg(target_arch = "x86_64")]
pub(crate) fn flush<'a>(words: impl Iterator<Item = &'a usize>) {
    use std::arch::x86_64::{_mm_clflush, _mm_mfence};
    for word in words {
        // SAFETY: SSE2 is part of x86-64, and the address is that of a reference. What memory holds does not change.
        unsafe { _mm_clflush(std::ptr::from_ref(word).cast()) };
    }
    // SAFETY: SSE2 is part of x86-64; a fence has no other effect.
    unsafe { _mm_mfence() };
}

/// Does nothing here: see [`CAN_FLUSH`].
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn flush<'a>(_: impl Iterator<Item = &'a usize>) {}
