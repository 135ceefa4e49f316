//! The prober process. Each probe has its own process, because probes may make each other more expensive. A fork copies
//! the page tables of all memory, and system calls on descriptors cost more in a process with threads.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_linux::process::{Attached, Status};
use steady_linux::topology::Topology;
use steady_linux::{Root, clock, process, tracer};
use steady_model::{Absent, Nanos, Probe, Reading, Timed};
use steady_process::channel::OWN_PROGRAM;
use steady_rulers::{Sizes, alu_seconds};
use steady_workloads::probes::{self, Primitive, ProbeCpus};

use super::ROUNDS;
use super::runner::{Calibrated, Opened, Order, Repeat, Repeated, Reply, Setup};
use crate::record::{Affinity, Repetition};

/// Each timed loop is preceded by an untimed loop of its length divided by this, to warm the caches.
const WARMING_PART: u64 = 16;

/// Main function of a prober. Returns when `steady` closes the connection or an error occurs. No descendant is left
/// then.
pub(crate) fn serve() {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    if let Err(reason) = attend(&control) {
        // This fails only if `steady` has ended, and then the reason is not needed.
        let _ = say(&control, &Reply::Failed(reason));
    }
    // There is no one to report an error to.
    let _ = process::end_descendants();
}

fn attend(control: &UnixStream) -> Result<(), String> {
    let mut lines = BufReader::new(control).lines();
    let Some(Ok(line)) = lines.next() else { return Ok(()) };
    let setup: Setup = serde_json::from_str(&line).map_err(failed)?;
    process::leave_session().and_then(|()| process::become_subreaper()).map_err(failed)?;
    // During a loop this process does not notice that the connection was closed, so the kernel must end it.
    process::die_with_parent().map_err(failed)?;
    if has_hung_up(control) {
        return Ok(());
    }
    let cpu = setup.affinity.cpu;
    process::keep_to(&[cpu]).map_err(|error| failed(format!("the process cannot be kept to CPU {cpu}: {error}")))?;
    if setup.only_calls {
        return say(control, &Reply::Calls(calls_per_loop(&setup))).map_err(failed);
    }
    let mut primitive = match probes::open(setup.probe, &place(&setup)) {
        Ok(primitive) => primitive,
        Err(absent) => return say(control, &Reply::Absent(absent.0)).map_err(failed),
    };
    let opened = Opened {
        events_per_loop: primitive.events_per_loop(),
        subtracted: primitive.subtracted().to_owned(),
        calls_per_loop: primitive.calls_per_loop(),
    };
    say(control, &Reply::Ready(opened)).map_err(failed)?;
    while let Some(Ok(line)) = lines.next() {
        let reply = match serde_json::from_str(&line).map_err(failed)? {
            Order::Calibrate => {
                calibrate(setup.probe, &mut |loops| primitive.run(loops)).map(Reply::Calibrated).map_err(failed)?
            }
            Order::Repeat(order) => {
                repeat(primitive.as_mut(), order, setup.epoch).map(Reply::Repeated).map_err(failed)?
            }
        };
        say(control, &reply).map_err(failed)?;
    }
    Ok(())
}

/// The CPUs and working sets for the probe.
fn place(setup: &Setup) -> ProbeCpus {
    let Affinity { cpu, other_cpu: other } = setup.affinity.clone();
    let Sizes { l1, l2, shared } = Sizes::of(&Topology::probe(&Root::default()), &[cpu]);
    ProbeCpus { cpu, other, l1, l2, shared }
}

/// Times the loop and the empty loop in the requested order.
fn repeat(primitive: &mut dyn Primitive, order: Repeat, epoch: Nanos) -> io::Result<Repeated> {
    let started = clock::monotonic() - epoch;
    let before = alu_seconds();
    let (probe, empty) = if order.empty_first {
        let empty = timed(order.loops, &mut |loops| primitive.empty(loops))?;
        (timed(order.loops, &mut |loops| primitive.run(loops))?, empty)
    } else {
        let probe = timed(order.loops, &mut |loops| primitive.run(loops))?;
        (probe, timed(order.loops, &mut |loops| primitive.empty(loops))?)
    };
    let repetition = Repetition { started_seconds: started, probe, empty, empty_first: order.empty_first };
    // The clock rate may change during the loops.
    Ok(Repeated { repetition, alu_seconds: (before + alu_seconds()) / 2.0 })
}

fn timed(loops: u64, run: &mut dyn FnMut(u64) -> io::Result<Timed>) -> io::Result<Timed> {
    run((loops / WARMING_PART).max(1))?;
    run(loops)
}

fn has_hung_up(control: &UnixStream) -> bool {
    let mut watched = [PollFd::new(control, PollFlags::empty())];
    matches!(poll(&mut watched, Some(&Timespec::default())), Ok(1..))
}

fn failed(reason: impl ToString) -> String {
    reason.to_string()
}

fn say(mut control: &UnixStream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    control.write_all(&line)
}

