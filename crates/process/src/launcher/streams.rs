//! Standard streams of runs.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::OFlags;
use steady_linux::process::Stdio;
use steady_model::{MetricInput, Output};

use crate::values::OUTPUT_MAX;

/// The destinations of a command's standard output and standard error.
pub(super) struct Sink {
    output: Target,
    error: Target,
}

/// The destination of one stream.
enum Target {
    /// The same descriptor for all runs.
    Fixed(OwnedFd),
    /// A pipe, which the launcher reads while the command runs.
    Pipe(Pipe),
    /// A file, which is truncated before each run.
    File(PathBuf),
}

struct Pipe {
    reader: File,
    writer: OwnedFd,
    /// What the present run has written, if it is needed.
    kept: Option<Kept>,
}

/// The end of what was written to a pipe.
struct Kept {
    bytes: RefCell<Vec<u8>>,
    /// The number of bytes that remain at least, if there are more.
    limit: usize,
}

impl Sink {
    /// Prepares the streams. If the values of metrics are printed, `metrics` says on which stream.
    pub(super) fn new(output: Option<&Output>, metrics: Option<&MetricInput>, null: &File) -> io::Result<Self> {
        let to_null = || Ok::<_, io::Error>(Target::Fixed(null.as_fd().try_clone_to_owned()?));
        let errors = || Ok::<_, io::Error>(Target::Fixed(io::stderr().as_fd().try_clone_to_owned()?));
        let (output, error) = match output {
            None | Some(Output::Null) => (to_null()?, to_null()?),
            Some(Output::Stderr) => (errors()?, errors()?),
            Some(Output::Inherit) => (Target::Fixed(io::stdout().as_fd().try_clone_to_owned()?), errors()?),
            Some(Output::Pipe) => (Target::Pipe(Pipe::new(None)?), to_null()?),
            Some(Output::File(path)) => (Target::File(path.clone()), to_null()?),
        };
        Ok(match metrics {
            Some(MetricInput::Stdout) => Sink { output: Target::Pipe(Pipe::new(Some(OUTPUT_MAX))?), error },
            Some(MetricInput::Stderr) => Sink { output, error: Target::Pipe(Pipe::new(Some(OUTPUT_MAX))?) },
            Some(MetricInput::File(_)) | None => Sink { output, error },
        })
    }

    /// The streams of the user's scripts: standard error of `steady` if `shown`, otherwise a pipe of which the launcher
    /// keeps the end, for the message if a script fails.
    pub(super) fn of_scripts(shown: bool) -> io::Result<Self> {
        /// More than the lines of a message need. The memory is that of the launcher, in which peaks of runs begin.
        const KEPT_MAX: usize = 4096;
        if shown {
            let errors = || Ok::<_, io::Error>(Target::Fixed(io::stderr().as_fd().try_clone_to_owned()?));
            return Ok(Sink { output: errors()?, error: errors()? });
        }
        let pipe = Pipe::new(Some(KEPT_MAX))?;
        let error = Target::Fixed(pipe.writer.try_clone()?);
        Ok(Sink { output: Target::Pipe(pipe), error })
    }

    /// Calls `start` with the streams of one run.
    pub(super) fn with<T>(&self, input: &File, start: impl FnOnce(Stdio<'_>) -> io::Result<T>) -> io::Result<T> {
        let file;
        let output = match &self.output {
            Target::File(path) => {
                file = File::create(path)?;
                file.as_fd()
            }
            output => output.writer()?,
        };
        start(Stdio { input: input.as_fd(), output, error: self.error.writer()? })
    }

    fn pipes(&self) -> impl Iterator<Item = &Pipe> {
        [&self.output, &self.error].into_iter().filter_map(|target| match target {
            Target::Pipe(pipe) => Some(pipe),
            Target::Fixed(_) | Target::File(_) => None,
        })
    }

    /// The ends of the pipes that the launcher must read while a command runs.
    pub(super) fn readers(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.pipes().map(|pipe| pipe.reader.as_fd())
    }

    /// Reads the present content of the pipes.
    pub(super) fn drain(&self) {
        self.pipes().for_each(Pipe::drain);
    }

    /// Returns what was printed on the stream that is kept since the last call. `None` if no stream is kept.
    pub(super) fn take_printed(&self) -> Option<Vec<u8>> {
        self.drain();
        self.pipes().find_map(|pipe| Some(pipe.kept.as_ref()?.bytes.take()))
    }
}

impl Target {
    fn writer(&self) -> io::Result<BorrowedFd<'_>> {
        match self {
            Target::Fixed(descriptor) => Ok(descriptor.as_fd()),
            Target::Pipe(pipe) => Ok(pipe.writer.as_fd()),
            Target::File(path) => Err(io::Error::other(format!("'{}' is not open", path.display()))),
        }
    }
}

impl Pipe {
    /// `limit` is the number of bytes to keep, if any.
    fn new(limit: Option<usize>) -> io::Result<Self> {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
        Ok(Pipe {
            reader: File::from(reader),
            writer,
            kept: limit.map(|limit| Kept { bytes: RefCell::default(), limit }),
        })
    }

    /// Reads the present content. Of what is kept, the end remains.
    fn drain(&self) {
        /// The most bytes to read at once, those of the largest pipe. A program that writes all the time must not keep the
        /// launcher here.
        const CONTENT_MAX: usize = 1 << 20;
        let mut buffer = [0; 65_536];
        let mut left = CONTENT_MAX;
        let mut reader: &File = &self.reader;
        // Reading an empty pipe fails with WouldBlock. There is no end of file, because the launcher also has the
        // writing end.
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if let Some(kept) = &self.kept {
                let mut bytes = kept.bytes.borrow_mut();
                bytes.extend_from_slice(&buffer[..count]);
                if bytes.len() > 2 * kept.limit {
                    let surplus = bytes.len() - kept.limit;
                    bytes.drain(..surplus);
                }
            }
            left = left.saturating_sub(count);
            if left == 0 {
                break;
            }
        }
    }
}
