//! The demonstration's neighbour: a process that streams through memory, as another tenant of the machine might.

use std::io::{self, PipeWriter};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_rulers::{NEIGHBOUR, Neighbour};

/// How much memory it streams through.
const BYTES: u64 = 64 << 20;
/// How long it stays or stays away, in milliseconds, where it comes and goes.
const STAY: std::ops::Range<u64> = 1_500..5_000;
/// How often it is seen whether it is all over.
const MOMENT: Duration = Duration::from_millis(50);

/// When it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    Always,
    Never,
    ComesAndGoes,
}

/// A neighbour that takes what it takes until this is dropped, or this process ends.
struct Running {
    process: Child,
    lifeline: Option<PipeWriter>,
}

impl Running {
    fn start() -> io::Result<Running> {
        let (theirs, lifeline) = io::pipe()?;
        let mut command = Command::new("/proc/self/exe");
        command.args([NEIGHBOUR, Neighbour::Stream.name(), &BYTES.to_string()]);
        let process = command.stdin(theirs).stdout(Stdio::null()).spawn()?;
        Ok(Running { process, lifeline: Some(lifeline) })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // It ends by itself now; one that does not, cannot be helped.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Has the neighbour there as its habit is, until `done`.
pub(super) fn live(habit: Habit, done: &AtomicBool) -> io::Result<()> {
    let mut running = None;
    while !done.load(Ordering::Relaxed) {
        let there = match habit {
            Habit::Always => true,
            Habit::Never => false,
            Habit::ComesAndGoes => running.is_none(),
        };
        running = match (there, running) {
            (true, Some(running)) => Some(running),
            (true, None) => Some(Running::start()?),
            (false, _) => None,
        };
        let drawn = OsRng.try_next_u64().map_err(|error| io::Error::other(error.to_string()))?;
        let stay = Duration::from_millis(STAY.start + drawn % (STAY.end - STAY.start));
        let mut left = stay;
        while !left.is_zero() && !done.load(Ordering::Relaxed) {
            thread::sleep(MOMENT.min(left));
            left = left.saturating_sub(MOMENT);
        }
    }
    Ok(())
}