/// Target time of a timed loop: thousands of steps of the coarsest precise CPU clock, and less than a time slice of the
/// scheduler.
const AIM: Nanos = Nanos(1_000_000);
/// On a busy machine, a probe that waits for other processes takes many times its CPU time. Its loop is limited to this
/// multiple of the target in wall time.
const WALL_PART: u64 = 10;
/// Factor from one trial loop to the next.
const GROWTH: u64 = 4;
/// A trial loop is long enough if it took the target time divided by this.
const TRUSTED_PART: u64 = 3;
/// Maximal number of rounds, enough for events of a hundredth of a nanosecond.
const MOST: u64 = 100_000_000;

/// Finds the number of rounds by trying loops of growing length with `run`.
///
/// # Errors
/// Errors of `run`.
fn calibrate(probe: Probe, run: &mut dyn FnMut(u64) -> io::Result<Timed>) -> io::Result<Calibrated> {
    // The first round is slow because all caches are cold.
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

/// Time of a loop for the calibration: CPU time or wall time, or more if the loop mostly waited.
fn took(probe: Probe, timed: &Timed) -> Nanos {
    let cost = if probe.costs_cpu_time() { timed.cpu } else { timed.wall };
    cost.max(Nanos(timed.wall.0 / WALL_PART))
}

/// Two loops are traced, and their difference is the number of calls of the additional rounds. The longer loop has many
/// rounds, so that a few different calls at the start of the program are less than 0.01 calls per round.
const FEW: u64 = 2;
const MANY: u64 = 802;
/// Rounds for probes that start processes: a traced round takes a millisecond, and the starts do not differ.
const MANY_PROCESSES: u64 = 42;

/// Counts the system calls of a round, over all processes that take part. This process must have no other children.
fn calls_per_loop(setup: &Setup) -> Reading<f64> {
    let counted = |rounds: u64| -> Reading<f64> {
        let words = serde_json::to_string(setup).map_err(|error| Absent::because(error.to_string()))?;
        let number = rounds.to_string();
        let words = ["steady", ROUNDS, &words, &number].map(OsStr::new);
        let command =
            Attached::new(Path::new(OWN_PROGRAM), words).map_err(|error| Absent::because(error.to_string()))?;
        let counted = tracer::count(&command)?;
        match counted.status {
            Status::Exited(0) => Ok(counted.counts.calls() as f64),
            _ => Err(Absent::because("the traced loop failed")),
        }
    };
    let starts_processes = matches!(setup.probe, Probe::ForkExit | Probe::VforkExit | Probe::SpawnStatic);
    let many = if starts_processes { MANY_PROCESSES } else { MANY };
    Ok((counted(many)? - counted(FEW)?) / (many - FEW) as f64)
}

/// Main function of the traced process: runs a probe's loop. `words` are the arguments after [`ROUNDS`]. Returns
/// whether it succeeded.
pub(crate) fn rounds(words: &mut dyn Iterator<Item = OsString>) -> bool {
    let Some(setup) = words.next().and_then(|word| serde_json::from_str::<Setup>(word.to_str()?).ok()) else {
        return false;
    };
    let Some(rounds) = words.next().and_then(|word| word.to_str()?.parse().ok()) else { return false };
    if process::keep_to(&[setup.affinity.cpu]).is_err() {
        return false;
    }
    let opened = probes::open(setup.probe, &place(&setup));
    opened.is_ok_and(|mut primitive| primitive.run(rounds).is_ok())
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Calibrates a loop whose rounds take `wall` nanoseconds of wall time and `cpu` nanoseconds of CPU time.
    fn fit(wall: f64, cpu: f64) -> u64 {
        let nanos = |each: f64, loops: u64| Nanos((each * loops as f64) as u64);
        let mut run = |loops| Ok(Timed { loops, wall: nanos(wall, loops), cpu: nanos(cpu, loops), ..Timed::default() });
        calibrate(Probe::SystemCall, &mut run).unwrap().loops
    }

    #[test]
    fn a_calibrated_loop_takes_a_millisecond() {
        assert!((fit(100.0, 100.0) as f64 / 1e4 - 1.0).abs() < 0.01);
        assert!((fit(0.3, 0.3) as f64 / 3.33e6 - 1.0).abs() < 0.01);
        assert_eq!(fit(500_000.0, 500_000.0), 2);
        assert_eq!(fit(5e9, 5e9), 1, "a longer event runs once");
    }

    #[test]
    fn loops_that_mostly_wait_are_shorter() {
        assert_eq!(fit(10_000_000.0, 60_000.0), 1);
    }

    #[test]
    fn calibration_of_an_event_without_cost_ends() {
        assert_eq!(fit(0.0, 0.0), MOST);
    }

    #[test]
    fn errors_of_the_loop_are_returned() {
        let mut run = |_| Err(io::Error::other("no more processes"));
        assert!(calibrate(Probe::ForkExit, &mut run).is_err());
    }
}
