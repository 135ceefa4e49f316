//! Whether the kernel's ticks split CPU time into user and system time.
//!
//! At each tick, a sampling kernel books the time since the last one as user or system time. It divides the exact CPU
//! time of a process in the ratio of the two. A process that no tick hit counts as user time only, so the split is
//! wrong for command lines of many short processes.

use crate::{Absent, Nanos, Reading, Run};

/// A process that used less CPU time than this many ticks may have been running at none of them.
const TICKS: f64 = 2.0;

/// The number of processes among which the CPU time of a command is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Processes {
    /// This many processes.
    Counted(f64),
    /// At most this many processes and threads.
    AtMost(f64),
    /// The number is not known.
    Unknown,
}

impl Processes {
    /// Returns the number of processes of the runs, as far as their records show it.
    pub fn of(runs: &[&Run]) -> Self {
        // The run delay is known only if the main thread used nearly all of the CPU time.
        if runs.iter().all(|run| run.run_delay.is_ok()) {
            return Processes::Counted(1.0);
        }
        // The run with the fewest has the fewest processes of others.
        let fewest = runs.iter().filter_map(|run| run.tasks_started).min();
        fewest.map_or(Processes::Unknown, |fewest| Processes::AtMost(fewest.max(1) as f64))
    }
}

/// Checks that the split of the CPU time of processes is known, if the kernel's ticks have this length.
///
/// # Errors
/// Returns why it is not. Without a length, the split is exact, or is an earlier version's and is not checked.
pub fn check(cpu: f64, processes: Processes, tick: &Reading<Nanos>, whose: &str) -> Reading<()> {
    let short = tick.as_ref().ok().and_then(|tick| too_short(cpu, processes, tick.seconds(), whose));
    short.map_or(Ok(()), Err)
}

/// Returns why ticks of this length, in seconds, do not split the CPU time of a process tree; `None` if they do.
/// `whose` names the command.
pub fn too_short(cpu: f64, processes: Processes, tick: f64, whose: &str) -> Option<Absent> {
    let number = match processes {
        Processes::Counted(number) | Processes::AtMost(number) => number,
        Processes::Unknown => {
            return Some(Absent::because(
                "its processes were not counted, so it is not known whether they were too short for the ticks at which \
                 the kernel samples user and system time",
            ));
        }
    };
    let each = cpu / number;
    if each >= TICKS * tick {
        return None;
    }
    let each = seconds(each);
    let who = match (processes, number.round() as usize) {
        (_, 0 | 1) => format!("{whose} used {each} of CPU time"),
        (Processes::AtMost(_), many) => {
            format!(
                "up to {many} processes and threads, some perhaps of other programs, shared the CPU time of {whose}: each \
                 may have used {each} on average"
            )
        }
        (_, many) => format!("the {many} processes of {whose} used {each} of CPU time each on average"),
    };
    let tick = seconds(tick);
    Some(Absent(format!(
        "{who}, less than {TICKS} ticks of {tick} each, at which the kernel samples user and system time"
    )))
}

fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_cpu_time_of_the_processes_decides() {
        let why = |cpu, processes| too_short(cpu, processes, 0.004, "OLD").map(|absent| absent.0);
        assert_eq!(why(0.15, Processes::Counted(1.0)), None);
        assert_eq!(why(0.15, Processes::AtMost(18.0)), None);
        let many = why(0.15, Processes::AtMost(122.0)).unwrap();
        assert!(many.starts_with("up to 122 processes and threads, some perhaps of other programs, shared the CPU time of OLD: each may have used 1.2 ms"), "{many}");
        let many = why(0.15, Processes::Counted(122.0)).unwrap();
        assert!(many.starts_with("the 122 processes of OLD used 1.2 ms"), "{many}");
        assert!(
            why(0.007, Processes::Counted(1.0))
                .unwrap()
                .starts_with("OLD used 7.0 ms of CPU time, less than 2 ticks of 4.0 ms each")
        );
        assert!(why(9.0, Processes::Unknown).unwrap().contains("were not counted"));
    }
}
