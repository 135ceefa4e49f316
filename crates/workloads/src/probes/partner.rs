//! The other thread of those probes that take two.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use steady_linux::process::keep_to;
use steady_model::{Absent, Reading, Timed};

use super::meter::{Meter, Who, together};

/// Something with no neighbour in its cache line, nor in the one that is fetched along with it.
#[repr(align(256))]
#[derive(Debug, Default)]
pub(super) struct Line<T>(pub(super) T);

/// A thread that does its part whenever it is told how many rounds, and sleeps in between. It ends when this is dropped.
pub(super) struct Partner {
    orders: Option<Sender<u64>>,
    replies: Receiver<io::Result<Reply>>,
    thread: Option<JoinHandle<()>>,
}

enum Reply {
    /// It begins.
    Ready,
    /// It has done its part, and this is what it took.
    Done(Timed),
}

impl Partner {
    /// Starts it on `cpu`, or where the caller is.
    pub(super) fn start<W>(cpu: Option<usize>, work: W) -> Reading<Self>
    where
        W: FnMut(u64) -> io::Result<()> + Send + 'static,
    {
        let (orders, received) = channel();
        let (told, replies) = channel();
        let body = move || {
            let pinned = cpu.map_or(Ok(()), |cpu| keep_to(&[cpu])).map(|()| Reply::Ready);
            let goes_on = pinned.is_ok();
            if told.send(pinned).is_ok() && goes_on {
                serve(&received, &told, work);
            }
        };
        let thread = Builder::new().name("partner".into()).spawn(body);
        let thread = thread.map_err(|error| super::refused("a second thread", &error))?;
        let partner = Partner { orders: Some(orders), replies, thread: Some(thread) };
        match partner.reply() {
            Ok(_) => Ok(partner),
            Err(error) => Err(Absent::because(match cpu {
                Some(cpu) => format!("a second thread cannot be kept to CPU {cpu}: {error}"),
                None => format!("a second thread: {error}"),
            })),
        }
    }

    /// Both do their parts of `loops` rounds at the same time: the partner first says that it begins, then `begun` waits
    /// for whatever else has to be there, then the clock runs while the caller does its `own` part, and `after` lets the
    /// partner come to an end. What both took; the wall time is the caller's.
    pub(super) fn together(
        &mut self,
        loops: u64,
        begun: impl FnOnce(),
        own: impl FnOnce() -> io::Result<()>,
        after: impl FnOnce(),
    ) -> io::Result<Timed> {
        self.orders.as_ref().ok_or_else(gone)?.send(loops).map_err(|_| gone())?;
        self.reply()?;
        begun();
        let meter = Meter::start(Who::Thread)?;
        own()?;
        let timed = meter.stop()?;
        after();
        match self.reply()? {
            Reply::Done(theirs) => Ok(Timed { loops, ..together(timed, theirs) }),
            Reply::Ready => Err(gone()),
        }
    }

    fn reply(&self) -> io::Result<Reply> {
        self.replies.recv().unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> io::Error {
    io::Error::other("the other thread of the probe has ended")
}

fn serve(orders: &Receiver<u64>, replies: &Sender<io::Result<Reply>>, mut work: impl FnMut(u64) -> io::Result<()>) {
    for loops in orders {
        if replies.send(Ok(Reply::Ready)).is_err() {
            return;
        }
        let metered = || {
            let meter = Meter::start(Who::Thread)?;
            work(loops)?;
            Ok(Reply::Done(meter.stop()?))
        };
        let mut metered = metered;
        if replies.send(metered()).is_err() {
            return;
        }
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to say that was not said by its replies.
            let _ = thread.join();
        }
    }
}
