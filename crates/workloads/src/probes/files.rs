//! System calls on files in memory or in the page cache, and bytes through a pipe.

use std::ffi::{CStr, CString, c_long};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{self as bytes, Errno};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use steady_model::{Absent, Reading};

use super::alone::{self, Facts, counted, rounds};
use super::{Primitive, refused};
use crate::raw::calls::{self, Record};
use crate::raw::opaque;

/// The size of the file in memory. Each byte is the lowest byte of its offset.
const FILE_BYTES: usize = 1 << 16;

/// Small files that are usually in the page cache. The last one always exists.
const SMALL_FILES: [&CStr; 4] = [c"/etc/passwd", c"/etc/group", c"/etc/hosts", c"/"];

/// Creates a file in memory and fills it. Its offset is then at the end.
fn memory_file() -> Reading<File> {
    let made = || -> io::Result<File> {
        let mut file = File::from(memfd_create("steady-probe", MemfdFlags::CLOEXEC)?);
        file.write_all(&(0..FILE_BYTES).map(|place| place as u8).collect::<Vec<_>>())?;
        Ok(file)
    };
    made().map_err(|error| refused("a file in memory", &error))
}

/// Returns the offset of a repetition. If it is zero, the file offset must be reset.
fn place(round: u64) -> u64 {
    round % FILE_BYTES as u64
}

/// read(2) of the next byte of a file in memory. Counted if the byte is correct. An lseek(2) precedes every 65,536th
/// call.
pub(super) fn read() -> Reading<Box<dyn Primitive>> {
    counted("read(2)", 1.0, memory_file()?, |file, round| {
        if place(round) == 0 {
            calls::lseek(file.as_fd(), 0);
        }
        let mut byte = !(round as u8);
        calls::read(file.as_fd(), &mut byte) == 1 && byte == round as u8
    })
}

/// write(2) of the next byte of a file in memory, with the value that it already has. An lseek(2) precedes every
/// 65,536th call.
pub(super) fn write() -> Reading<Box<dyn Primitive>> {
    counted("write(2)", 1.0, memory_file()?, |file, round| {
        if place(round) == 0 {
            calls::lseek(file.as_fd(), 0);
        }
        calls::write(file.as_fd(), &(round as u8)) == 1
    })
}

/// pread64(2) of a byte of a file in memory. Counted if the byte is correct.
pub(super) fn pread() -> Reading<Box<dyn Primitive>> {
    counted("pread64(2)", 1.0, memory_file()?, |file, round| {
        let mut byte = !(round as u8);
        calls::pread(file.as_fd(), &mut byte, place(round)) == 1 && byte == round as u8
    })
}

/// Returns the first of the small files that can be opened.
fn small_file() -> Reading<CString> {
    let opens = |path: &&&CStr| calls::open_and_close(path) == 0;
    let found = SMALL_FILES.iter().find(opens);
    found.map(|path| (*path).into()).ok_or_else(|| Absent::because("no file can be opened on this system"))
}

/// openat(2) of a small file for reading, and close(2). Counted if both succeed.
pub(super) fn openat_close() -> Reading<Box<dyn Primitive>> {
    counted("openat(2)", 2.0, small_file()?, |path, _| calls::open_and_close(path) == 0)
}

/// newfstatat(2) of the small file by its path. Counted if it fills a record that was empty before.
pub(super) fn newfstatat() -> Reading<Box<dyn Primitive>> {
    counted("newfstatat(2)", 1.0, (small_file()?, Record::blank()), |(path, record), _| {
        record.set_inode(0);
        calls::newfstatat(path, record) == 0 && record.inode() != 0
    })
}

/// fstat(2) of a file in memory. Counted if it fills a record that was empty before.
pub(super) fn fstat() -> Reading<Box<dyn Primitive>> {
    counted("fstat(2)", 1.0, (memory_file()?, Record::blank()), |(file, record), _| {
        record.set_inode(0);
        calls::fstat(file.as_fd(), record) == 0 && record.inode() != 0
    })
}

/// lseek(2) in a file in memory, each time to another offset. Counted if it returns that offset.
pub(super) fn lseek() -> Reading<Box<dyn Primitive>> {
    counted("lseek(2)", 1.0, memory_file()?, |file, round| {
        calls::lseek(file.as_fd(), place(round)) == place(round) as c_long
    })
}

/// poll(2) of a file that is always readable. Counted if it reports so.
#[cfg(target_arch = "x86_64")]
pub(super) fn poll() -> Reading<Box<dyn Primitive>> {
    counted("poll(2)", 1.0, memory_file()?, |file, _| calls::poll(file.as_fd()) == c_long::from(libc::POLLIN))
}

/// Other architectures have ppoll(2) instead.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn poll() -> Reading<Box<dyn Primitive>> {
    Err(Absent::because("the kernel has no such call on this kind of CPU"))
}

/// The size of one write, and the capacity of a pipe unless the system limits it further.
const PIECE: usize = 64 * 1024;

/// Writes a piece to a pipe and reads it back on the same thread, so that no thread must be woken. The events are the
/// bytes read.
pub(super) fn pipe() -> Reading<Box<dyn Primitive>> {
    // Both ends are non-blocking, so that a smaller capacity causes an error instead of a deadlock.
    let (reader, writer) =
        pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(|error| refused("a pipe", &error.into()))?;
    if fcntl_setpipe_size(&writer, PIECE).is_ok_and(|size| size < PIECE) {
        return Err(Absent::because("a pipe holds less than 64 KiB on this system"));
    }
    let facts = Facts { events: PIECE as f64, ..Facts::of_calls(2.0) };
    let state = (reader, writer, vec![1_u8; PIECE]);
    alone::open(
        "a pipe of 64 KiB",
        facts,
        state,
        |(reader, writer, piece), loops| {
            let mut bytes = 0;
            for _ in 0..loops {
                let mut written = 0;
                while written < PIECE {
                    written += all_or_error(bytes::write(&writer, &piece[written..]))?;
                }
                let mut left = PIECE;
                while left > 0 {
                    let count = all_or_error(bytes::read(&reader, &mut piece[..left]))?;
                    left -= count;
                    bytes += count as u64;
                }
            }
            Ok(bytes)
        },
        |_, loops| {
            black_box(rounds(loops, |round| opaque(round) == round));
            Ok(())
        },
    )
}

/// Returns the number of bytes. It is an error if the call would block, because no other thread could unblock it, or if
/// the pipe is closed.
fn all_or_error(moved: Result<usize, Errno>) -> io::Result<usize> {
    match moved {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.into()),
    }
}
