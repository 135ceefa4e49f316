//! System calls on files that are in memory or in the cache, and bytes through a pipe.

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

/// The file in memory that is read and written: its bytes are the lowest ones of their places.
const FILE_BYTES: usize = 1 << 16;

/// Files that are small and in the cache wherever one can be had; the last is there always.
const SMALL_FILES: [&CStr; 4] = [c"/etc/passwd", c"/etc/group", c"/etc/hosts", c"/"];

/// A file in memory, full, and at its start.
fn memory_file() -> Reading<File> {
    let made = || -> io::Result<File> {
        let mut file = File::from(memfd_create("steady-probe", MemfdFlags::CLOEXEC)?);
        file.write_all(&(0..FILE_BYTES).map(|place| place as u8).collect::<Vec<_>>())?;
        Ok(file)
    };
    made().map_err(|error| refused("a file in memory", &error))
}

/// The place that round comes to; where it is the first, the file has to be put back to it.
fn place(round: u64) -> u64 {
    round % FILE_BYTES as u64
}

/// read(2) of the next byte of a file in memory; counted where it is the byte that stands there. Every 65,536th is
/// preceded by an lseek(2).
pub(super) fn read() -> Reading<Box<dyn Primitive>> {
    counted("read(2)", 1.0, memory_file()?, |file, round| {
        if place(round) == 0 {
            calls::lseek(file.as_fd(), 0);
        }
        let mut byte = !(round as u8);
        calls::read(file.as_fd(), &mut byte) == 1 && byte == round as u8
    })
}

/// write(2) of the next byte of a file in memory, over the one that stands there. Every 65,536th is preceded by an
/// lseek(2).
pub(super) fn write() -> Reading<Box<dyn Primitive>> {
    counted("write(2)", 1.0, memory_file()?, |file, round| {
        if place(round) == 0 {
            calls::lseek(file.as_fd(), 0);
        }
        calls::write(file.as_fd(), &(round as u8)) == 1
    })
}

/// pread64(2) of a byte of a file in memory; counted where it is the byte that stands there.
pub(super) fn pread() -> Reading<Box<dyn Primitive>> {
    counted("pread64(2)", 1.0, memory_file()?, |file, round| {
        let mut byte = !(round as u8);
        calls::pread(file.as_fd(), &mut byte, place(round)) == 1 && byte == round as u8
    })
}

/// The first of the small files that can be opened here.
fn small_file() -> Reading<CString> {
    let opens = |path: &&&CStr| calls::open_and_close(path) == 0;
    let found = SMALL_FILES.iter().find(opens);
    found.map(|path| (*path).into()).ok_or_else(|| Absent::because("no file can be opened here"))
}

/// openat(2) of a small file for reading, and close(2) of it; counted where both worked.
pub(super) fn openat_close() -> Reading<Box<dyn Primitive>> {
    counted("openat(2)", 2.0, small_file()?, |path, _| calls::open_and_close(path) == 0)
}

/// newfstatat(2) of that small file by its path; counted where it tells of a file, into a record that told of none.
pub(super) fn newfstatat() -> Reading<Box<dyn Primitive>> {
    counted("newfstatat(2)", 1.0, (small_file()?, Record::blank()), |(path, record), _| {
        record.set_inode(0);
        calls::newfstatat(path, record) == 0 && record.inode() != 0
    })
}

/// fstat(2) of a file in memory; counted where it tells of a file, into a record that told of none.
pub(super) fn fstat() -> Reading<Box<dyn Primitive>> {
    counted("fstat(2)", 1.0, (memory_file()?, Record::blank()), |(file, record), _| {
        record.set_inode(0);
        calls::fstat(file.as_fd(), record) == 0 && record.inode() != 0
    })
}

/// lseek(2) in a file in memory, each time to another place; counted where it returns that.
pub(super) fn lseek() -> Reading<Box<dyn Primitive>> {
    counted("lseek(2)", 1.0, memory_file()?, |file, round| {
        calls::lseek(file.as_fd(), place(round)) == place(round) as c_long
    })
}

/// poll(2) of a file that can always be read; counted where it says that it can.
#[cfg(target_arch = "x86_64")]
pub(super) fn poll() -> Reading<Box<dyn Primitive>> {
    counted("poll(2)", 1.0, memory_file()?, |file, _| calls::poll(file.as_fd()) == c_long::from(libc::POLLIN))
}

/// It has been replaced there.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn poll() -> Reading<Box<dyn Primitive>> {
    Err(Absent::because("the kernel has no such call on this kind of CPU"))
}

/// What is written at once, and what a pipe holds where the system sets no narrower limit.
const PIECE: usize = 64 * 1024;

/// A piece written to a pipe and read from it by the same thread, so that nobody has to be woken; counted by what reading
/// returned.
pub(super) fn pipe() -> Reading<Box<dyn Primitive>> {
    // Neither end waits: where a pipe holds less than a piece, that shows.
    let (reader, writer) =
        pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(|error| refused("a pipe", &error.into()))?;
    if fcntl_setpipe_size(&writer, PIECE).is_ok_and(|size| size < PIECE) {
        return Err(Absent::because("a pipe holds less than 64 KiB here"));
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
                    written += whole(bytes::write(&writer, &piece[written..]))?;
                }
                let mut left = PIECE;
                while left > 0 {
                    let taken = whole(bytes::read(&reader, &mut piece[..left]))?;
                    left -= taken;
                    bytes += taken as u64;
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

/// So many bytes; an error where it would have had to wait, since nobody else would end that, or where the pipe has ended.
fn whole(moved: Result<usize, Errno>) -> io::Result<usize> {
    match moved {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.into()),
    }
}
