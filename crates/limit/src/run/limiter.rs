//! The guardian's part of `steady limit`: starts the command where its CPU time is counted, checks the limits, and
//! measures the total at the end.

use std::io::{self, ErrorKind};

use serde::{Deserialize, Serialize};
use steady_linux::cgroup::OwnGroup;
use steady_linux::process::{Begun, NotStarted, Reaped};
use steady_linux::tree::ThreadWatch;
use steady_linux::{Root, clock, topology};
use steady_model::{Absent, Nanos, Reading};
use steady_process::attended::{Attendant, End, Moment, Starter, Unattended};

use super::LimitRun;
use super::source::{BEST_FIRST, Meter};
use super::wall_clock::WallClock;
use crate::plan::LimitPlan;
use crate::record::{CpuSource, LimitOutcome};

/// What the guardian receives from its parent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    /// The limits, without the command.
    pub(super) plan: LimitPlan,
    /// The only source of CPU time to use; without it, the best one available.
    pub(super) source: Option<CpuSource>,
}

/// A running command with its limits.
pub(super) struct Limiter {
    pub(super) plan: LimitPlan,
    /// ID of the process of the command, until it is reaped.
    pub(super) command: Option<i32>,
    pub(super) meter: Meter,
    passed_over: Vec<String>,
    pub(super) started: Nanos,
    pub(super) schedule: Schedule,
    pub(super) wall_clock: WallClock,
    pub(super) watch: Reading<ThreadWatch>,
    /// When to read the run delays next.
    pub(super) waiting_due: Nanos,
    /// Number of readings of the run delays.
    pub(super) waiting_readings: u32,
    /// CPU time of the tree at the previous reading of the run delays.
    pub(super) waiting_cpu: Nanos,
    /// When to check the limits next.
    pub(super) check_at: Nanos,
    /// The limit that was reached.
    reached: Option<LimitOutcome>,
    /// CPU time of this process when it began to check.
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
                Ok(begun) => {
                    let command = begun.child.pid.as_raw_nonzero().get();
                    return Ok((begun, Limiter::new(task.plan, command, meter, passed_over, at)));
                }
                // A signal to the process group, after which the command must not be started again.
                Err(NotStarted::NoChild(error)) if error.kind() == ErrorKind::Interrupted => {
                    return Err(Unattended::Refused(format!("no process could be started: {error}")));
                }
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
        self.check_at.min(self.waiting_due)
    }

    fn check(&mut self, moment: Moment) -> Option<Nanos> {
        if moment.now < self.check_at {
            self.read_run_delays(moment);
            return None;
        }
        self.reached = self.check_limits(moment);
        self.reached.map(|_| self.plan.kill_after)
    }

    fn continued(&mut self, moment: Moment) {
        // The next check was planned for a stopped command and would be too late.
        self.check_at = moment.now;
    }

    fn ended(&mut self, moment: Moment) {
        // The wall limit was reached by the time that counted then. What the signal caused is no part of it.
        if self.reached != Some(LimitOutcome::WallLimit) {
            self.read_run_delays(moment);
        }
    }

    fn reaped(&mut self, reaped: &Reaped) {
        self.command = self.command.filter(|command| *command != reaped.pid.as_raw_nonzero().get());
        self.meter.reaped(reaped.usage.user + reaped.usage.system);
    }

    fn group(&self) -> Option<&OwnGroup> {
        self.meter.group()
    }

    /// Computes the CPU time of the whole tree, which has no process left and cannot use more.
    fn finish(&mut self, end: End) -> io::Result<LimitRun> {
        let (cpu, limit) = (self.meter.total(), self.plan.cpu);
        let outcome = match self.reached {
            Some(outcome) => outcome,
            // The command ended by itself after it reached the limit, but before the next check.
            None if cpu >= limit => LimitOutcome::CpuLimit,
            None if self.wall_is_reached(end.moment) => LimitOutcome::WallLimit,
            None => LimitOutcome::Ok,
        };
        let beyond = if cpu >= limit { Ok(cpu - limit) } else { Err(Absent::because("the limit was not reached")) };
        Ok(LimitRun {
            outcome,
            ended: end.outcome,
            killed: end.killed,
            cpu,
            wall: end.moment.now - self.started,
            waiting: self.wall_clock.waiting().clone(),
            stopped: end.moment.stopped,
            overshoot: beyond,
            source: self.meter.source(),
            passed_over: std::mem::take(&mut self.passed_over),
            left_behind: end.left_behind,
        })
    }
}

impl Limiter {
    fn new(plan: LimitPlan, command: i32, meter: Meter, passed_over: Vec<String>, at: Nanos) -> Self {
        // The number of CPUs bounds how fast CPU time is used. A CPU bandwidth limit of the group does not: for a short
        // time all CPUs can still run.
        let root = Root::default();
        let cpus = topology::allowed_cpus(&root).map_or(1, |cpus| cpus.len());
        // The command may use more CPUs than this process: no rights are needed to extend the affinity mask.
        let most_cpus = topology::online_cpus(&root).map_or(cpus, |all| all.len().max(cpus));
        // If the kernel keeps scheduling statistics for this process, it keeps them for the others.
        let watch = ThreadWatch::new(&root, rustix::process::getpid().as_raw_nonzero().get());
        let available = watch.as_ref().map(drop).map_err(Clone::clone);
        let mut limiter = Limiter {
            schedule: Schedule::new(at, most_cpus, plan.cpu, plan.poll),
            plan,
            command: Some(command),
            meter,
            passed_over,
            started: at,
            wall_clock: WallClock::new(at, available, cpus),
            watch,
            waiting_due: at,
            waiting_readings: 0,
            waiting_cpu: Nanos::ZERO,
            check_at: at,
            reached: None,
            own_start: clock::process_cpu(),
        };
        let begun = Moment { now: at, stopped: Nanos::ZERO, is_stopped: false };
        limiter.schedule_check(begun, Nanos::ZERO, Nanos::ZERO);
        limiter
    }
}

