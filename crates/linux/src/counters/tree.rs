//! The CPU time of a process tree while it runs, by an event that its processes inherit.

use std::io;

use steady_model::{CounterScope, Nanos, Reading};

use super::event::{Event, PerfCounter};
use super::meter::Counter;
use super::refusal;
use crate::Root;

/// Counts the time that children of this thread, and all that descends from them, have a CPU, from a child's exec on.
/// Threads that run at this moment are told exactly.
///
/// Time in which the hypervisor gave the CPU to others while they had it is counted too, unlike in a process's CPU time.
/// Programs that change their user, or that this user may not read, drop out at their exec.
pub struct TreeClock(PerfCounter);

impl TreeClock {
    /// Opens the clock, before the child is started. Absent where the kernel does not allow it.
    pub fn open() -> Reading<Self> {
        let root = Root::default();
        let mut refused = None;
        for scope in [CounterScope::UserAndKernel, CounterScope::User] {
            match PerfCounter::open(&root, &Event::TASK_CLOCK, scope) {
                Ok(counter) => return Ok(TreeClock(counter)),
                Err(error) => refused = Some(error),
            }
        }
        Err(refusal::reason(&root, &refused.unwrap_or_else(|| io::ErrorKind::NotFound.into())))
    }

    /// What it has counted so far.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn read(&mut self) -> io::Result<Nanos> {
        Ok(Nanos(self.0.read()?.value))
    }
}
