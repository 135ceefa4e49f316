//! How long the threads lived and waited, and where that is known from.

use steady_model::{Absent, Nanos, Reading};

use super::Seen;
use super::tasks::Tasks;
use crate::run::usage::Usage;

/// The main thread's CPU time counts as the tree's where they differ by no more than this share, or by two ticks of
/// the microsecond clock that rusage has.
const SAME_CPU_TIME_RATIO: f64 = 0.02;
const SAME_CPU_TIME_GRAIN: Nanos = Nanos(4_000);

/// How long the threads lived and waited.
pub(super) fn times(
    seen: &Seen,
    tasks: &Reading<Tasks>,
    usage: Usage,
    sources: &mut Vec<String>,
) -> (Reading<Nanos>, Reading<Nanos>) {
    let why = match tasks {
        Ok(Tasks { untold: Some(why), .. }) => why.clone(),
        // A record is written before its task gives its memory back, which takes CPU time and so lasts; what waits to be
        // reaped knows of that too.
        Ok(Tasks { number: 1, waiting, .. }) => {
            let of_main =
                seen.main.clone().and_then(|main| Ok(main.run_delay - seen.delayed_before.clone()?.run_delay));
            sources.push(match of_main {
                Ok(_) => "waiting: its only thread's schedstat".to_owned(),
                Err(_) => "waiting: the exit record of its only thread (taskstats)".to_owned(),
            });
            return (Ok(seen.wall), Ok(of_main.unwrap_or(*waiting)));
        }
        Ok(tasks) => {
            sources.push(format!("waiting: exit records of its {} threads (taskstats)", tasks.number));
            return (Ok(tasks.lived + (usage.cpu() - tasks.cpu)), Ok(tasks.waiting));
        }
        Err(why) => why.clone(),
    };
    match single(seen, usage) {
        Ok(waiting) => {
            sources.push("waiting: its only thread's schedstat".to_owned());
            (Ok(seen.wall), Ok(waiting))
        }
        Err(Absent(other)) => {
            let why = Absent(format!("{other}; {}", why.0));
            (Err(why.clone()), Err(why))
        }
    }
}

/// How long the first thread waited, where it is known to have been the only one.
fn single(seen: &Seen, usage: Usage) -> Reading<Nanos> {
    let main = seen.main.clone()?;
    let before = seen.delayed_before.clone()?;
    let made = [&seen.counted.forks, &seen.counted.threads].map(|count| count.clone().ok());
    let only = match made {
        [Some(forks), Some(threads)] => forks + threads == 0,
        // A second one that used no CPU time may have been there between two looks.
        _ => seen.alone && is_same(main.cpu - seen.before.cpu(), usage.cpu()),
    };
    if only {
        Ok(main.run_delay - before.run_delay)
    } else {
        Err(Absent::because("the kernel tells it of the first thread only, and there were others"))
    }
}

fn is_same(one: Nanos, other: Nanos) -> bool {
    let apart = Nanos(one.0.abs_diff(other.0));
    apart <= SAME_CPU_TIME_GRAIN || apart.seconds() <= SAME_CPU_TIME_RATIO * other.seconds()
}
