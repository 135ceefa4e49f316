//! What the guardian of a limited command does: starts it where its CPU time is counted, looks as often as is needed, and has
//! the last word.

use std::io;

use serde::{Deserialize, Serialize};
use steady_linux::cgroup::OwnGroup;
use steady_linux::process::{Begun, NotStarted, Reaped};
use steady_linux::tree::ThreadWatch;
use steady_linux::{Root, clock, topology};
use steady_model::{Absent, Nanos, Reading};
use steady_process::attended::{Attendant, End, Moment, Starter, Unattended};

use super::LimitRun;
use super::course::Course;
use super::source::{BEST_FIRST, Meter};
use crate::plan::LimitPlan;
use crate::record::{CpuSource, LimitOutcome};

/// What it is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    /// What is allowed, without the command.
    pub(super) plan: LimitPlan,
    /// The one source of CPU time to use; the best where none is named.
    pub(super) source: Option<CpuSource>,
}

/// A command with its limits.
pub(super) struct Limiter {
    pub(super) plan: LimitPlan,
    pub(super) meter: Meter,
    passed_over: Vec<String>,
    started: Nanos,
    pub(super) pace: Pace,
    pub(super) course: Course,
    pub(super) watch: Reading<ThreadWatch>,
    /// When the waiting is looked at next, and the CPU time of the tree at the look before.
    pub(super) waiting_due: Nanos,
    pub(super) waiting_cpu: Nanos,
    /// When to look at the limits.
    pub(super) look_at: Nanos,
    /// The limit that was reached.
    judged: Option<LimitOutcome>,
    /// What this process had used itself when it began to look.
    pub(super) own_start: Nanos,
}

impl Attendant for Limiter {
    const WORD: &str = "__guardian";
    type Task = Task;
    type Run = LimitRun;

    fn start(task: Task, starter: &Starter<'_>) -> Result<(Begun, Self), Unattended> {
        let mut passed_over = Vec::new();
        let wanted = BEST_FIRST.into_iter().filter(|source| task.source.is_none_or(|named| named == *source));
        for source in wanted {
            let mut refused = |why: Absent| passed_over.push(format!("{}: {why}", source.name()));
            let meter = match Meter::open(source) {
                Ok(meter) => meter,
                Err(absent) => {
                    refused(absent);
                    continue;
                }
            };
            let at = clock::monotonic();
            match starter.start(meter.joining()) {
                Ok(begun) => return Ok((begun, Limiter::new(task.plan, meter, passed_over, at))),
                Err(NotStarted::NoChild(error)) => {
                    refused(Absent::because(format!("no process could be started: {error}")))
                }
                Err(NotStarted::NoProgram(error)) => {
                    return Err(Unattended::NotStarted(error.raw_os_error().unwrap_or(0)));
                }
            }
        }
        Err(Unattended::Refused(format!("the CPU time of the command cannot be read: {}", passed_over.join("; "))))
    }

    fn due(&self) -> Nanos {
        self.look_at.min(self.waiting_due)
    }

    fn look(&mut self, moment: Moment) -> Option<Nanos> {
        if moment.now < self.look_at {
            self.look_at_waiting(moment);
            return None;
        }
        self.judged = self.look_at_limits(moment);
        self.judged.map(|_| self.plan.kill_after)
    }

    fn went_on(&mut self, moment: Moment) {
        // What was planned while time stood still is out of date.
        self.look_at = moment.now;
    }

    fn ended(&mut self, moment: Moment) {
        self.look_at_waiting(moment);
    }

    fn reaped(&mut self, reaped: &Reaped) {
        self.meter.reaped(reaped.usage.user + reaped.usage.system);
    }

    fn group(&self) -> Option<&OwnGroup> {
        self.meter.group()
    }

    /// The last word: what the whole tree used, now that none of it can use any more.
    fn finish(&mut self, end: End) -> io::Result<LimitRun> {
        let (cpu, limit) = (self.meter.at_the_end(), self.plan.cpu);
        let outcome = match self.judged {
            Some(outcome) => outcome,
            // It ended by itself, but between two looks.
            None if cpu >= limit => LimitOutcome::CpuLimit,
            None if self.wall_is_reached(end.moment) => LimitOutcome::WallLimit,
            None => LimitOutcome::Ok,
        };
        let beyond = if cpu >= limit { Ok(cpu - limit) } else { Err(Absent::because("the limit was not reached")) };
        Ok(LimitRun {
            outcome,
            ended: end.outcome,
            cpu,
            wall: end.moment.now - self.started,
            waiting: self.course.waiting().clone(),
            stopped: end.moment.stopped,
            overshoot: beyond,
            source: self.meter.source(),
            passed_over: std::mem::take(&mut self.passed_over),
            left_behind: end.left_behind,
        })
    }
}

