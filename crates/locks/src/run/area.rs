//! The shared memory area that the watchers write to: creates it, and reads it at any time. A *place* is the part of
//! the area that belongs to one process.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use rustix::process::{Resource, getrlimit};
use steady_preload::area::{HEAD_BYTES, Head, MAGIC, PLACE_BYTES, ProcessPlace};

/// Maximum number of watched processes. A place uses memory only where its process writes.
const PLACES: u64 = 4_096;

/// Bytes that can be read at any offset; beyond the end and in holes, they are zero.
pub trait Bytes {
    /// Fills `into` with the bytes from offset `at` on.
    fn fill(&self, at: u64, into: &mut [u8]);

    /// Returns the first offset in `range` from which bytes may be non-zero, or the end of the range if all are zero.
    fn first_in(&self, range: Range<u64>) -> u64 {
        range.start
    }

    /// Returns the number of bytes.
    fn length(&self) -> u64;
}

impl Bytes for [u8] {
    fn fill(&self, at: u64, into: &mut [u8]) {
        into.fill(0);
        let Some(rest) = usize::try_from(at).ok().and_then(|at| self.get(at..)) else { return };
        let length = rest.len().min(into.len());
        into[..length].copy_from_slice(&rest[..length]);
    }

    fn length(&self) -> u64 {
        self.len() as u64
    }
}

/// The area of a command: a file in memory (memfd_create(2)).
#[derive(Debug)]
pub(super) struct Area {
    file: File,
    length: u64,
}

impl Area {
    /// Creates an empty area with as many places as the limits allow.
    ///
    /// # Errors
    /// The memory cannot be allocated, or the limit on the size of files is below one place.
    pub(super) fn create() -> io::Result<Self> {
        let file = File::from(memfd_create("steady-locks", MemfdFlags::CLOEXEC)?);
        let places = places_within(getrlimit(Resource::Fsize).current);
        if places == 0 {
            return Err(io::Error::other(
                "the limit on the size of files is too low to watch a process; raise it (ulimit -f)",
            ));
        }
        let length = HEAD_BYTES as u64 + places * PLACE_BYTES as u64;
        file.set_len(length)?;
        file.write_all_at(&(places as u32).to_ne_bytes(), offset_of!(Head, places) as u64)?;
        file.write_all_at(&MAGIC.to_ne_bytes(), offset_of!(Head, magic) as u64)?;
        Ok(Area { file, length })
    }

    /// Returns the path by which a process of the command opens the area.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }
}

/// Returns how many places fit into a file of at most `limit` bytes. A longer file would end this process with SIGXFSZ.
fn places_within(limit: Option<u64>) -> u64 {
    let room = limit.unwrap_or(u64::MAX).saturating_sub(HEAD_BYTES as u64);
    (room / PLACE_BYTES as u64).min(PLACES)
}

impl Bytes for Area {
    fn fill(&self, at: u64, into: &mut [u8]) {
        into.fill(0);
        // Reads of memory fail only beyond the end of the file, where bytes are zero.
        let _ = self.file.read_exact_at(into, at);
    }

    fn first_in(&self, range: Range<u64>) -> u64 {
        let found = seek(&self.file, SeekFrom::Data(range.start));
        // lseek(2) fails with ENXIO if no data follows.
        found.unwrap_or(range.end).clamp(range.start, range.end)
    }

    fn length(&self) -> u64 {
        self.length
    }
}

/// Returns the offset of a place in the area.
pub(super) const fn place_at(place: u32) -> u64 {
    HEAD_BYTES as u64 + place as u64 * PLACE_BYTES as u64
}

/// Returns the number of places that can be read, and the number that processes requested.
pub(super) fn places(bytes: &(impl Bytes + ?Sized)) -> (u32, u32) {
    let head = Entry::read::<Head>(bytes, 0);
    if head.u64(offset_of!(Head, magic)) != MAGIC {
        return (0, 0);
    }
    let fit = bytes.length().saturating_sub(HEAD_BYTES as u64) / PLACE_BYTES as u64;
    let (created, requested) = (head.u32(offset_of!(Head, places)), head.u32(offset_of!(Head, taken)));
    (requested.min(created).min(u32::try_from(fit).unwrap_or(u32::MAX)), requested)
}

/// Returns the number of processes that could not map their place.
pub(super) fn unmapped(bytes: &(impl Bytes + ?Sized)) -> u32 {
    Entry::read::<Head>(bytes, 0).u32(offset_of!(Head, unmapped))
}

/// The bytes of one entry of a table.
pub(super) struct Entry<'a>(std::borrow::Cow<'a, [u8]>);

