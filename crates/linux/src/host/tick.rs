//! Detects how the kernel splits CPU time into user and system time.

use std::hint::black_box;

use steady_model::{Absent, Nanos, Reading};

use crate::process::ChildUsage;
use crate::{clock, sys};

/// Number of threads that use a little user time and a little system time.
const THREADS: usize = 9;
/// CPU time of each kind: shorter than any tick.
const WORK: Nanos = Nanos(250_000);

/// Returns the length of the ticks at which the kernel samples whether CPU time is user or system time. If the kernel's
/// method is unknown, sampling is assumed. Takes 5 ms of CPU time.
///
/// # Errors
/// User and system time are exact: the kernel measures both at each kernel entry.
pub fn tick() -> Reading<Nanos> {
    measured().unwrap_or_else(|_| Some(clock::tick())).ok_or_else(|| Absent::because("user and system time are exact"))
}

/// Returns the length of the ticks, or `None` if there are none.
///
/// No file has this value on every system, so it is measured with threads that are shorter than a tick. A sampling
/// kernel accounts all time of such a thread as one kind; a measuring kernel never does. The threads may disagree, for
/// example if only some CPUs measure. That is an error.
fn measured() -> Reading<Option<Nanos>> {
    let start = |_| std::thread::Builder::new().spawn(both_kinds).ok();
    let threads: Vec<_> = (0..THREADS).filter_map(start).collect();
    let usages: Vec<ChildUsage> = threads.into_iter().filter_map(|thread| thread.join().ok()?.ok()).collect();
    evaluate(&usages, clock::tick())
}

/// Uses a little user time and a little system time.
fn both_kinds() -> std::io::Result<ChildUsage> {
    let mut number = 1_u64;
    let start = clock::thread_cpu();
    while clock::thread_cpu() - start < WORK {
        for _ in 0..10_000 {
            number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
    let start = clock::thread_cpu();
    while clock::thread_cpu() - start < WORK {
        for _ in 0..100 {
            black_box(rustix::process::getppid());
        }
    }
    sys::thread_usage()
}

fn evaluate(usages: &[ChildUsage], tick: Nanos) -> Reading<Option<Nanos>> {
    let of_one_kind = usages.iter().filter(|usage| usage.user == Nanos::ZERO || usage.system == Nanos::ZERO).count();
    match of_one_kind {
        _ if usages.is_empty() => Err(Absent::because("cannot start a thread")),
        0 => Ok(None),
        // A thread that waited long for a CPU may have run at two ticks.
        some if 2 * some > usages.len() => Ok(Some(tick)),
        _ => Err(Absent::because("the kernel samples the user and system time of some threads only")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steady_model::Bytes;

    fn usage(user: u64, system: u64) -> ChildUsage {
        ChildUsage {
            user: Nanos(user),
            system: Nanos(system),
            peak_memory: Bytes(0),
            minor_faults: 0,
            major_faults: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
        }
    }

    #[test]
    fn time_of_one_kind_means_ticks() {
        let tick = Nanos(4_000_000);
        let (sampled, measured) = (usage(500_000, 0), usage(300_000, 200_000));
        assert_eq!(evaluate(&[sampled, usage(0, 500_000), measured], tick), Ok(Some(tick)));
        assert_eq!(evaluate(&[measured; 9], tick), Ok(None));
        assert!(evaluate(&[sampled, measured, measured], tick).is_err());
        assert!(evaluate(&[], tick).is_err());
    }

    #[test]
    fn this_kernel_samples_or_measures() {
        let found = measured().unwrap();
        assert!(found.is_none_or(|tick| (100_000..=10_000_000).contains(&tick.0)), "{found:?}");
    }
}
