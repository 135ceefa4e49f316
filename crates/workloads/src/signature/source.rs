//! The sources of a signature: a file whose workers read their own parts, a stream that workers read in turns, or bytes
//! in memory.

use std::os::fd::BorrowedFd;

use rustix::fs::{Advice, FileType, SeekFrom, Stat, fadvise, fstat, seek};
use rustix::io::{Errno, pread, read};

use super::error::SignError;

/// The bytes to divide into blocks.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// A regular file of a known size.
    File { file: BorrowedFd<'a>, size: u64 },
    /// A stream whose end is not known in advance.
    Stream(BorrowedFd<'a>),
    /// Bytes that are already in memory.
    Memory(&'a [u8]),
}

/// The type, size and times of a file at one point in time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FileState {
    kind: FileType,
    pub(super) size: u64,
    modified: (i64, i64),
    /// The time of the last status change. Unlike the time of modification, no program can set it.
    changed: (i64, i64),
}

impl FileState {
    pub(super) fn of(file: BorrowedFd<'_>) -> Result<Self, SignError> {
        let stat: Stat = fstat(file).map_err(|error| SignError::Unreadable { offset: 0, error: error.into() })?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Directory {
            return Err(SignError::Directory);
        }
        let size = if kind == FileType::RegularFile { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 };
        let modified = (stat.st_mtime as i64, stat.st_mtime_nsec as i64);
        Ok(FileState { kind, size, modified, changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64) })
    }

    /// Returns whether workers may read parts of it by offset. Many files of the kernel report a size of zero and are
    /// not empty.
    pub(super) fn is_seekable(&self) -> bool {
        self.kind == FileType::RegularFile && self.size > 0
    }

    /// Checks whether the file changed while `read` bytes of it were read.
    pub(super) fn compare(&self, now: &FileState, read: u64) -> Result<(), SignError> {
        if self.kind != FileType::RegularFile || (self.size == 0 && now.size == 0) {
            return Ok(());
        }
        if now.size < self.size {
            return Err(SignError::Shrunk { offset: now.size, size: self.size });
        }
        if now.size > self.size.max(read) || now.size > self.size && self.size > 0 {
            return Err(SignError::Grew { offset: self.size, size: now.size });
        }
        if (now.modified, now.changed) != (self.modified, self.changed) {
            return Err(SignError::Written { size: self.size });
        }
        Ok(())
    }
}

/// Advises the kernel that the whole file will be read sequentially. An error has no consequences.
pub(super) fn advise_sequential(file: BorrowedFd<'_>) {
    let _ = fadvise(file, 0, None, Advice::Sequential);
}

/// Returns whether the offset of the open file description is at the start of the file.
pub(super) fn is_at_start(file: BorrowedFd<'_>) -> bool {
    seek(file, SeekFrom::Current(0)) == Ok(0)
}

/// Sets the offset of the file to where a sequential reader would leave it, because other processes may share the
/// offset.
pub(super) fn set_offset(file: BorrowedFd<'_>, place: u64) {
    // Cannot fail, because the file is seekable.
    let _ = seek(file, SeekFrom::Start(place));
}

/// Reads at `offset` until `buffer` is full or the file ends. Returns the number of bytes read. An error has the offset
/// at which it occurred.
pub(super) fn read_at(file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> Result<usize, (u64, Errno)> {
    fill(buffer, offset, |rest, at| pread(file, rest, at))
}

/// Like [`read_at`], but for the next bytes of a stream, after `offset` bytes were read from it.
pub(super) fn read_next(file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> Result<usize, (u64, Errno)> {
    fill(buffer, offset, |rest, _| read(file, rest))
}

fn fill(
    buffer: &mut [u8],
    offset: u64,
    mut read: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>,
) -> Result<usize, (u64, Errno)> {
    let mut had = 0;
    while had < buffer.len() {
        let at = offset + had as u64;
        match read(&mut buffer[had..], at) {
            Ok(0) => break,
            Ok(more) => had += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err((at, error)),
        }
    }
    Ok(had)
}

/// Returns whether the `length` bytes from `offset` on are a hole in the file: zeros that are not stored. Returns false
/// if the file system does not report holes.
pub(super) fn is_hole(file: BorrowedFd<'_>, offset: u64, length: u64) -> bool {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => data >= offset + length,
        // No data follows: the file ends with a hole, or became shorter, which the final check of its size detects.
        Err(error) => error == Errno::NXIO,
    }
}

/// The initial state of the generator.
const SEED: u64 = 88_172_645_463_325_252;

/// Returns the first `length` bytes of a generator (xorshift with 13, 7 and 17: Marsaglia, Xorshift RNGs, 2003). Its
/// numbers are in little-endian byte order.
pub fn made(length: usize) -> Vec<u8> {
    let mut state = SEED;
    let mut bytes = Vec::with_capacity(length + size_of::<u64>());
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
