//! Runs the workers: the calling thread, threads, or processes.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::{self, Thread};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

use super::error::SignError;
use super::job::Crew;
use super::shared_state::SharedState;
use super::source::Source;
use super::work::{Task, work};
use crate::raw::fork_and_run;

/// The interval of progress reports and of checks for ended processes.
const TICK: Duration = Duration::from_millis(100);
/// The stack size of a worker thread. It is small, because a worker's buffers are on the heap and its calls are not
/// deep.
const STACK: usize = 512 * 1024;

/// Runs the task on all workers. Returns after the last one has ended. They end early if `progress` returns false.
pub(super) fn run_workers(
    task: &Task<'_>,
    state: &SharedState,
    crew: Crew,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), SignError> {
    match crew {
        Crew::Single => {
            work(task, state, 0, progress);
            Ok(())
        }
        Crew::Threads(count) => threads(task, state, count as usize, progress).map_err(SignError::NotStarted),
        Crew::Processes(count) => processes(task, state, count as usize, progress),
    }
}

fn threads(
    task: &Task<'_>,
    state: &SharedState,
    count: usize,
    progress: &mut dyn FnMut(u64) -> bool,
) -> io::Result<()> {
    let left = AtomicUsize::new(count);
    let left = &left;
    let here = thread::current();
    thread::scope(|scope| {
        for worker in 0..count {
            let running = RunningThread { left, waiting: here.clone() };
            let started = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
                let _running = running;
                work(task, state, worker, &mut |_| true);
            });
            if let Err(error) = started {
                // The started threads end, and the scope waits for them.
                state.stop();
                return Err(error);
            }
        }
        while left.load(SeqCst) > 0 {
            thread::park_timeout(TICK);
            if !progress(state.bytes()) {
                state.stop();
            }
        }
        Ok(())
    })
}

/// A thread that has not ended. When the last one ends, even by a panic, it wakes the waiting thread.
struct RunningThread<'a> {
    left: &'a AtomicUsize,
    waiting: Thread,
}

impl Drop for RunningThread<'_> {
    fn drop(&mut self) {
        if self.left.fetch_sub(1, SeqCst) == 1 {
            self.waiting.unpark();
        }
    }
}

/// Forked processes that are not reaped yet; killed and reaped when dropped.
struct Forked(Vec<Pid>);

impl Drop for Forked {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill_process(*pid, Signal::KILL);
        }
        for pid in &self.0 {
            while let Err(Errno::INTR) = waitpid(Some(*pid), WaitOptions::empty()) {}
        }
    }
}

fn processes(
    task: &Task<'_>,
    state: &SharedState,
    count: usize,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), SignError> {
    // When the last worker ends, however it ends, the kernel closes its write end, and the read end becomes readable.
    let not_started = |error: Errno| SignError::NotStarted(error.into());
    let (all_ended, alive) = pipe_with(PipeFlags::CLOEXEC).map_err(not_started)?;
    let mut forked = Forked(Vec::with_capacity(count));
    for worker in 0..count {
        let mut kept: Vec<RawFd> = vec![alive.as_raw_fd()];
        if let Source::File { file, .. } | Source::Stream(file) = task.source {
            kept.push(file.as_raw_fd());
        }
        let started = fork_and_run(&mut kept, || {
            work(task, state, worker, &mut |_| true);
            0
        });
        match started {
            Ok(pid) => forked.0.push(pid),
            Err(error) => {
                state.stop();
                return Err(SignError::NotStarted(error));
            }
        }
    }
    drop(alive);
    let tick = Timespec::try_from(TICK).ok();
    while !forked.0.is_empty() {
        let mut ends = [PollFd::new(&all_ended, PollFlags::IN)];
        match poll(&mut ends, tick.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(not_started(error)),
        }
        let over = !ends[0].revents().is_empty();
        reap(&mut forked, if over { WaitOptions::empty() } else { WaitOptions::NOHANG })?;
        if !progress(state.bytes()) {
            state.stop();
        }
    }
    Ok(())
}

/// Reaps the processes that have ended. It is an error if one did not exit with status 0, because it may have held a
/// lock.
fn reap(forked: &mut Forked, options: WaitOptions) -> Result<(), SignError> {
    let mut at = 0;
    while let Some(pid) = forked.0.get(at) {
        match waitpid(Some(*pid), options) {
            Ok(None) => at += 1,
            Err(Errno::INTR) => {}
            Err(error) => {
                forked.0.swap_remove(at);
                return Err(SignError::Lost(format!("could not be waited for: {error}")));
            }
            Ok(Some((_, status))) => {
                forked.0.swap_remove(at);
                ended(status)?;
            }
        }
    }
    Ok(())
}

fn ended(status: WaitStatus) -> Result<(), SignError> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => Ok(()),
        (_, Some(signal)) => Err(SignError::Lost(format!("was killed by signal {signal}"))),
        (status, _) => Err(SignError::Lost(format!("ended with status {}", status.unwrap_or_default()))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Allocator, BLOCK_BYTES, Job, SignError, made, sign_bytes};
    use super::Crew;

    #[test]
    fn the_caller_can_end_a_signature() {
        let bytes = made(4 << 20);
        let job = Job { allocator: Allocator::Global, crew: Crew::Threads(64), pool: 0, block: BLOCK_BYTES };
        assert!(matches!(sign_bytes(&bytes, job, &|| true), Err(SignError::Cancelled)));
    }
}
