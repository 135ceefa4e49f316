//! The second thread of probes that need two.

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

/// A value with a cache line of its own, and without neighbours in the adjacent line, which CPUs prefetch.
#[repr(align(256))]
#[derive(Debug, Default)]
pub(super) struct Line<T>(pub(super) T);

/// A thread that runs its part for each order, and sleeps between orders. It ends when this is dropped.
pub(super) struct Partner {
    orders: Option<Sender<u64>>,
    replies: Receiver<io::Result<Reply>>,
    /// If both threads have a CPU of their own, they start at the same time.
    start: Option<Arc<Start>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts two threads on two CPUs at the same time. A thread that is woken may wait for its CPU, and the time of the
/// other thread until then must not count.
#[derive(Debug, Default)]
struct Start(Line<AtomicU32>);

impl Start {
    const WAITED_FOR: u32 = 0;
    const CALLED: u32 = 1;
    const BEGUN: u32 = 2;

    /// Sets the state before the start.
    fn reset(&self) {
        self.0.0.store(Self::WAITED_FOR, Ordering::Release);
    }

    /// Signals the other thread, and waits until it has started.
    fn call(&self) {
        self.0.0.store(Self::CALLED, Ordering::Release);
        self.wait_for(Self::BEGUN);
    }

    fn wait_for(&self, state: u32) {
        wait_until(|| self.0.0.load(Ordering::Acquire) == state);
    }
}

/// Waits for a thread on another CPU. If that takes long, another program uses its CPU, and possibly this one too. The
/// thread then checks only occasionally and sleeps in between, because the scheduler prefers threads that slept to
/// threads that spin.
#[inline(always)]
pub(super) fn wait_until(done: impl Fn() -> bool) {
    /// A few times the duration of waking a thread on an idle CPU.
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
    /// The thread is ready to start.
    Ready,
    /// The thread has done its part, with these measurements.
    Done(Timed),
}

impl Partner {
    /// Starts the thread on `cpu`, which must differ from the caller's. With `None`, it shares the caller's CPU.
    pub(super) fn start<W>(cpu: Option<usize>, work: W) -> Reading<Self>
    where
        W: FnMut(u64) -> io::Result<()> + Send + 'static,
    {
        let (orders, received) = channel();
        let (sender, replies) = channel();
        let start = cpu.map(|_| Arc::new(Start::default()));
        let called = start.clone();
        let body = move || {
            let pinned = cpu.map_or(Ok(()), |cpu| keep_to(&[cpu])).map(|()| Reply::Ready);
            let goes_on = pinned.is_ok();
            if sender.send(pinned).is_ok() && goes_on {
                serve(&received, &sender, called.as_deref(), work);
            }
        };
        let thread = Builder::new().name("partner".into()).spawn(body);
        let thread = thread.map_err(|error| super::refused("a second thread", &error))?;
        let partner = Partner { orders: Some(orders), replies, start, thread: Some(thread) };
        match partner.reply() {
            Ok(_) => Ok(partner),
            Err(error) => Err(Absent::because(match cpu {
                Some(cpu) => format!("a second thread cannot be pinned to CPU {cpu}: {error}"),
                None => format!("a second thread: {error}"),
            })),
        }
    }

    /// Runs both parts of `order` concurrently. The partner starts first, then `begun` waits for further conditions.
    /// The caller's `own` part is timed, and `after` lets the partner finish. Returns the use of both threads, with the
    /// caller's wall time.
    pub(super) fn together(
        &mut self,
        order: u64,
        begun: impl FnOnce(),
        own: impl FnOnce() -> io::Result<()>,
        after: impl FnOnce(),
    ) -> io::Result<Timed> {
        self.orders.as_ref().ok_or_else(partner_ended)?.send(order).map_err(|_| partner_ended())?;
        self.reply()?;
        self.start.iter().for_each(|start| start.call());
        begun();
        let meter = Meter::start(Who::Thread)?;
        own()?;
        let timed = meter.stop()?;
        after();
        match self.reply()? {
            Reply::Done(theirs) => Ok(together(timed, theirs)),
            Reply::Ready => Err(partner_ended()),
        }
    }

    fn reply(&self) -> io::Result<Reply> {
        self.replies.recv().unwrap_or_else(|_| Err(partner_ended()))
    }
}

fn partner_ended() -> io::Error {
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
            // An error of the thread was already reported by its replies.
            let _ = thread.join();
        }
    }
}
