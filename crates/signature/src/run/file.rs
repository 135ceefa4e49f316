//! One file's signature, and what it took.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use steady_linux::{clock, process};
use steady_model::{Absent, Nanos, Reading, SignatureAllocator, SignatureCrew, SignatureLock, Signed};
use steady_workloads::signature::{Job, SignError, Sum, sign_file, worth};
use thiserror::Error;

/// How signatures are to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Where nodes come from.
    pub allocator: SignatureAllocator,
    /// Who works; as many threads as the file is worth, up to the number of CPUs, where it is not said.
    pub crew: Option<SignatureCrew>,
    /// The size of each worker's pool.
    pub pool: usize,
    /// The CPUs that there are.
    pub cpus: u32,
}

/// Why a file has no signature.
#[derive(Debug, Error)]
pub enum FileError {
    /// It could not be opened.
    #[error("{0}")]
    NotOpened(io::Error),
    /// It could not be read whole, or nobody could work on it.
    #[error(transparent)]
    NotSigned(#[from] SignError),
}

impl FileError {
    /// Whether it is the file that it comes from, and not this program or the system.
    pub fn is_of_the_file(&self) -> bool {
        match self {
            FileError::NotOpened(_) => true,
            FileError::NotSigned(error) => error.is_of_the_file(),
        }
    }
}

/// The signature of the file at `path`, or of standard input without one. `progress` hears now and then how much was read,
/// and of how much where that is known.
///
/// # Errors
/// See [`FileError`].
pub fn sign(
    path: Option<&Path>,
    asked: Asked,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Signed, FileError> {
    match path {
        Some(path) => signed(File::open(path).map_err(FileError::NotOpened)?.as_fd(), asked, progress),
        None => signed(io::stdin().as_fd(), asked, progress),
    }
}

fn signed(file: BorrowedFd<'_>, asked: Asked, progress: &mut dyn FnMut(u64, Option<u64>)) -> Result<Signed, FileError> {
    let size = size(file);
    let crew = asked.crew.unwrap_or_else(|| match worth(size, asked.cpus) {
        1 => SignatureCrew::Single,
        many => SignatureCrew::Threads(many),
    });
    let job = Job { allocator: asked.allocator, crew, pool: asked.pool };
    let (begun, before) = (clock::monotonic(), used().map_err(SignError::NotStarted)?);
    let sum = sign_file(file, job, &mut |bytes| progress(bytes, size))?;
    let elapsed = clock::monotonic() - begun;
    let after = used().map_err(SignError::NotStarted)?;
    Ok(Signed {
        signature: sum.signature,
        bytes: sum.bytes,
        crew,
        lock: lock(asked.allocator, &sum),
        allocations: sum.allocations,
        elapsed,
        user: after.user - before.user,
        system: after.system - before.system,
        peak_memory: peak(crew),
    })
}

/// The size of an ordinary file that says that it has one.
fn size(file: BorrowedFd<'_>) -> Option<u64> {
    let stat = rustix::fs::fstat(file).ok()?;
    let ordinary = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile;
    u64::try_from(stat.st_size).ok().filter(|size| ordinary && *size > 0)
}

/// What the lock came to, of allocators that have one of ours or none.
pub(super) fn lock(allocator: SignatureAllocator, sum: &Sum) -> Reading<SignatureLock> {
    match allocator {
        SignatureAllocator::System => Err(Absent::because("the C library does not tell of its locks")),
        _ => Ok(SignatureLock {
            acquisitions: sum.lock.acquisitions,
            contended: sum.lock.contended,
            waited: sum.lock.waited,
        }),
    }
}

/// CPU time of this process and of those that it has waited for.
#[derive(Clone, Copy)]
pub(super) struct Used {
    pub(super) user: Nanos,
    pub(super) system: Nanos,
}

/// What was used so far.
pub(super) fn used() -> io::Result<Used> {
    let (own, children) = (process::own_usage()?, process::children_usage()?);
    Ok(Used { user: own.user + children.user, system: own.system + children.system })
}

fn peak(crew: SignatureCrew) -> Reading<steady_model::Bytes> {
    let own = process::own_peak_memory()?;
    match crew {
        SignatureCrew::Processes(_) => {
            let children = process::children_usage().map_err(|error| Absent::because(error.to_string()))?;
            Ok(own.max(children.peak_memory))
        }
        SignatureCrew::Single | SignatureCrew::Threads(_) => Ok(own),
    }
}
