//! The repetitions in which other processes had the CPU.

use steady_model::{Probe, Timed};
use steady_stats::descriptive::quantile;

use super::FEWEST;
use crate::record::{Measured, Repetition};

/// If a smaller share than this is undisturbed, it is no fair sample.
const LEAST_SHARE: f64 = 0.1;
/// By how much wall time may exceed the CPU time of the processes that take part. Interrupts, and the ends of processes, are
/// charged to none of them.
const TOLERANCE: f64 = 0.1;
const TOLERANCE_SECONDS: f64 = 30e-6;
/// On a quiet machine wall time is at most this many times the CPU time that is charged to the processes.
const MOST_UNBOOKED: f64 = 1.5;
/// The share of repetitions, the best ones, that show what a quiet machine does.
const QUIET_SHARE: f64 = 0.1;

/// The repetitions that a cost rests on.
pub(crate) struct Kept<'a> {
    pub(crate) repetitions: Vec<&'a Repetition>,
    /// How many were set apart.
    pub(crate) set_apart: usize,
    /// Whether nearly all were disturbed, so that none was set apart.
    pub(crate) all_disturbed: bool,
}

impl<'a> Kept<'a> {
    /// Those in which nobody else had the CPU; all, where there are too few such. A repetition in which the event never
    /// happened tells nothing of its cost.
    pub(crate) fn of(measured: &Measured<'a>) -> Self {
        let usable: Vec<&Repetition> =
            measured.repetitions.iter().filter(|repetition| repetition.probe.events > 0).collect();
        let quiet = Quiet::of(measured.probe, &usable);
        let undisturbed: Vec<&Repetition> =
            usable.iter().copied().filter(|repetition| !quiet.is_disturbed(repetition)).collect();
        let enough = (LEAST_SHARE * usable.len() as f64).max(FEWEST as f64);
        if undisturbed.len() < usable.len() && (undisturbed.len() as f64) < enough {
            return Kept { all_disturbed: !usable.is_empty(), repetitions: usable, set_apart: 0 };
        }
        Kept { set_apart: usable.len() - undisturbed.len(), repetitions: undisturbed, all_disturbed: false }
    }

    /// The share of the repetitions in which other processes had the CPU.
    pub(crate) fn disturbed_share(&self) -> f64 {
        let all = (self.repetitions.len() + self.set_apart).max(1);
        if self.all_disturbed { 1.0 } else { self.set_apart as f64 / all as f64 }
    }
}

/// What the repetitions of a probe look like where nobody else has the CPU.
struct Quiet {
    probe: Probe,
    /// Wall time over the CPU time of those who take part, of the probe and of the empty loop.
    unbooked: [f64; 2],
    /// Times that an event takes the CPU from one of those who take part.
    own_switches: f64,
}

impl Quiet {
    fn of(probe: Probe, all: &[&Repetition]) -> Self {
        let best = |value: &dyn Fn(&Repetition) -> f64| {
            let values: Vec<f64> =
                all.iter().map(|repetition| value(repetition)).filter(|value| value.is_finite()).collect();
            quantile(&values, QUIET_SHARE).unwrap_or(0.0)
        };
        let ratio = |timed: &Timed| timed.wall.seconds() / timed.cpu.seconds();
        let unbooked = [best(&|repetition| ratio(&repetition.probe)), best(&|repetition| ratio(&repetition.empty))];
        let own = best(&|repetition| repetition.probe.involuntary_switches as f64 / repetition.probe.events as f64);
        Quiet {
            probe,
            unbooked: unbooked.map(|ratio| ratio.clamp(1.0, MOST_UNBOOKED)),
            own_switches: if has_switches(probe) { own.ceil().min(1.0) } else { 0.0 },
        }
    }

    fn is_disturbed(&self, repetition: &Repetition) -> bool {
        let Repetition { probe, empty, .. } = repetition;
        let own = self.own_switches * probe.events as f64;
        // Of those on two CPUs the wall time says nothing: they wait for each other.
        let shared = !self.probe.needs_two_cpus();
        let waited = shared && beyond(probe, self.unbooked[0]) || beyond(empty, self.unbooked[1]);
        let preempted = !switches(self.probe) && probe.involuntary_switches as f64 > own;
        waited || preempted || empty.involuntary_switches > 0
    }
}

