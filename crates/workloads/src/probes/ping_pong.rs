//! Two processes that pass the CPU to each other through two pipes. The events are the context switches that the kernel
//! counts for both.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::{read, retry_on_intr, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};
use steady_linux::process::wait_for;
use steady_model::{Nanos, Reading, Timed};

use super::meter::{Meter, Who, switches, together};
use super::{Primitive, refused};
use crate::raw::{fork_and_run, opaque};

/// The read end and the write end of a pipe.
type Pipe = (OwnedFd, OwnedFd);

/// Two processes that answer each other's bytes through two pipes.
struct PingPong {
    partner: Pid,
    /// From this process to the partner.
    there: Pipe,
    /// From the partner to this process.
    back: Pipe,
    /// The numbers of repetitions that the partner must answer.
    orders: Pipe,
    /// The measurements of the partner.
    replies: Pipe,
    /// The pipe of the empty loop, without a partner. Without it, the empty loop makes no calls.
    own: Option<Pipe>,
}

/// Opens the probe. A repetition is a byte in each direction: two switches, two write(2) and two read(2) calls. The
/// empty loop writes and reads two bytes through a pipe that only this process uses.
pub(super) fn open() -> Reading<Box<dyn Primitive>> {
    ping_pong(true)
}

/// As [`open`], but the empty loop does nothing, so the cost includes that of the calls.
pub(super) fn with_calls() -> Reading<Box<dyn Primitive>> {
    ping_pong(false)
}

fn ping_pong(subtracts_calls: bool) -> Reading<Box<dyn Primitive>> {
    let ping_pong = PingPong::new(subtracts_calls).map_err(|error| refused("a second process", &error))?;
    Ok(Box::new(ping_pong))
}

impl PingPong {
    fn new(subtracts_calls: bool) -> io::Result<Self> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC);
        let [there, back, orders, replies] = [pipe()?, pipe()?, pipe()?, pipe()?];
        let own = subtracts_calls.then(pipe).transpose()?;
        let ends = Ends {
            bytes: there.0.as_fd(),
            answers: back.1.as_fd(),
            orders: orders.0.as_fd(),
            replies: replies.1.as_fd(),
        };
        let mut kept = [ends.bytes, ends.answers, ends.orders, ends.replies].map(|end| end.as_raw_fd());
        let partner = fork_and_run(&mut kept, || ends.serve())?;
        // The partner's ends stay open here too, because a signal ends the partner, and not the closing of its pipes.
        Ok(PingPong { partner, there, back, orders, replies, own })
    }
}

/// The pipe ends of the partner.
struct Ends<'a> {
    bytes: BorrowedFd<'a>,
    answers: BorrowedFd<'a>,
    orders: BorrowedFd<'a>,
    replies: BorrowedFd<'a>,
}

impl Ends<'_> {
    /// Answers orders until the pipe of orders is closed. It makes system calls only.
    fn serve(&self) -> u8 {
        let mut order = [0; 8];
        while take(self.orders, &mut order).is_ok() {
            let Ok(used) = self.answer(u64::from_ne_bytes(order)) else { return 1 };
            if give(self.replies, &packed(&used)).is_err() {
                return 1;
            }
        }
        0
    }

    fn answer(&self, loops: u64) -> io::Result<Timed> {
        give(self.replies, &packed(&Timed::default()))?;
        let meter = Meter::start(Who::Thread)?;
        for _ in 0..loops {
            let mut byte = [0];
            take(self.bytes, &mut byte)?;
            give(self.answers, &byte)?;
        }
        meter.stop()
    }
}

/// The partner's measurements in the form in which a pipe transfers them.
type Packed = [u8; 32];

fn packed(used: &Timed) -> Packed {
    let fields = [used.cpu.0, used.minor_faults, used.voluntary_switches, used.involuntary_switches];
    let mut packed = Packed::default();
    for (bytes, field) in packed.as_chunks_mut().0.iter_mut().zip(fields) {
        *bytes = field.to_ne_bytes();
    }
    packed
}

fn unpacked(packed: &Packed) -> Timed {
    let mut fields = packed.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes));
    let mut next = || fields.next().unwrap_or_default();
    Timed {
        cpu: Nanos(next()),
        minor_faults: next(),
        voluntary_switches: next(),
        involuntary_switches: next(),
        ..Timed::default()
    }
}

/// Reads all of `bytes`, which were written by a single call.
#[inline(always)]
fn take(from: impl AsFd + Copy, bytes: &mut [u8]) -> io::Result<()> {
    match retry_on_intr(|| read(from, &mut *bytes)) {
        Ok(length) if length == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(error) => Err(error.into()),
    }
}

/// Writes all of `bytes`, which are few enough for an atomic write (`PIPE_BUF`).
#[inline(always)]
fn give(to: impl AsFd + Copy, bytes: &[u8]) -> io::Result<()> {
    match retry_on_intr(|| write(to, bytes)) {
        Ok(length) if length == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(error) => Err(error.into()),
    }
}

impl Primitive for PingPong {
    fn events_per_loop(&self) -> f64 {
        2.0
    }

    fn subtracted(&self) -> &'static str {
        if self.own.is_some() { "two writes and two reads of a byte through a pipe" } else { "" }
    }

    fn calls_per_loop(&self) -> Reading<f64> {
        Ok(4.0)
    }

    fn run(&mut self, loops: u64) -> io::Result<Timed> {
        let mut reply = Packed::default();
        give(&self.orders.1, &loops.to_ne_bytes())?;
        take(&self.replies.0, &mut reply)?;
        let (there, back) = (&self.there.1, &self.back.0);
        let meter = Meter::start(Who::Thread)?;
        for _ in 0..loops {
            let mut byte = [1];
            give(there, &byte)?;
            take(back, &mut byte)?;
        }
        let own = meter.stop()?;
        take(&self.replies.0, &mut reply)?;
        let both = together(own, unpacked(&reply));
        Ok(Timed { loops, events: switches(&both), ..both })
    }

    fn empty(&mut self, loops: u64) -> io::Result<Timed> {
        let meter = Meter::start(Who::Thread)?;
        match &self.own {
            Some((reader, writer)) => {
                for _ in 0..loops {
                    for _ in 0..2 {
                        let mut byte = [1];
                        give(writer, &byte)?;
                        take(reader, &mut byte)?;
                    }
                }
            }
            None => (0..loops).for_each(|round| _ = opaque(round)),
        }
        let timed = meter.stop()?;
        Ok(Timed { loops, events: switches(&timed), ..timed })
    }
}

impl Drop for PingPong {
    fn drop(&mut self) {
        // The process exists until it is reaped here.
        let _ = kill_process(self.partner, Signal::KILL);
        let _ = wait_for(self.partner);
    }
}
