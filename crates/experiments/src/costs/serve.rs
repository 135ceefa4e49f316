//! The prober's side: one process per probe, so that none of them is dearer for what another needs: a fork copies the
//! tables of all memory, and calls on descriptors cost more where there are threads.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use steady_linux::topology::Topology;
use steady_linux::{Root, clock, process};
use steady_model::{Nanos, Repetition, Timed};
use steady_workloads::probes::{self, Place, Primitive};

use super::calibrate::calibrate;
use super::calls;
use super::protocol::{Opened, Order, Repeat, Repeated, Reply, Setup};
use steady_rulers::{Sizes, alu_seconds};

/// A repetition begins with so small a part of itself, untimed: code and data are where they are wanted then.
const WARMING_PART: u64 = 16;

/// The whole life of a prober. Returns when `steady` hangs up or something is wrong; by then no descendant is left.
pub fn serve() {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    if let Err(reason) = attend(&control) {
        // If nobody listens any more, nobody needs to know.
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
    // In the midst of a loop nobody looks at the socket.
    process::die_with_parent().map_err(failed)?;
    if has_hung_up(control) {
        return Ok(());
    }
    let cpu = setup.cpus.0;
    process::keep_to(&[cpu]).map_err(|error| failed(format!("it cannot be kept to CPU {cpu}: {error}")))?;
    if setup.only_calls {
        return say(control, &Reply::Calls(calls::per_loop(&setup))).map_err(failed);
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
pub(super) fn place(setup: &Setup) -> Place {
    let (cpu, other) = setup.cpus.clone();
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
    let repetition = Repetition { started, probe, empty, empty_first: order.empty_first };
    // Its clock may change its rate meanwhile.
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