/// Minimum time between two checks. With shorter sleeps, most of the cost would be waking up.
const SHORTEST: Nanos = Nanos(500_000);
/// Checks may cost 1 part in `SHARE` of the time that has passed, plus `START`.
const SHARE: u64 = 300;
/// CPU time that checks may cost regardless of the time that has passed.
const START: Nanos = Nanos(2_000_000);
/// Checks are not postponed by more than the time in which the command can use 1 part in `EXCESS` of the CPU limit...
const EXCESS: u64 = 20;
/// ... unless a check costs more than 1 part in `MOST_SHARE` of that time.
const MOST_SHARE: u64 = 20;

/// Schedules the checks of the limits.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    started: Nanos,
    /// Number of CPUs that the command can use concurrently.
    cpus: u64,
    /// The CPU limit.
    limit: Nanos,
    poll: Option<Nanos>,
}

impl Schedule {
    pub(super) fn new(started: Nanos, cpus: usize, limit: Nanos, poll: Option<Nanos>) -> Self {
        Schedule { started, cpus: cpus.max(1) as u64, limit, poll }
    }

    /// Returns the time of the next check. The current one is at `now`, with `cpu` left of the CPU limit and `wall` of
    /// the wall limit. All checks so far have `spent` CPU time, the last one `cost`.
    pub(super) fn next(&self, now: Nanos, cpu: Nanos, wall: Nanos, spent: Nanos, cost: Nanos) -> Nanos {
        let soonest = Nanos(cpu.0 / self.cpus).min(wall);
        self.later(now, soonest.max(self.least(now, spent, cost)))
    }

    /// Returns the first multiple of the poll interval after `now`, or `now + span` without one.
    pub(super) fn later(&self, now: Nanos, span: Nanos) -> Nanos {
        let Some(poll) = self.poll else { return now + span };
        let passed = (now - self.started).0 / poll.0.max(1);
        self.started + Nanos(poll.0.saturating_mul(passed + 1))
    }

    /// Minimum time to the next check. If the checks cost more than their share, it is long enough for one check to be
    /// within it, but not so long that the command could exceed the limit by more than a part of it: on a busy machine,
    /// a single check may cost many times the usual.
    fn least(&self, now: Nanos, spent: Nanos, cost: Nanos) -> Nanos {
        let allowed = Nanos((now - self.started).0 / SHARE) + START;
        let times = |share: u64| Nanos(cost.0.saturating_mul(share));
        let longest = Nanos(self.limit.0 / self.cpus / EXCESS).max(times(MOST_SHARE));
        if spent <= allowed { SHORTEST } else { SHORTEST.max(times(SHARE).min(longest)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const LIMIT: Nanos = Nanos(60_000 * MS);

    #[test]
    fn next_check_is_when_all_cpus_could_have_used_the_rest() {
        let schedule = Schedule::new(Nanos(0), 4, LIMIT, None);
        let next = |cpu, wall| schedule.next(Nanos(1_000 * MS), Nanos(cpu), Nanos(wall), Nanos(0), Nanos(20_000));
        assert_eq!(next(400 * MS, 9_000 * MS), Nanos(1_100 * MS));
        assert_eq!(next(400 * MS, 50 * MS), Nanos(1_050 * MS), "the wall limit is nearer");
        assert_eq!(next(MS, 9_000 * MS), Nanos(1_000 * MS + SHORTEST.0), "checks are at least SHORTEST apart");
    }

    #[test]
    fn expensive_checks_become_rare() {
        let schedule = Schedule::new(Nanos(0), 1, LIMIT, None);
        let next = |spent| schedule.next(Nanos(1_000 * MS), Nanos(MS), Nanos(9_000 * MS), Nanos(spent), Nanos(MS));
        assert_eq!(next(5 * MS), Nanos(1_001 * MS));
        assert_eq!(next(6 * MS), Nanos(1_300 * MS));
    }

    #[test]
    fn an_expensive_check_does_not_let_the_command_exceed_its_limit_by_much() {
        let schedule = Schedule::new(Nanos(0), 2, Nanos(600 * MS), None);
        let next = |cost| schedule.next(Nanos(1_000 * MS), Nanos(MS), Nanos(9_000 * MS), Nanos(50 * MS), Nanos(cost));
        // In 15 ms, two CPUs can use a twentieth of the limit.
        assert_eq!(next(MS / 2), Nanos(1_015 * MS));
        // Checks never take more than a twentieth of the time.
        assert_eq!(next(2 * MS), Nanos(1_040 * MS));
    }

    #[test]
    fn a_poll_checks_only_at_multiples_of_its_interval() {
        let schedule = Schedule::new(Nanos(500 * MS), 2, LIMIT, Some(Nanos(1_000 * MS)));
        let next = |now| schedule.next(Nanos(now), Nanos(1), Nanos(1), Nanos(0), Nanos(0));
        assert_eq!(next(500 * MS), Nanos(1_500 * MS));
        assert_eq!(next(1_501 * MS), Nanos(2_500 * MS), "a late check does not move the next ones");
        assert_eq!(next(4_700 * MS), Nanos(5_500 * MS));
    }
}
