//! The one effect that the experiment has: some signatures in a row. Behind a trait, so that it runs in tests without time
//! passing.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_linux::clock;
use steady_model::{
    Nanos, Reading, SignatureAllocator, SignatureCondition, SignatureCrew, SignatureLock, SignatureRun,
};
use steady_workloads::signature::{Builder, Exhausted, Job, Pool, Scattered, SignError, Sum, sign_bytes};
use thiserror::Error;

use crate::signature::file::{lock, used};

/// Why there are no more runs.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BenchError {
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
pub trait SignatureRunner {
    /// Makes `times` signatures in the way of `condition`, which is number `at` of the plan.
    ///
    /// # Errors
    /// See [`BenchError`].
    fn run(&mut self, at: usize, condition: &SignatureCondition, times: u32) -> Result<SignatureRun, BenchError>;

    /// The experiment's clock.
    fn now(&self) -> Nanos;
}

/// A worker that is kept, with its nodes.
enum Kept {
    Pool(Builder<Pool>),
    Scattered(Builder<Scattered>),
}

impl Kept {
    fn new(condition: &SignatureCondition) -> Self {
        let size = condition.pool.map_or(0, |pool| pool.0 as usize);
        match condition.allocator {
            SignatureAllocator::Scattered => Kept::Scattered(Builder::new(Scattered::new(size))),
            SignatureAllocator::WalkedPool => Kept::Pool(Builder::new(Pool::walked(size))),
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
pub struct CrewRunner {
    bytes: Vec<u8>,
    pool: usize,
    kept: Vec<(usize, Kept)>,
    /// The signature of the first so many bytes.
    known: Vec<(u64, u64)>,
    interrupt: Option<OwnedFd>,
    begun: Nanos,
}

impl CrewRunner {
    /// One that works on `bytes`, with pools of `pool` bytes where conditions name no other. `interrupt` becomes readable where
    /// the user asks to stop.
    pub fn new(bytes: Vec<u8>, pool: usize, interrupt: Option<OwnedFd>) -> Self {
        CrewRunner { bytes, pool, kept: vec![], known: vec![], interrupt, begun: clock::monotonic() }
    }

    fn is_interrupted(&self) -> bool {
        let Some(interrupt) = &self.interrupt else { return false };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(interrupt, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// All ways must come to one number: what does not is not measured but wrong.
    fn check(&mut self, condition: &SignatureCondition, signature: u64) -> Result<(), BenchError> {
        match self.known.iter().find(|(bytes, _)| *bytes == condition.bytes) {
            Some((_, known)) if *known == signature => Ok(()),
            Some(_) => Err(BenchError::Wrong(condition.allocator.name())),
            None => {
                self.known.push((condition.bytes, signature));
                Ok(())
            }
        }
    }

    fn crew(&mut self, condition: &SignatureCondition, times: u32) -> Result<Sum, BenchError> {
        let pool = condition.pool.map_or(self.pool, |pool| pool.0 as usize);
        let crew = SignatureCrew::Threads(condition.workers);
        let job = Job { allocator: condition.allocator, crew, pool };
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

    fn kept(&mut self, at: usize, condition: &SignatureCondition, times: u32) -> Result<Sum, BenchError> {
        let exhausted = |Exhausted| BenchError::Failed("there was no memory for a node".to_owned());
        let (_, kept) = self.kept.iter_mut().find(|(which, _)| *which == at).ok_or_else(|| exhausted(Exhausted))?;
        let mut all = Sum::default();
        for _ in 0..times {
            all.signature = kept.sum(&self.bytes[..condition.bytes as usize]).map_err(exhausted)?;
        }
        Ok(all)
    }

    /// Makes a worker that is kept, and has it touch all that it will use.
    fn prepare(&mut self, at: usize, condition: &SignatureCondition) -> Result<(), BenchError> {
        if !condition.kept || self.kept.iter().any(|(which, _)| *which == at) {
            return Ok(());
        }
        self.kept.push((at, Kept::new(condition)));
        // A block of random bytes has a tree of some 8 bytes for each of its own.
        let walks = condition.pool.map_or(0, |pool| pool.0) / (4 * condition.bytes.max(1)) + 1;
        self.kept(at, condition, walks as u32).map(|_| ())
    }
}

impl SignatureRunner for CrewRunner {
    fn run(&mut self, at: usize, condition: &SignatureCondition, times: u32) -> Result<SignatureRun, BenchError> {
        if self.is_interrupted() {
            return Err(BenchError::Interrupted);
        }
        self.prepare(at, condition)?;
        let unread = |error: std::io::Error| BenchError::Failed(format!("getrusage: {error}"));
        let (begun, before) = (clock::monotonic(), used().map_err(unread)?);
        let sum = if condition.kept { self.kept(at, condition, times) } else { self.crew(condition, times) }?;
        let (wall, after) = (clock::monotonic() - begun, used().map_err(unread)?);
        self.check(condition, sum.signature)?;
        let lock: Reading<SignatureLock> = lock(condition.allocator, &sum);
        Ok(SignatureRun {
            condition: at,
            times,
            wall,
            user: after.user - before.user,
            system: after.system - before.system,
            lock,
        })
    }

    fn now(&self) -> Nanos {
        clock::monotonic() - self.begun
    }
}
