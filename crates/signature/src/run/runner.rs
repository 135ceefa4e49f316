//! Runs signatures for a bench. The trait [`SignatureRunner`] lets tests simulate them without time passing.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_linux::clock;
use steady_model::Nanos;
use steady_workloads::signature::{
    Allocator, BLOCK_BYTES, Builder, Crew, Exhausted, Job, Pool, Scattered, SignError, Sum, sign_bytes,
};
use thiserror::Error;

use super::file::used;
use crate::record::{BenchCondition, BenchRun, Lock};

/// Reason why a bench ends early.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum BenchError {
    /// The user interrupted the bench.
    #[error("interrupted")]
    Interrupted,
    /// A signature could not be computed.
    #[error("{0}")]
    Failed(String),
    /// The allocator with this name gave another signature than the others.
    #[error("allocator {0} gave another signature than the others, which is a bug of steady")]
    Wrong(&'static str),
}

/// Computes signatures under a condition and measures them.
pub(crate) trait SignatureRunner {
    /// Computes `times` signatures under `condition`, which has index `at` in the plan.
    ///
    /// # Errors
    /// See [`BenchError`].
    fn run(&mut self, at: usize, condition: &BenchCondition, times: u32) -> Result<BenchRun, BenchError>;

    /// Returns the time since the start of the experiment.
    fn now(&self) -> Nanos;
}

/// A worker that all runs of a condition reuse, with its nodes.
enum Kept {
    Pool(Builder<Pool>),
    Scattered(Builder<Scattered>),
}

impl Kept {
    fn new(condition: &BenchCondition) -> Self {
        let size = condition.pool_bytes.map_or(0, |pool| pool.0 as usize);
        match condition.allocator {
            Allocator::Scattered => Kept::Scattered(Builder::new(Scattered::new(size), BLOCK_BYTES)),
            Allocator::WalkedPool => Kept::Pool(Builder::new(Pool::walked(size), BLOCK_BYTES)),
            _ => Kept::Pool(Builder::new(Pool::new(size), BLOCK_BYTES)),
        }
    }

    fn sum(&mut self, bytes: &[u8]) -> Result<u64, Exhausted> {
        match self {
            Kept::Pool(builder) => builder.sum(bytes),
            Kept::Scattered(builder) => builder.sum(bytes),
        }
    }
}

/// Runner that computes signatures of bytes in memory with threads of this process.
pub(crate) struct CrewRunner {
    bytes: Vec<u8>,
    /// Workers that are reused, by the index of their condition.
    kept: Vec<(usize, Kept)>,
    /// Signatures by size of the input.
    known: Vec<(u64, u64)>,
    interrupt: Option<OwnedFd>,
    begun: Nanos,
}

impl CrewRunner {
    /// Creates a runner on `bytes`. `interrupt` becomes readable when the user interrupts.
    pub(crate) fn new(bytes: Vec<u8>, interrupt: Option<OwnedFd>) -> Self {
        CrewRunner { bytes, kept: vec![], known: vec![], interrupt, begun: clock::monotonic() }
    }

    fn is_interrupted(&self) -> bool {
        let Some(interrupt) = &self.interrupt else { return false };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(interrupt, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Checks that all conditions with the same size give the same signature.
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
        let crew = Crew::Threads(condition.workers);
        let job = Job { allocator: condition.allocator, crew, pool, block: BLOCK_BYTES };
        let failed = |error: SignError| match error {
            SignError::Cancelled => BenchError::Interrupted,
            error => BenchError::Failed(error.to_string()),
        };
        let mut all = Sum::default();
        for _ in 0..times {
            let bytes = &self.bytes[..condition.bytes as usize];
            let sum = sign_bytes(bytes, job, &|| self.is_interrupted()).map_err(failed)?;
            all.signature = sum.signature;
            all.lock.acquisitions += sum.lock.acquisitions;
            all.lock.contended += sum.lock.contended;
            all.lock.waited += sum.lock.waited;
        }
        Ok(all)
    }

    fn kept(&mut self, at: usize, condition: &BenchCondition, times: u32) -> Result<Sum, BenchError> {
        let exhausted = |Exhausted| BenchError::Failed("there is not enough memory for a node".to_owned());
        let (_, kept) = self.kept.iter_mut().find(|(which, _)| *which == at).ok_or_else(|| exhausted(Exhausted))?;
        let mut all = Sum::default();
        for _ in 0..times {
            all.signature = kept.sum(&self.bytes[..condition.bytes as usize]).map_err(exhausted)?;
        }
        Ok(all)
    }

    /// Creates the worker of a condition that reuses it, and lets it touch all memory that it will use.
    fn prepare(&mut self, at: usize, condition: &BenchCondition) -> Result<(), BenchError> {
        if !condition.kept || self.kept.iter().any(|(which, _)| *which == at) {
            return Ok(());
        }
        self.kept.push((at, Kept::new(condition)));
        // The trees of random bytes need about 8 bytes per byte of the input. This assumes 4, to be sure that the whole
        // pool is touched.
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
        let (wall, used) = (clock::monotonic() - begun, used().map_err(unread)? - before);
        self.check(condition, sum.signature)?;
        Ok(BenchRun {
            condition: at,
            times,
            wall_seconds: wall,
            user_seconds: used.user,
            system_seconds: used.system,
            lock: Lock::of(condition.allocator, sum.lock),
        })
    }

    fn now(&self) -> Nanos {
        clock::monotonic() - self.begun
    }
}
