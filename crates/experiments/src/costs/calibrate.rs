//! How many rounds make a timed loop: long enough for its clock, short enough to go undisturbed.

use std::io;

use steady_model::{Nanos, Probe, Timed};

use super::protocol::Calibrated;

/// What a timed loop should take: some thousand steps of the coarsest clock of CPU time that is exact, and less than the
/// slice after which a scheduler gives the CPU to somebody else.
const AIM: Nanos = Nanos(1_000_000);
/// On a crowded machine, what waits for others in each round takes many times its CPU time: then a loop is shorter.
const WALL_PART: u64 = 10;
/// By how much the next loop is longer while a loop is too short to be trusted.
const GROWTH: u64 = 4;
/// A loop that took this part of what it should is trusted.
const TRUSTED_PART: u64 = 3;
/// The longest loop: events shorter than a hundredth of a nanosecond there are none.
const MOST: u64 = 100_000_000;

/// Tries loops of growing length with `run`.
///
/// # Errors
/// What `run` says.
pub(super) fn calibrate(probe: Probe, run: &mut dyn FnMut(u64) -> io::Result<Timed>) -> io::Result<Calibrated> {
    // The first round finds nothing where it is wanted.
    run(1)?;
    let mut loops = 1;
    loop {
        let tried = run(loops)?;
        let took = took(probe, &tried);
        if took.0 * TRUSTED_PART >= AIM.0 || loops >= MOST {
            let fit = u128::from(loops) * u128::from(AIM.0) / u128::from(took.0.max(1));
            return Ok(Calibrated { loops: u64::try_from(fit).unwrap_or(MOST).clamp(1, MOST), tried });
        }
        loops = (loops * GROWTH).min(MOST);
    }
}

/// What a loop is held to have taken: the time that its cost is made of, or more where it mostly waited.
fn took(probe: Probe, timed: &Timed) -> Nanos {
    let cost = if probe.costs_cpu_time() { timed.cpu } else { timed.wall };
    cost.max(Nanos(timed.wall.0 / WALL_PART))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loops whose rounds take so many nanoseconds, in all and on a CPU.
    fn fit(wall: f64, cpu: f64) -> u64 {
        let nanos = |each: f64, loops: u64| Nanos((each * loops as f64) as u64);
        let mut run = |loops| Ok(Timed { loops, wall: nanos(wall, loops), cpu: nanos(cpu, loops), ..Timed::default() });
        calibrate(Probe::SystemCall, &mut run).unwrap().loops
    }

    #[test]
    fn a_loop_takes_a_millisecond() {
        assert!((fit(100.0, 100.0) as f64 / 1e4 - 1.0).abs() < 0.01);
        assert!((fit(0.3, 0.3) as f64 / 3.33e6 - 1.0).abs() < 0.01);
        assert_eq!(fit(500_000.0, 500_000.0), 2);
        assert_eq!(fit(5e9, 5e9), 1, "an event that is dearer than all of it is made once");
    }

    #[test]
    fn what_waits_for_others_is_made_less_often() {
        assert_eq!(fit(10_000_000.0, 60_000.0), 1);
    }

    #[test]
    fn what_takes_nothing_ends_all_the_same() {
        assert_eq!(fit(0.0, 0.0), MOST);
    }

    #[test]
    fn what_fails_is_told() {
        let mut run = |_| Err(io::Error::other("no more processes"));
        assert!(calibrate(Probe::ForkExit, &mut run).is_err());
    }
}
