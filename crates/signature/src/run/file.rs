//! Computes the signature of a file and measures its cost.

use std::fs::File;
use std::io;
use std::ops::Sub;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{FileType, Stat};
use steady_linux::{clock, process};
use steady_model::split::{self, Processes};
use steady_model::{Absent, Bytes, Nanos, Reading};
use steady_workloads::signature::{Crew, Job, MOST_WORKERS, SignError, sign_file, worth};
use thiserror::Error;

use crate::plan::{FilesPlan, Workers};
use crate::record::{Lock, Signed, rate};

/// Major and minor device number of `/dev/null` (null(4)).
const NULL: (u32, u32) = (1, 3);

/// Reason why a file has no signature.
#[derive(Debug, Error)]
pub(crate) enum FileError {
    /// The file could not be opened.
    #[error("{0}")]
    NotOpened(io::Error),
    /// It is `/dev/null`, which the runtime of Rust also opens in place of a closed standard input.
    #[error("it is closed or /dev/null, so it has no data")]
    Null,
    /// It is a character device, such as a terminal or `/dev/zero`, which may have no end.
    #[error("it is a character device, which has no end")]
    Endless,
    /// A thread for each block was requested, but the number of blocks of a stream is not known in advance.
    #[error("its size is not known, so the number of its blocks is not either; use --threads N")]
    UnknownSize,
    /// A thread for each block was requested, and the file has too many.
    #[error("it has {0} blocks, and there are at most {MOST_WORKERS} threads; use --threads N")]
    TooManyBlocks(u64),
    /// The file could not be read completely, or workers could not be started.
    #[error(transparent)]
    NotSigned(#[from] SignError),
}

impl FileError {
    /// Returns whether there is no such file.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, FileError::NotOpened(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Returns whether the file is the cause, and not `steady` or the system.
    pub(crate) fn is_of_the_file(&self) -> bool {
        match self {
            FileError::NotOpened(_) | FileError::Null | FileError::Endless => true,
            FileError::UnknownSize | FileError::TooManyBlocks(_) => true,
            FileError::NotSigned(error) => error.is_of_the_file(),
        }
    }
}

/// Computes the signature of the file at `path`, or of standard input without a path. Calls `progress` repeatedly with
/// the number of bytes read and the size of the file, if it is known.
///
/// # Errors
/// See [`FileError`].
pub(crate) fn sign(
    path: Option<&Path>,
    plan: &FilesPlan,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Signed, FileError> {
    match path {
        Some(path) => signed(File::open(path).map_err(FileError::NotOpened)?.as_fd(), plan, progress),
        None => signed(io::stdin().as_fd(), plan, progress),
    }
}

fn signed(
    file: BorrowedFd<'_>,
    plan: &FilesPlan,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Signed, FileError> {
    match rustix::fs::fstat(file) {
        Ok(stat) if kind(&stat) == FileType::CharacterDevice => {
            let is_null = stat.st_rdev == rustix::fs::makedev(NULL.0, NULL.1);
            return Err(if is_null { FileError::Null } else { FileError::Endless });
        }
        _ => {}
    }
    let size = size(file);
    let crew = match plan.workers {
        Some(Workers::Crew(crew)) => crew,
        Some(Workers::ThreadPerBlock) => Crew::Threads(blocks(size, plan.block)?),
        None => threads(worth(size, plan.cpus)),
    };
    let job = Job { allocator: plan.allocator, crew, pool: plan.pool, block: plan.block };
    let (begun, before) = (clock::monotonic(), used().map_err(SignError::NotStarted)?);
    let sum = sign_file(file, job, &mut |bytes| progress(bytes, size))?;
    let elapsed = clock::monotonic() - begun;
    let used = used().map_err(SignError::NotStarted)? - before;
    let crew = match (plan.workers, size) {
        // The size of a stream is known only at its end. Threads that found no part in it did not work on it.
        (None, None) => threads(sum.readers),
        _ => crew,
    };
    let processes = match crew {
        Crew::Processes(workers) => f64::from(workers),
        Crew::Single | Crew::Threads(_) => 1.0,
    };
    let split = split::check(used.cpu().seconds(), Processes::Counted(processes), &plan.tick, "steady");
    Ok(Signed {
        signature: sum.signature,
        bytes: sum.bytes,
        crew,
        elapsed_seconds: elapsed,
        cpu_seconds: used.cpu(),
        user_seconds: split.clone().map(|()| used.user),
        system_seconds: split.map(|()| used.system),
        bytes_per_second: rate(sum.bytes, elapsed.seconds()),
        allocations: sum.allocations,
        lock: Lock::of(plan.allocator, sum.lock),
        peak_memory_bytes: peak(crew),
    })
}

fn threads(number: u32) -> Crew {
    if number > 1 { Crew::Threads(number) } else { Crew::Single }
}

/// Returns the number of blocks of a file, if each can have a thread.
fn blocks(size: Option<u64>, block: usize) -> Result<u32, FileError> {
    let blocks = size.ok_or(FileError::UnknownSize)?.div_ceil(block as u64);
    let in_range = u32::try_from(blocks).ok().filter(|blocks| *blocks <= MOST_WORKERS);
    in_range.ok_or(FileError::TooManyBlocks(blocks))
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Returns the size of a regular file, if it reports one. Files in `/proc` report 0.
fn size(file: BorrowedFd<'_>) -> Option<u64> {
    let stat = rustix::fs::fstat(file).ok()?;
    let is_ordinary = kind(&stat) == FileType::RegularFile;
    u64::try_from(stat.st_size).ok().filter(|size| is_ordinary && *size > 0)
}

/// CPU time of this process and of the child processes that it has waited for.
#[derive(Clone, Copy)]
pub(super) struct Used {
    pub(super) user: Nanos,
    pub(super) system: Nanos,
}

impl Used {
    fn cpu(self) -> Nanos {
        self.user + self.system
    }
}

impl Sub for Used {
    type Output = Used;

    fn sub(self, before: Used) -> Used {
        Used { user: self.user - before.user, system: self.system - before.system }
    }
}

/// Returns the CPU time used so far.
pub(super) fn used() -> io::Result<Used> {
    let (own, children) = (process::own_usage()?, process::children_usage()?);
    Ok(Used { user: own.user + children.user, system: own.system + children.system })
}

fn peak(crew: Crew) -> Reading<Bytes> {
    let own = process::own_peak_memory()?;
    match crew {
        Crew::Processes(_) => {
            let children = process::children_usage().map_err(|error| Absent::because(error.to_string()))?;
            Ok(own.max(children.peak_memory))
        }
        Crew::Single | Crew::Threads(_) => Ok(own),
    }
}