impl Limiter {
    fn new(plan: LimitPlan, meter: Meter, passed_over: Vec<String>, at: Nanos) -> Self {
        // A limit on a group's CPU time still lets all CPUs be used at once for a while.
        let cpus = topology::allowed_cpus(&Root::default()).map_or(1, |cpus| cpus.len());
        // Where the kernel keeps statistics of this process, it does of the others.
        let watch = ThreadWatch::new(&Root::default(), rustix::process::getpid().as_raw_nonzero().get());
        let told = watch.as_ref().map(drop).map_err(Clone::clone);
        let mut limiter = Limiter {
            pace: Pace::new(at, cpus, plan.poll),
            plan,
            meter,
            passed_over,
            started: at,
            course: Course::new(at, told),
            watch,
            waiting_due: at,
            waiting_cpu: Nanos::ZERO,
            look_at: at,
            judged: None,
            own_start: clock::process_cpu(),
        };
        let begun = Moment { now: at, stopped: Nanos::ZERO, is_stopped: false };
        limiter.plan_next_look(begun, Nanos::ZERO, Nanos::ZERO);
        limiter
    }
}

/// The least time between two looks: shorter sleeps are mostly the cost of waking.
const FINEST: Nanos = Nanos(500_000);
/// Looks may cost this share of the time that has passed, and this much at once for the start.
const SHARE: u64 = 300;
const START: Nanos = Nanos(2_000_000);

/// Chooses the moments.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    started: Nanos,
    /// At most so many CPUs' worth of time can be used at once.
    cpus: u64,
    poll: Option<Nanos>,
}

impl Pace {
    pub(super) fn new(started: Nanos, cpus: usize, poll: Option<Nanos>) -> Self {
        Pace { started, cpus: cpus.max(1) as u64, poll }
    }

    /// The next look after one at `now` that saw `cpu` of the CPU limit and `wall` of the wall limit left. So far the
    /// looks have `spent` CPU time, the last of them `cost`.
    pub(super) fn next(&self, now: Nanos, cpu: Nanos, wall: Nanos, spent: Nanos, cost: Nanos) -> Nanos {
        let soonest = Nanos(cpu.0 / self.cpus).min(wall);
        self.later(now, soonest.max(self.least(now, spent, cost)))
    }

    /// The first moment of the poll after `now`; without one, `span` later.
    pub(super) fn later(&self, now: Nanos, span: Nanos) -> Nanos {
        let Some(poll) = self.poll else { return now + span };
        let passed = (now - self.started).0 / poll.0.max(1);
        self.started + Nanos(poll.0.saturating_mul(passed + 1))
    }

    /// The least time to the next look. Who has looked too dearly waits until looks as dear as the last have their share.
    fn least(&self, now: Nanos, spent: Nanos, cost: Nanos) -> Nanos {
        let allowed = Nanos((now - self.started).0 / SHARE) + START;
        if spent <= allowed { FINEST } else { FINEST.max(Nanos(cost.0.saturating_mul(SHARE))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn it_looks_when_all_cpus_could_have_used_what_is_left() {
        let pace = Pace::new(Nanos(0), 4, None);
        let next = |cpu, wall| pace.next(Nanos(1_000 * MS), Nanos(cpu), Nanos(wall), Nanos(0), Nanos(20_000));
        assert_eq!(next(400 * MS, 9_000 * MS), Nanos(1_100 * MS));
        assert_eq!(next(400 * MS, 50 * MS), Nanos(1_050 * MS), "the wall limit is nearer");
        assert_eq!(next(MS, 9_000 * MS), Nanos(1_000 * MS + FINEST.0), "never busy");
    }

    #[test]
    fn dear_looks_become_rare() {
        let pace = Pace::new(Nanos(0), 1, None);
        let next = |spent| pace.next(Nanos(1_000 * MS), Nanos(MS), Nanos(9_000 * MS), Nanos(spent), Nanos(MS));
        assert_eq!(next(5 * MS), Nanos(1_001 * MS));
        assert_eq!(next(6 * MS), Nanos(1_300 * MS));
    }

    #[test]
    fn a_poll_looks_at_its_own_moments_only() {
        let pace = Pace::new(Nanos(500 * MS), 2, Some(Nanos(1_000 * MS)));
        let next = |now| pace.next(Nanos(now), Nanos(1), Nanos(1), Nanos(0), Nanos(0));
        assert_eq!(next(500 * MS), Nanos(1_500 * MS));
        assert_eq!(next(1_501 * MS), Nanos(2_500 * MS), "late looks do not move the others");
        assert_eq!(next(4_700 * MS), Nanos(5_500 * MS));
    }
}
