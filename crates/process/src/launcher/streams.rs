//! Standard streams of runs.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::OFlags;
use steady_linux::process::Stdio;
use steady_model::Output;

/// Destination of a command's output.
pub(super) enum Sink {
    /// The same descriptors for all runs: standard output, standard error.
    Fixed(OwnedFd, OwnedFd),
    /// Standard output goes to a pipe, which the launcher reads while the command runs.
    Pipe { reader: File, writer: OwnedFd },
    /// Standard output goes to a file, which is truncated before each run.
    File(PathBuf),
}

impl Sink {
    pub(super) fn new(output: Option<&Output>, null: &File) -> io::Result<Self> {
        let to_null = || null.as_fd().try_clone_to_owned();
        let errors = || io::stderr().as_fd().try_clone_to_owned();
        Ok(match output {
            None | Some(Output::Null) => Sink::Fixed(to_null()?, to_null()?),
            Some(Output::Stderr) => Sink::Fixed(errors()?, errors()?),
            Some(Output::Inherit) => Sink::Fixed(io::stdout().as_fd().try_clone_to_owned()?, errors()?),
            Some(Output::Pipe) => {
                let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
                rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
                Sink::Pipe { reader: File::from(reader), writer }
            }
            Some(Output::File(path)) => Sink::File(path.clone()),
        })
    }

    /// Calls `start` with the streams of one run.
    pub(super) fn with<T>(
        &self,
        null: &File,
        input: &File,
        start: impl FnOnce(Stdio<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let file;
        let (output, error) = match self {
            Sink::Fixed(output, error) => (output.as_fd(), error.as_fd()),
            Sink::Pipe { writer, .. } => (writer.as_fd(), null.as_fd()),
            Sink::File(path) => {
                file = File::create(path)?;
                (file.as_fd(), null.as_fd())
            }
        };
        start(Stdio { input: input.as_fd(), output, error })
    }

    /// The end of the pipe that the launcher must read while a command runs.
    pub(super) fn reader(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Sink::Pipe { reader, .. } => Some(reader.as_fd()),
            Sink::Fixed(..) | Sink::File(_) => None,
        }
    }

    /// Discards the present content of the pipe.
    pub(super) fn drain(&self) {
        if let Sink::Pipe { reader, .. } = self {
            let mut buffer = [0; 65_536];
            let mut reader: &File = reader;
            // Reading an empty pipe fails with WouldBlock. There is no end of file, because the launcher also has the
            // writing end.
            while matches!(reader.read(&mut buffer), Ok(count) if count > 0) {}
        }
    }
}
