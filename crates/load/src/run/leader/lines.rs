//! Reads lines from the pipe of the workers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Default capacity of a pipe (pipe(7)).
const READ_BYTES: usize = 65_536;

/// A pipe that is read without blocking.
pub(super) struct Lines {
    pipe: OwnedFd,
    unread: Vec<u8>,
    closed: bool,
}

impl Lines {
    pub(super) fn new(pipe: OwnedFd) -> io::Result<Self> {
        rustix::fs::fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        Ok(Lines { pipe, unread: Vec::new(), closed: false })
    }

    /// Calls `take` with each complete line that is available, until one returns an error.
    pub(super) fn each<E: From<io::Error>>(&mut self, mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.fill()?;
        let mut lines = self.unread.split_inclusive(|&byte| byte == b'\n');
        let mut taken = 0;
        let done = lines.by_ref().take_while(|line| line.ends_with(b"\n")).try_for_each(|line| {
            taken += line.len();
            take(&line[..line.len() - 1])
        });
        self.unread.drain(..taken);
        done
    }

    /// Returns whether all writers have closed the pipe.
    pub(super) fn are_closed(&self) -> bool {
        self.closed
    }

    fn fill(&mut self) -> io::Result<()> {
        loop {
            let length = self.unread.len();
            self.unread.resize(length + READ_BYTES, 0);
            let read = rustix::io::read(&self.pipe, &mut self.unread[length..]);
            self.unread.truncate(length + read.unwrap_or(0));
            match read {
                Ok(0) => {
                    self.closed = true;
                    return Ok(());
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Lines {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn complete_lines_are_returned_and_the_rest_is_kept() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut lines = Lines::new(OwnedFd::from(reader)).unwrap();
        let read = |lines: &mut Lines| {
            let mut found = Vec::new();
            let take = |line: &[u8]| {
                found.push(String::from_utf8(line.to_vec()).unwrap());
                io::Result::Ok(())
            };
            lines.each(take).unwrap();
            found
        };
        assert_eq!(read(&mut lines), Vec::<String>::new());
        writer.write_all(b"one\ntw").unwrap();
        assert_eq!(read(&mut lines), ["one"]);
        writer.write_all(b"o\n\nthree\n").unwrap();
        assert_eq!(read(&mut lines), ["two", "", "three"]);
        assert!(!lines.are_closed());
        drop(writer);
        assert_eq!(read(&mut lines), Vec::<String>::new());
        assert!(lines.are_closed());
    }
}