/// Returns whether other processes had the CPU for a part of the wall time.
fn beyond(timed: &Timed, unbooked: f64) -> bool {
    timed.wall.seconds() > timed.cpu.seconds() * unbooked * (1.0 + TOLERANCE) + TOLERANCE_SECONDS
}

/// Whether its event itself is that a CPU is taken away, so that such switches tell nothing of others.
fn switches(probe: Probe) -> bool {
    matches!(probe, Probe::ProcessSwitch | Probe::ThreadSwitchCondvar | Probe::ThreadSwitchFutex)
}

/// Whether those who take part may take the CPU from each other, about once an event.
fn has_switches(probe: Probe) -> bool {
    matches!(probe, Probe::ForkExit | Probe::VforkExit | Probe::ThreadStart | Probe::SpawnStatic | Probe::SpawnDynamic)
}

#[cfg(test)]
mod tests {
    use steady_model::Nanos;

    use super::*;

    fn timed(micros: u64, waited: u64, involuntary: u64) -> Timed {
        let (cpu, wall) = (Nanos::from_micros(micros), Nanos::from_micros(micros + waited));
        Timed { loops: 10, events: 10, wall, cpu, involuntary_switches: involuntary, ..Timed::default() }
    }

    /// What is kept of repetitions, by how long each waited and how often its CPU was taken.
    fn of(probe: Probe, loops: &[(u64, u64)]) -> (usize, usize, bool) {
        let repetition = |one: &(u64, u64)| Repetition {
            started_seconds: Nanos::ZERO,
            probe: timed(1_000, one.0, one.1),
            empty: timed(500, 0, 0),
            empty_first: false,
        };
        let repetitions: Vec<Repetition> = loops.iter().map(repetition).collect();
        let (calls, alu_seconds) = (None, None);
        let measured =
            Measured { probe, loops: 10, events_per_loop: 1.0, calls, alu_seconds, repetitions: &repetitions };
        let kept = Kept::of(&measured);
        (kept.repetitions.len(), kept.set_apart, kept.all_disturbed)
    }

    #[test]
    fn preempted_repetitions_are_set_apart() {
        let mut loops = vec![(2, 0); 20];
        loops.extend([(3_000, 1), (3_000, 0), (2, 1)]);
        assert_eq!(of(Probe::SystemCall, &loops), (20, 3, false));
    }

    #[test]
    fn switches_that_are_its_own_are_not_held_against_it() {
        let mut loops = vec![(2, 7); 20];
        loops.push((3_000, 7));
        assert_eq!(of(Probe::ProcessSwitch, &loops), (20, 1, false));
        assert_eq!(of(Probe::FunctionCall, &loops), (21, 0, true));
    }

    #[test]
    fn what_is_booked_on_nobody_is_no_disturbance() {
        let mut loops = vec![(200, 0); 20];
        loops.push((2_000, 0));
        assert_eq!(of(Probe::ForkExit, &loops), (20, 1, false));
        assert_eq!(of(Probe::ForkExit, &[(4_000, 0); 20]), (20, 0, true), "not even the best have the CPU");
    }

    #[test]
    fn who_starts_a_program_may_take_the_cpu_from_it_once() {
        let mut loops = vec![(2, 10); 20];
        loops.extend([(2, 9), (2, 11), (4_000, 10)]);
        assert_eq!(of(Probe::SpawnStatic, &loops), (21, 2, false));
        assert_eq!(of(Probe::SpawnStatic, &[(2, 25); 20]), (20, 0, true));
    }

    #[test]
    fn a_few_undisturbed_ones_are_no_sample() {
        let mut loops = vec![(3_000, 2); 20];
        loops.extend([(2, 0); 5]);
        assert_eq!(of(Probe::SystemCall, &loops), (25, 0, true));
        loops.push((2, 0));
        assert_eq!(of(Probe::SystemCall, &loops), (6, 20, false));
    }

    #[test]
    fn on_two_cpus_only_switches_tell() {
        assert_eq!(of(Probe::LockContended, &[(3_000, 0); 8]), (8, 0, false));
        assert_eq!(of(Probe::LockContended, &[(0, 1); 8]), (8, 0, true));
    }
}
