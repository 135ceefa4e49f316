//! Pages of anonymous memory without huge pages, and flushing memory from all caches.

use std::ffi::c_void;
use std::{io, ptr};

/// The step of flushing: no cache that can be flushed has shorter lines.
const LINE_BYTES: usize = 64;

/// An anonymous mapping of untouched pages, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Map {
    start: *mut u8,
    pages: usize,
    page: usize,
}

impl Map {
    /// Maps `pages` pages of `page` bytes with mmap(2), and disables huge pages with madvise(2).
    pub(crate) fn new(pages: usize, page: usize) -> io::Result<Self> {
        let map = Self::with(pages, page, libc::PROT_READ | libc::PROT_WRITE)?;
        // SAFETY: the range is exactly that of the new mapping.
        match unsafe { libc::madvise(map.start.cast(), pages * page, libc::MADV_NOHUGEPAGE) } {
            0 => Ok(map),
            // A kernel without huge pages does not know the advice, and does not need it.
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) => Ok(map),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn with(pages: usize, page: usize, access: libc::c_int) -> io::Result<Self> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: the kernel chooses an unused address range.
        let start = unsafe { libc::mmap(ptr::null_mut(), pages * page, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Map { start: start.cast(), pages, page })
    }

    /// Writes to a page, counted from zero.
    #[inline(always)]
    pub(crate) fn touch(&mut self, page: usize) {
        assert!(page < self.pages, "the map has no such page");
        // SAFETY: the address is within the mapping, which is writable and which no other code uses.
        unsafe { self.start.add(page * self.page).write_volatile(1) };
    }

    /// Flushes the whole mapping from all caches.
    pub(crate) fn flush(&self) {
        let words = self.pages * self.page / size_of::<usize>();
        // SAFETY: the mapping has this length, is aligned to a page, and contains only zeros and the bytes that `touch`
        // wrote. Nothing writes to it while `self` is borrowed.
        let words = unsafe { std::slice::from_raw_parts(self.start.cast::<usize>(), words) };
        flush(words.iter().step_by(LINE_BYTES / size_of::<usize>()));
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the range is exactly that of the mapping, and no pointer into it is used any more.
        unsafe { libc::munmap(self.start.cast::<c_void>(), self.pages * self.page) };
    }
}

/// A page between two inaccessible pages. It is a memory area of its own in the kernel, whatever its protection.
#[derive(Debug)]
pub(crate) struct Guarded {
    map: Map,
    writable: bool,
}

impl Guarded {
    /// Maps an untouched page of `page` bytes that is read-only.
    pub(crate) fn new(page: usize) -> io::Result<Self> {
        let mut guarded = Guarded { map: Map::with(3, page, libc::PROT_NONE)?, writable: true };
        if guarded.protect() < 0 { Err(io::Error::last_os_error()) } else { Ok(guarded) }
    }

    /// Switches between writable and read-only with mprotect(2). Returns the result of the call.
    #[inline(always)]
    pub(crate) fn protect(&mut self) -> libc::c_long {
        self.writable = !self.writable;
        let access = if self.writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: the range is the middle page of the mapping, to which no reference exists.
        unsafe { libc::syscall(libc::SYS_mprotect, self.map.start.add(self.map.page), self.map.page, access) }
    }
}

/// Whether [`flush`] is implemented for the target architecture.
pub(crate) const CAN_FLUSH: bool = cfg!(target_arch = "x86_64");

/// Flushes the cache lines of these words from all caches of all levels, and waits for completion.
///
/// Source: CLFLUSH in the "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2: ordered by MFENCE.
#[cfg(target_arch = "x86_64")]
pub(crate) fn flush<'a>(words: impl Iterator<Item = &'a usize>) {
    use std::arch::x86_64::{_mm_clflush, _mm_mfence};
    for word in words {
        // SAFETY: SSE2 is part of x86-64, and the address is that of a reference. The content of memory does not
        // change.
        unsafe { _mm_clflush(std::ptr::from_ref(word).cast()) };
    }
    // SAFETY: SSE2 is part of x86-64, and a fence only orders memory accesses.
    unsafe { _mm_mfence() };
}

/// Does nothing on this architecture; see [`CAN_FLUSH`].
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn flush<'a>(_: impl Iterator<Item = &'a usize>) {}
