//! The one effect that a bench has: some signatures in a row. Behind a trait, so that it runs in tests without time passing.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_linux::clock;
use steady_model::Nanos;
use steady_workloads::signature::{
    Allocator, Builder, Crew, Exhausted, Job, Pool, Scattered, SignError, Sum, sign_bytes,
};
use thiserror::Error;

use super::file::used;
use crate::record::{BenchCondition, BenchRun, Lock};

/// Why there are no more runs.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum BenchError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A signature could not be made.
    #[error("{0}")]
    Failed(String),
    /// A way came to another number than the others.
    #[error("{0} came to another signature than the others")]
    Wrong(&'static str),
}

/// Something that makes signatures.
pub(crate) trait SignatureRunner {
    /// Makes `times` signatures under `condition`, which is number `at` of the plan.
    ///
    /// # Errors
    /// See [`BenchError`].
    fn run(&mut self, at: usize, condition: &BenchCondition, times: u32) -> Result<BenchRun, BenchError>;

    /// The experiment's clock.
    fn now(&self) -> Nanos;
}

/// A worker that is kept, with its nodes.
enum Kept {
    Pool(Builder<Pool>),
    Scattered(Builder<Scattered>),
}

impl Kept {
    fn new(condition: &BenchCondition) -> Self {
        let size = condition.pool_bytes.map_or(0, |pool| pool.0 as usize);
        match condition.allocator {
            Allocator::Scattered => Kept::Scattered(Builder::new(Scattered::new(size))),
            Allocator::WalkedPool => Kept::Pool(Builder::new(Pool::walked(size))),
            _ => Kept::Pool(Builder::new(Pool::new(size))),
        }
    }

    fn sum(&mut self, bytes: &[u8]) -> Result<u64, Exhausted> {
        match self {
            Kept::Pool(builder) => builder.sum(bytes),
            Kept::Scattered(builder) => builder.sum(bytes),
        }
    }
}

/// Threads of this process that make signatures of bytes in memory.
pub(crate) struct CrewRunner {
    bytes: Vec<u8>,
    /// Workers that are kept, by the numbers of their conditions.
    kept: Vec<(usize, Kept)>,
    /// The signature of the first so many bytes.
    known: Vec<(u64, u64)>,
    interrupt: Option<OwnedFd>,
    begun: Nanos,
}

impl CrewRunner {
    /// A runner on `bytes`. `interrupt` becomes readable when the user asks to stop.
    pub(crate) fn new(bytes: Vec<u8>, interrupt: Option<OwnedFd>) -> Self {
        CrewRunner { bytes, kept: vec![], known: vec![], interrupt, begun: clock::monotonic() }
    }

    fn is_interrupted(&self) -> bool {
        let Some(interrupt) = &self.interrupt else { return false };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(interrupt, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// All ways must come to one number: what does not is not measured but wrong.
    fn check(&mut self, condition: &BenchCondition, signature: u64) -> Result<(), BenchError> {
        match self.known.iter().find(|(bytes, _)| *bytes == condition.bytes) {
            Some((_, known)) if *known == signature => Ok(()),
            Some(_) => Err(BenchError::Wrong(condition.allocator.name())),
            None => {
                self.known.push((condition.bytes, signature));
                Ok(())
            }
        }
    }

    fn crew(&self, condition: &BenchCondition, times: u32) -> Result<Sum, BenchError> {
        let pool = condition.pool_bytes.map_or(0, |pool| pool.0 as usize);
        let job = Job { allocator: condition.allocator, crew: Crew::Threads(condition.workers), pool };
        let failed = |error: SignError| BenchError::Failed(error.to_string());
        let mut all = Sum::default();
        for _ in 0..times {
            let sum = sign_bytes(&self.bytes[..condition.bytes as usize], job).map_err(failed)?;
            all.signature = sum.signature;
            all.lock.acquisitions += sum.lock.acquisitions;
            all.lock.contended += sum.lock.contended;
            all.lock.waited += sum.lock.waited;
        }
        Ok(all)
    }

    fn kept(&mut self, at: usize, condition: &BenchCondition, times: u32) -> Result<Sum, BenchError> {
        let exhausted = |Exhausted| BenchError::Failed("there was no memory for a node".to_owned());
        let (_, kept) = self.kept.iter_mut().find(|(which, _)| *which == at).ok_or_else(|| exhausted(Exhausted))?;
        let mut all = Sum::default();
        for _ in 0..times {
            all.signature = kept.sum(&self.bytes[..condition.bytes as usize]).map_err(exhausted)?;
        }
        Ok(all)
    }

    /// Makes a worker that is kept, and has it touch all memory that it will use.
    fn prepare(&mut self, at: usize, condition: &BenchCondition) -> Result<(), BenchError> {
        if !condition.kept || self.kept.iter().any(|(which, _)| *which == at) {
            return Ok(());
        }
        self.kept.push((at, Kept::new(condition)));
        // A block of random bytes has a tree of some 8 bytes for each of its own.
        let walks = condition.pool_bytes.map_or(0, |pool| pool.0) / (4 * condition.bytes.max(1)) + 1;
        self.kept(at, condition, walks as u32).map(|_| ())
    }
}

impl SignatureRunner for CrewRunner {
    fn run(&mut self, at: usize, condition: &BenchCondition, times: u32) -> Result<BenchRun, BenchError> {
        if self.is_interrupted() {
            return Err(BenchError::Interrupted);
        }
        self.prepare(at, condition)?;
        let unread = |error: std::io::Error| BenchError::Failed(format!("getrusage: {error}"));
        let (begun, before) = (clock::monotonic(), used().map_err(unread)?);
        let sum = if condition.kept { self.kept(at, condition, times) } else { self.crew(condition, times) }?;
        let (wall, after) = (clock::monotonic() - begun, used().map_err(unread)?);
        self.check(condition, sum.signature)?;
        Ok(BenchRun {
            condition: at,
            times,
            wall_seconds: wall,
            user_seconds: after.user - before.user,
            system_seconds: after.system - before.system,
            lock: Lock::of(condition.allocator, sum.lock),
        })
    }

    fn now(&self) -> Nanos {
        clock::monotonic() - self.begun
    }
}
