//! What is signed: a file whose workers read their own parts, a stream that they take turns to read, or bytes in memory.

use std::os::fd::BorrowedFd;

use rustix::fs::{Advice, FileType, SeekFrom, Stat, fadvise, fstat, seek};
use rustix::io::{Errno, pread, read};

use super::error::SignError;

/// Bytes to be cut into blocks.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// A file of a known size.
    File { file: BorrowedFd<'a>, size: u64 },
    /// What ends when it ends.
    Stream(BorrowedFd<'a>),
    /// What is there already.
    Memory(&'a [u8]),
}

/// A file as it was when it was looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    kind: FileType,
    pub(super) size: u64,
    modified: (i64, i64),
    /// When contents or attributes changed. Unlike the time above, no program can set it.
    changed: (i64, i64),
}

impl Look {
    pub(super) fn at(file: BorrowedFd<'_>) -> Result<Self, SignError> {
        let stat: Stat = fstat(file).map_err(|error| SignError::Unreadable { offset: 0, error: error.into() })?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Directory {
            return Err(SignError::Directory);
        }
        let size = if kind == FileType::RegularFile { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 };
        let modified = (stat.st_mtime as i64, stat.st_mtime_nsec as i64);
        Ok(Look { kind, size, modified, changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64) })
    }

    /// Whether workers may read parts of it by their places. Files of the kernel's say that they are empty and are not.
    pub(super) fn has_places(&self) -> bool {
        self.kind == FileType::RegularFile && self.size > 0
    }

    /// What has happened to the file meanwhile, of which `read` bytes were read.
    pub(super) fn compare(&self, now: &Look, read: u64) -> Result<(), SignError> {
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

/// Tells the kernel that all of it will be read, from the start to the end. Where it does not care, nothing is lost.
pub(super) fn announce(file: BorrowedFd<'_>) {
    let _ = fadvise(file, 0, None, Advice::Sequential);
}

/// Whether nothing of the file was read through this descriptor, or one that shares its place.
pub(super) fn stands_at_start(file: BorrowedFd<'_>) -> bool {
    seek(file, SeekFrom::Current(0)) == Ok(0)
}

/// Leaves the file where its reader would have left it who reads it in order: others may share the place.
pub(super) fn stand_at(file: BorrowedFd<'_>, place: u64) {
    // It could be moved before.
    let _ = seek(file, SeekFrom::Start(place));
}

/// Reads at `offset` until `buffer` is full or there is no more; how much there was. Where reading fails, how far it went.
pub(super) fn read_at(file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> Result<usize, (u64, Errno)> {
    fill(buffer, offset, |rest, at| pread(file, rest, at))
}

/// The same of what comes next in a stream, `offset` bytes of which came before.
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

/// Whether the `length` bytes from `offset` on are a hole in the file: all zero, and nowhere stored. Where the file system does
/// not tell, they are not.
pub(super) fn is_hole(file: BorrowedFd<'_>, offset: u64, length: u64) -> bool {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => data >= offset + length,
        // Nothing is stored behind: the file goes on, or has been cut meanwhile, which its size tells in the end.
        Err(error) => error == Errno::NXIO,
    }
}

/// The state that the generator begins with.
const SEED: u64 = 88_172_645_463_325_252;

/// The first `length` bytes of a generator (xorshift with 13, 7 and 17: Marsaglia, Xorshift RNGs, 2003), each of its numbers
/// from the least byte to the greatest.
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