impl<'a> Entry<'a> {
    /// Reads the entry at an offset, with the length of a `T`.
    pub(super) fn read<T>(bytes: &(impl Bytes + ?Sized), at: u64) -> Entry<'static> {
        let mut read = vec![0; size_of::<T>()];
        bytes.fill(at, &mut read);
        Entry(read.into())
    }

    pub(super) fn u32(&self, at: usize) -> u32 {
        self.0.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
    }

    pub(super) fn u64(&self, at: usize) -> u64 {
        self.0.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
    }

    pub(super) fn text(&self, at: usize, length: u64, most: usize) -> Option<String> {
        let length = usize::try_from(length).ok()?.min(most);
        let bytes = self.0.get(at..at + length)?;
        (length > 0).then(|| String::from_utf8_lossy(bytes).into_owned())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Makes an entry of bytes that were already read.
    pub(super) fn within(bytes: &'a [u8]) -> Entry<'a> {
        Entry(bytes.into())
    }
}

/// Number of bytes of a table that are read in one call.
const CHUNK: usize = 1 << 16;

/// Calls `visit` with the number and the bytes of each of the first `entries` entries of a table. Skips chunks that
/// were never written to.
pub(super) fn each<T>(
    bytes: &(impl Bytes + ?Sized),
    place: u32,
    table: usize,
    entries: usize,
    mut visit: impl FnMut(u32, &Entry<'_>),
) {
    let size = size_of::<T>();
    let per_chunk = (CHUNK / size).max(1);
    let start = place_at(place) + table as u64;
    let end = start + (entries * size) as u64;
    let mut buffer = vec![0; per_chunk * size];
    let mut next = 0;
    while next < entries {
        let first = bytes.first_in(start + (next * size) as u64..end);
        next = ((first - start) / size as u64) as usize;
        let many = per_chunk.min(entries.saturating_sub(next));
        bytes.fill(start + (next * size) as u64, &mut buffer[..many * size]);
        for (index, entry) in buffer[..many * size].chunks_exact(size).enumerate() {
            visit((next + index) as u32, &Entry::within(entry));
        }
        next += many.max(1);
    }
}

/// Offsets of the tables within a place.
pub(super) mod tables {
    use super::{ProcessPlace, offset_of};

    pub(in crate::run) const PROCESS: usize = offset_of!(ProcessPlace, process);
    pub(in crate::run) const LOCKS: usize = offset_of!(ProcessPlace, locks);
    pub(in crate::run) const WAITS: usize = offset_of!(ProcessPlace, waits);
    pub(in crate::run) const HOLDS: usize = offset_of!(ProcessPlace, holds);
    pub(in crate::run) const THREADS: usize = offset_of!(ProcessPlace, threads);
    pub(in crate::run) const PAIRS: usize = offset_of!(ProcessPlace, pairs);
    pub(in crate::run) const ACCOUNTS: usize = offset_of!(ProcessPlace, accounts);
    pub(in crate::run) const USES: usize = offset_of!(ProcessPlace, uses);
    pub(in crate::run) const SITES: usize = offset_of!(ProcessPlace, sites);
    pub(in crate::run) const MODULES: usize = offset_of!(ProcessPlace, modules);
}

#[cfg(test)]
mod tests {
    use steady_preload::area::Pair;

    use super::*;

    #[test]
    fn the_area_has_as_many_places_as_the_limit_on_file_sizes_allows() {
        assert_eq!(places_within(None), PLACES);
        assert_eq!(places_within(Some(0)), 0);
        assert_eq!(places_within(Some(place_at(3))), 3);
        assert_eq!(places_within(Some(place_at(3) - 1)), 2);
    }

    #[test]
    fn written_bytes_are_read_back_and_others_are_zero() {
        let area = Area::create().unwrap();
        assert_eq!(places(&area), (0, 0), "no process has requested a place");
        area.file.write_all_at(&2_u32.to_ne_bytes(), offset_of!(Head, taken) as u64).unwrap();
        assert_eq!(places(&area), (2, 2));
        let other = File::options().read(true).write(true).open(area.path()).unwrap();
        other.write_all_at(&[7; 8], place_at(1) + (tables::PAIRS + 60_000 * size_of::<Pair>()) as u64).unwrap();
        let mut seen = vec![];
        each::<Pair>(&area, 1, tables::PAIRS, 65_536, |number, pair| {
            if pair.u64(0) != 0 {
                seen.push(number);
            }
        });
        assert_eq!(seen, [60_000]);
        let mut few = [1; 4];
        area.fill(u64::MAX / 2, &mut few);
        assert_eq!(few, [0; 4]);
    }
}
