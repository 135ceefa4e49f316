//! Giving memory back.

use rustix::mm::{Advice, madvise};

/// Drops `length` bytes of pages at `start` from this process (madvise(2), `MADV_DONTNEED`); what is used again is read
/// from its file again.
///
/// The caller vouches, having read it in proc_pid_smaps(5), that all of it is one mapping of a file, not writable and
/// without dirty pages. Errors leave the pages where they are.
pub(crate) fn drop_clean_file_pages(start: usize, length: usize) {
    // SAFETY: pages of a file that were never written to hold what the file holds, so reading them again gives the
    // same bytes; nobody can write to them meanwhile, for the mapping is not writable.
    let _ = unsafe { madvise(std::ptr::with_exposed_provenance_mut(start), length, Advice::LinuxDontNeed) };
}
