//! The end: nothing is left, and the last word is said.

use std::io;

use rustix::process::Signal;
use steady_linux::clock;
use steady_linux::process::{self, Status};
use steady_model::{Absent, LimitOutcome, Outcome};

use super::Guardian;
use crate::limit::protocol::LimitRun;
use crate::limit::tree::end;

impl Guardian<'_> {
    /// Ends what is left, and has the last word: what the whole tree used, now that none of it can use any more.
    pub(super) fn finish(&mut self) -> io::Result<LimitRun> {
        let by_itself = self.judged.is_none();
        let (ended, at) = match self.ended {
            Some(ended) => ended,
            None => self.kill_command()?,
        };
        let left = end(self.started.meter.group())?;
        self.started.meter.reaped(left.cpu_time);
        let (cpu, limit) = (self.started.meter.at_the_end(), self.setup.plan.cpu);
        let outcome = match self.judged {
            Some((outcome, _)) => outcome,
            // It ended by itself, but between two looks.
            None if cpu >= limit => LimitOutcome::CpuLimit,
            None if self.wall_is_reached(at) => LimitOutcome::WallLimit,
            None => LimitOutcome::Ok,
        };
        let beyond = if cpu >= limit { Ok(cpu - limit) } else { Err(Absent::because("the limit was not reached")) };
        Ok(LimitRun {
            outcome,
            ended,
            cpu,
            wall: at - self.started.at,
            waiting: self.course.waiting().clone(),
            stopped: self.course.stopped(at),
            overshoot: beyond,
            source: self.started.meter.source(),
            passed_over: std::mem::take(&mut self.started.passed_over),
            left_behind: if by_itself { left.killed } else { 0 },
        })
    }

    /// Kills the command, with its whole control group if it has one, and waits for it alone: what is told is how it
    /// ended, and not how its last descendant did.
    fn kill_command(&mut self) -> io::Result<(Outcome, steady_model::Nanos)> {
        if let Some(group) = self.started.meter.group() {
            group.kill();
        }
        // An error means that it has ended.
        let _ = rustix::process::kill_process(self.command(), Signal::KILL);
        let reaped = process::wait_for(self.command())?;
        self.started.meter.reaped(reaped.usage.user + reaped.usage.system);
        Ok((outcome(reaped.status), clock::monotonic()))
    }
}

/// How a process ended, as reports tell it.
pub(super) fn outcome(status: Status) -> Outcome {
    match status {
        Status::Exited(status) => Outcome::Exited(status),
        Status::Signalled(signal) => Outcome::Signalled(signal),
    }
}
