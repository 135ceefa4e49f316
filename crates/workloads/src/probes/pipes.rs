//! Bytes through a pipe.

use std::hint::black_box;
use std::io;

use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use steady_model::{Absent, Reading};

use super::alone::{self, Facts, rounds};
use super::{Primitive, refused};
use crate::raw::opaque;

/// What is written at once, and what a pipe holds where the system sets no narrower limit.
const PIECE: usize = 64 * 1024;

/// A piece written to a pipe and read from it by the same thread, so that nobody has to be woken; counted by what reading
/// returned.
pub(super) fn open() -> Reading<Box<dyn Primitive>> {
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
                    written += whole(write(&writer, &piece[written..]))?;
                }
                let mut left = PIECE;
                while left > 0 {
                    let taken = whole(read(&reader, &mut piece[..left]))?;
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
