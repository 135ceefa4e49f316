//! The workers: this thread, threads, or processes.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::{self, Thread};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

use super::board::Board;
use super::error::SignError;
use super::job::Crew;
use super::source::Source;
use super::work::{Task, work};
use crate::raw::fork_and_run;

/// How often progress is told, and processes are looked after.
const TICK: Duration = Duration::from_millis(100);
/// A worker reads into memory of its own and calls few functions deep.
const STACK: usize = 512 * 1024;

/// Has all workers do the task; returns when none is left.
pub(super) fn put_to_work(
    task: &Task<'_>,
    board: &Board,
    crew: Crew,
    progress: &mut dyn FnMut(u64),
) -> Result<(), SignError> {
    match crew {
        Crew::Single => {
            work(task, board, 0, progress);
            Ok(())
        }
        Crew::Threads(count) => threads(task, board, count as usize, progress).map_err(SignError::NotStarted),
        Crew::Processes(count) => processes(task, board, count as usize, progress),
    }
}

fn threads(task: &Task<'_>, board: &Board, count: usize, progress: &mut dyn FnMut(u64)) -> io::Result<()> {
    let left = AtomicUsize::new(count);
    let left = &left;
    let here = thread::current();
    thread::scope(|scope| {
        for worker in 0..count {
            let counted = Counted { left, waits: here.clone() };
            let started = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
                let _counted = counted;
                work(task, board, worker, &mut |_| {});
            });
            if let Err(error) = started {
                // Those that were started end, and the scope waits for them.
                board.stop();
                return Err(error);
            }
        }
        while left.load(SeqCst) > 0 {
            thread::park_timeout(TICK);
            progress(board.bytes());
        }
        Ok(())
    })
}

/// A thread that has not ended: the last one to end, even by a panic, wakes who waits for them.
struct Counted<'a> {
    left: &'a AtomicUsize,
    waits: Thread,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if self.left.fetch_sub(1, SeqCst) == 1 {
            self.waits.unpark();
        }
    }
}

/// Processes that were forked and are not reaped yet; killed and reaped when dropped.
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

fn processes(task: &Task<'_>, board: &Board, count: usize, progress: &mut dyn FnMut(u64)) -> Result<(), SignError> {
    // The kernel closes the writing ends when the workers end, in whatever way: then the reading end wakes.
    let not_started = |error: Errno| SignError::NotStarted(error.into());
    let (gone, alive) = pipe_with(PipeFlags::CLOEXEC).map_err(not_started)?;
    let mut forked = Forked(Vec::with_capacity(count));
    for worker in 0..count {
        let mut kept: Vec<RawFd> = vec![alive.as_raw_fd()];
        if let Source::File { file, .. } | Source::Stream(file) = task.source {
            kept.push(file.as_raw_fd());
        }
        let started = fork_and_run(&mut kept, || {
            work(task, board, worker, &mut |_| {});
            0
        });
        match started {
            Ok(pid) => forked.0.push(pid),
            Err(error) => {
                board.stop();
                return Err(SignError::NotStarted(error));
            }
        }
    }
    drop(alive);
    let tick = Timespec::try_from(TICK).ok();
    while !forked.0.is_empty() {
        let mut ends = [PollFd::new(&gone, PollFlags::IN)];
        match poll(&mut ends, tick.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(not_started(error)),
        }
        let over = !ends[0].revents().is_empty();
        reap(&mut forked, if over { WaitOptions::empty() } else { WaitOptions::NOHANG })?;
        progress(board.bytes());
    }
    Ok(())
}

/// Reaps those that have ended; an error where one did not end by itself, for it may have held what others wait for.
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
