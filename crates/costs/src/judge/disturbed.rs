//! Detects repetitions in which other processes used the CPU.

use steady_model::{Probe, Timed};
use steady_stats::descriptive::quantile;

use super::FEWEST;
use crate::record::{Measured, Repetition};

/// With a smaller undisturbed share than this, the undisturbed repetitions are not a fair sample.
const LEAST_SHARE: f64 = 0.1;
/// Wall time may exceed the CPU time of the processes that take part by this share...
const TOLERANCE: f64 = 0.1;
/// ... plus this time. Interrupts and the ends of processes are not charged to the processes.
const TOLERANCE_SECONDS: f64 = 30e-6;
/// On a quiet machine, wall time is at most this multiple of the CPU time that is charged to the processes.
const MOST_UNCHARGED: f64 = 1.5;
/// Quantile of the repetitions that represents a quiet machine.
const QUIET_SHARE: f64 = 0.1;

/// The repetitions that a cost is computed from.
pub(crate) struct Kept<'a> {
    pub(crate) repetitions: Vec<&'a Repetition>,
    /// Number of excluded repetitions.
    pub(crate) set_apart: usize,
    /// Whether nearly all were disturbed. None are excluded then.
    pub(crate) all_disturbed: bool,
}

impl<'a> Kept<'a> {
    /// Selects the undisturbed repetitions, or all if too few are undisturbed. Repetitions in which the event never
    /// happened are ignored.
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

    /// Share of the repetitions in which other processes used the CPU.
    pub(crate) fn disturbed_share(&self) -> f64 {
        let all = (self.repetitions.len() + self.set_apart).max(1);
        if self.all_disturbed { 1.0 } else { self.set_apart as f64 / all as f64 }
    }
}

/// Properties of a probe's repetitions on a quiet machine.
struct Quiet {
    probe: Probe,
    /// Wall time divided by the CPU time of the processes that take part, for the loop and for the empty loop.
    uncharged: [f64; 2],
    /// Number of times that an event makes the kernel take the CPU from a process that takes part.
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
        let uncharged = [best(&|repetition| ratio(&repetition.probe)), best(&|repetition| ratio(&repetition.empty))];
        let own = best(&|repetition| repetition.probe.involuntary_switches as f64 / repetition.probe.events as f64);
        Quiet {
            probe,
            uncharged: uncharged.map(|ratio| ratio.clamp(1.0, MOST_UNCHARGED)),
            own_switches: if has_switches(probe) { own.ceil().min(1.0) } else { 0.0 },
        }
    }

    fn is_disturbed(&self, repetition: &Repetition) -> bool {
        let Repetition { probe, empty, .. } = repetition;
        let own = self.own_switches * probe.events as f64;
        // On two CPUs the processes wait for each other, so wall time does not show a disturbance.
        let shared = !self.probe.needs_two_cpus();
        let waited = shared && beyond(probe, self.uncharged[0]) || beyond(empty, self.uncharged[1]);
        let preempted = !switches(self.probe) && probe.involuntary_switches as f64 > own;
        waited || preempted || empty.involuntary_switches > 0
    }
}

/// Whether other processes used the CPU for a part of the wall time.
fn beyond(timed: &Timed, uncharged: f64) -> bool {
    timed.wall.seconds() > timed.cpu.seconds() * uncharged * (1.0 + TOLERANCE) + TOLERANCE_SECONDS
}

/// Whether the event itself is a context switch. Switches then do not show other processes.
fn switches(probe: Probe) -> bool {
    matches!(
        probe,
        Probe::ProcessSwitch | Probe::PublishedProcessSwitch | Probe::ThreadSwitchCondvar | Probe::ThreadSwitchFutex
    )
}

/// Whether the processes that take part may preempt each other, about once per event.
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

    /// Evaluates repetitions given as waiting time in microseconds and number of preemptions.
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
    fn preempted_repetitions_are_excluded() {
        let mut loops = vec![(2, 0); 20];
        loops.extend([(3_000, 1), (3_000, 0), (2, 1)]);
        assert_eq!(of(Probe::SystemCall, &loops), (20, 3, false));
    }

    #[test]
    fn switches_of_the_event_itself_are_no_disturbance() {
        let mut loops = vec![(2, 7); 20];
        loops.push((3_000, 7));
        assert_eq!(of(Probe::ProcessSwitch, &loops), (20, 1, false));
        assert_eq!(of(Probe::FunctionCall, &loops), (21, 0, true));
    }

    #[test]
    fn time_charged_to_no_process_is_no_disturbance() {
        let mut loops = vec![(200, 0); 20];
        loops.push((2_000, 0));
        assert_eq!(of(Probe::ForkExit, &loops), (20, 1, false));
        assert_eq!(of(Probe::ForkExit, &[(4_000, 0); 20]), (20, 0, true), "even the best repetitions are disturbed");
    }

    #[test]
    fn one_preemption_by_the_parent_of_a_program_is_no_disturbance() {
        let mut loops = vec![(2, 10); 20];
        loops.extend([(2, 9), (2, 11), (4_000, 10)]);
        assert_eq!(of(Probe::SpawnStatic, &loops), (21, 2, false));
        assert_eq!(of(Probe::SpawnStatic, &[(2, 25); 20]), (20, 0, true));
    }

    #[test]
    fn too_few_undisturbed_repetitions_exclude_none() {
        let mut loops = vec![(3_000, 2); 20];
        loops.extend([(2, 0); 5]);
        assert_eq!(of(Probe::SystemCall, &loops), (25, 0, true));
        loops.push((2, 0));
        assert_eq!(of(Probe::SystemCall, &loops), (6, 20, false));
    }

    #[test]
    fn on_two_cpus_only_switches_show_a_disturbance() {
        assert_eq!(of(Probe::LockContended, &[(3_000, 0); 8]), (8, 0, false));
        assert_eq!(of(Probe::LockContended, &[(0, 1); 8]), (8, 0, true));
    }
}
