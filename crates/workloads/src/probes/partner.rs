//! The other thread of those probes that take two.

use std::hint::spin_loop;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

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
    /// Where both have a CPU of their own, they begin together.
    start: Option<Arc<Start>>,
    thread: Option<JoinHandle<()>>,
}

/// How two threads on two CPUs begin at the same time: a thread that is woken may wait for its CPU, and the other one must
/// not be charged for what it does until then.
#[derive(Debug, Default)]
struct Start(Line<AtomicU32>);

impl Start {
    const WAITED_FOR: u32 = 0;
    const CALLED: u32 = 1;
    const BEGUN: u32 = 2;

    /// Nobody has begun.
    fn reset(&self) {
        self.0.0.store(Self::WAITED_FOR, Ordering::Release);
    }

    /// Calls the other one, and waits until it has begun.
    fn call(&self) {
        self.0.0.store(Self::CALLED, Ordering::Release);
        self.wait_for(Self::BEGUN);
    }

    fn wait_for(&self, state: u32) {
        wait_until(|| self.0.0.load(Ordering::Acquire) == state);
    }
}

/// Waits for what a thread on another CPU is about to do. Where that is not done soon, its CPU is busy with somebody else,
/// and maybe this one too: then it is asked for now and then, for who sleeps is given the CPU sooner than who spins.
#[inline(always)]
pub(super) fn wait_until(done: impl Fn() -> bool) {
    /// Some times what it takes to wake a thread on an idle CPU.
    const SPINS: u32 = 4096;
    const PAUSE: Duration = Duration::from_micros(50);
    loop {
        for _ in 0..SPINS {
            if done() {
                return;
            }
            spin_loop();
        }
        std::thread::sleep(PAUSE);
    }
}

enum Reply {
    /// It begins.
    Ready,
    /// It has done its part, and this is what it took.
    Done(Timed),
}

impl Partner {
    /// Starts it on `cpu`, which is not the caller's, or on that.
    pub(super) fn start<W>(cpu: Option<usize>, work: W) -> Reading<Self>
    where
        W: FnMut(u64) -> io::Result<()> + Send + 'static,
    {
        let (orders, received) = channel();
        let (told, replies) = channel();
        let start = cpu.map(|_| Arc::new(Start::default()));
        let called = start.clone();
        let body = move || {
            let pinned = cpu.map_or(Ok(()), |cpu| keep_to(&[cpu])).map(|()| Reply::Ready);
            let goes_on = pinned.is_ok();
            if told.send(pinned).is_ok() && goes_on {
                serve(&received, &told, called.as_deref(), work);
            }
        };
        let thread = Builder::new().name("partner".into()).spawn(body);
        let thread = thread.map_err(|error| super::refused("a second thread", &error))?;
        let partner = Partner { orders: Some(orders), replies, start, thread: Some(thread) };
        match partner.reply() {
            Ok(_) => Ok(partner),
            Err(error) => Err(Absent::because(match cpu {
                Some(cpu) => format!("a second thread cannot be kept to CPU {cpu}: {error}"),
                None => format!("a second thread: {error}"),
            })),
        }
    }

    /// Both do their parts of what `order` says at the same time: the partner begins first, then `begun` waits for whatever
    /// else has to be there, then the clock runs while the caller does its `own` part, and `after` lets the partner come to
    /// an end. What both took; the wall time is the caller's.
    pub(super) fn together(
        &mut self,
        order: u64,
        begun: impl FnOnce(),
        own: impl FnOnce() -> io::Result<()>,
        after: impl FnOnce(),
    ) -> io::Result<Timed> {
        self.orders.as_ref().ok_or_else(gone)?.send(order).map_err(|_| gone())?;
        self.reply()?;
        self.start.iter().for_each(|start| start.call());
        begun();
        let meter = Meter::start(Who::Thread)?;
        own()?;
        let timed = meter.stop()?;
        after();
        match self.reply()? {
            Reply::Done(theirs) => Ok(together(timed, theirs)),
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

fn serve(
    orders: &Receiver<u64>,
    replies: &Sender<io::Result<Reply>>,
    start: Option<&Start>,
    mut work: impl FnMut(u64) -> io::Result<()>,
) {
    for order in orders {
        start.iter().for_each(|start| start.reset());
        if replies.send(Ok(Reply::Ready)).is_err() {
            return;
        }
        start.iter().for_each(|start| start.wait_for(Start::CALLED));
        let used = Meter::start(Who::Thread).and_then(|meter| {
            start.iter().for_each(|start| start.0.0.store(Start::BEGUN, Ordering::Release));
            work(order)?;
            Ok(Reply::Done(meter.stop()?))
        });
        if replies.send(used).is_err() {
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
