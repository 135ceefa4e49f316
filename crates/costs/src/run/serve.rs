//! The prober's side: one process for each probe, because a probe may make others more expensive. A fork copies the page
//! tables of all memory, and calls on descriptors cost more in a process with threads.

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
use steady_workloads::probes::{self, Place, Primitive};

use super::ROUNDS;
use super::runner::{Calibrated, Opened, Order, Repeat, Repeated, Reply, Setup};
use crate::record::{Affinity, Repetition};

/// A repetition begins with so small a part of itself, untimed: code and data are where they are wanted then.
const WARMING_PART: u64 = 16;

/// The whole life of a prober. Returns when `steady` hangs up or something is wrong; by then no descendant is left.
pub(crate) fn serve() {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    if let Err(reason) = attend(&control) {
        // If `steady` has gone, nobody needs the reason.
        let _ = say(&control, &Reply::Failed(reason));
    }
    // Errors leave nothing to be done: there is nobody to tell.
    let _ = process::end_descendants();
}

fn attend(control: &UnixStream) -> Result<(), String> {
    let mut lines = BufReader::new(control).lines();
    let Some(Ok(line)) = lines.next() else { return Ok(()) };
    let setup: Setup = serde_json::from_str(&line).map_err(failed)?;
    process::leave_session().and_then(|()| process::become_subreaper()).map_err(failed)?;
    // During a loop it does not read the socket.
    process::die_with_parent().map_err(failed)?;
    if has_hung_up(control) {
        return Ok(());
    }
    let cpu = setup.affinity.cpu;
    process::keep_to(&[cpu]).map_err(|error| failed(format!("it cannot be kept to CPU {cpu}: {error}")))?;
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

/// Where the probe is to happen.
fn place(setup: &Setup) -> Place {
    let Affinity { cpu, other_cpu: other } = setup.affinity.clone();
    let Sizes { l1, l2, shared } = Sizes::of(&Topology::probe(&Root::default()), &[cpu]);
    Place { cpu, other, l1, l2, shared }
}

/// The probe and its empty loop, in the order that was drawn.
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
    // The CPU's clock may change its rate during the loops.
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

/// What a timed loop should take: some thousand steps of the coarsest clock of CPU time that is exact, and less than the
/// slice after which the scheduler gives the CPU to another process.
const AIM: Nanos = Nanos(1_000_000);
/// On a crowded machine, what waits for others in each round takes many times its CPU time: then a loop is shorter.
const WALL_PART: u64 = 10;
/// By how much the next loop is longer while a loop is too short to be trusted.
const GROWTH: u64 = 4;
/// A loop is trusted if it took this part of the aim.
const TRUSTED_PART: u64 = 3;
/// The longest loop: no event is shorter than a hundredth of a nanosecond.
const MOST: u64 = 100_000_000;

/// Tries loops of growing length with `run`.
///
/// # Errors
/// What `run` says.
fn calibrate(probe: Probe, run: &mut dyn FnMut(u64) -> io::Result<Timed>) -> io::Result<Calibrated> {
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

/// Two loops are traced: what they differ by is what so many rounds make. The longer one has so many rounds that the few
/// calls by which two starts of a program differ are less than a hundredth of one a round.
const FEW: u64 = 2;
const MANY: u64 = 802;
/// Each round of these takes a millisecond where it is traced, and they begin alike.
const MANY_PROCESSES: u64 = 42;

/// Counts the calls of a round, all who take part together. In a process that has no other children.
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
            _ => Err(Absent::because("its loop could not be traced to its end")),
        }
    };
    let starts_processes = matches!(setup.probe, Probe::ForkExit | Probe::VforkExit | Probe::SpawnStatic);
    let many = if starts_processes { MANY_PROCESSES } else { MANY };
    Ok((counted(many)? - counted(FEW)?) / (many - FEW) as f64)
}

/// The whole life of what is traced: goes round a probe's loop. `words` are what stands behind [`ROUNDS`] on its command
/// line. Whether it did.
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
        assert_eq!(fit(5e9, 5e9), 1, "an event that takes longer than that is made once");
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
