//! What loads the demonstration's server: a client, whose requests begin at moments that do not wait for answers, and a
//! neighbour, a process that streams through memory as another tenant of the machine would.

use std::io::{self, PipeWriter, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_linux::clock;
use steady_model::Nanos;
use steady_rulers::{NEIGHBOUR, Neighbour};

use super::site::ROUTES;

/// How much memory it streams through.
const BYTES: u64 = 64 << 20;
/// How long it stays or stays away, in milliseconds, where it comes and goes.
const STAY: std::ops::Range<u64> = 1_500..5_000;
/// How often it is seen whether it is all over.
const MOMENT: Duration = Duration::from_millis(50);

/// When it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    Always,
    Never,
    ComesAndGoes,
}

/// A neighbour that takes what it takes until this is dropped, or this process ends.
struct Running {
    process: Child,
    lifeline: Option<PipeWriter>,
}

impl Running {
    fn start() -> io::Result<Running> {
        let (theirs, lifeline) = io::pipe()?;
        let mut command = Command::new("/proc/self/exe");
        command.args([NEIGHBOUR, Neighbour::Stream.name(), &BYTES.to_string()]);
        let process = command.stdin(theirs).stdout(Stdio::null()).spawn()?;
        Ok(Running { process, lifeline: Some(lifeline) })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // It ends by itself now; one that does not, cannot be helped.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Has the neighbour there as its habit is, until `done`.
pub(super) fn live(habit: Habit, done: &AtomicBool) -> io::Result<()> {
    let mut running = None;
    while !done.load(Ordering::Relaxed) {
        let there = match habit {
            Habit::Always => true,
            Habit::Never => false,
            Habit::ComesAndGoes => running.is_none(),
        };
        running = match (there, running) {
            (true, Some(running)) => Some(running),
            (true, None) => Some(Running::start()?),
            (false, _) => None,
        };
        let drawn = OsRng.try_next_u64().map_err(|error| io::Error::other(error.to_string()))?;
        let stay = Duration::from_millis(STAY.start + drawn % (STAY.end - STAY.start));
        let mut left = stay;
        while !left.is_zero() && !done.load(Ordering::Relaxed) {
            thread::sleep(MOMENT.min(left));
            left = left.saturating_sub(MOMENT);
        }
    }
    Ok(())
}

/// Requests that may be under way at once.
const AT_ONCE: usize = 12;
/// Requests a second, on average; they come more and less densely over some seconds.
const RATE: f64 = 110.0;
const SWING: f64 = 0.4;
const SWING_SECONDS: f64 = 7.0;
/// An answer that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks until `done`; how many requests were answered.
pub(super) fn ask(server: SocketAddr, done: &AtomicBool) -> u64 {
    let begun = clock::monotonic();
    let next = Mutex::new(begun);
    let visitor = || {
        let mut answered = 0;
        while let Some(due) = turn(&next, begun) {
            let now = clock::monotonic();
            thread::sleep((due - now).into());
            if done.load(Ordering::Relaxed) {
                break;
            }
            answered += u64::from(visit(server).is_ok());
        }
        answered
    };
    thread::scope(|scope| {
        let visitors: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(visitor)).collect();
        visitors.into_iter().map(|visitor| visitor.join().unwrap_or(0)).sum()
    })
}

/// The moment of the next request, which is now this visitor's.
fn turn(next: &Mutex<Nanos>, begun: Nanos) -> Option<Nanos> {
    let share = (OsRng.try_next_u64().ok()? >> 11) as f64 / (1_u64 << 53) as f64;
    let mut next = next.lock().ok()?;
    let passed = (*next - begun).seconds();
    let rate = RATE * (1.0 + SWING * (passed * std::f64::consts::TAU / SWING_SECONDS).sin());
    let due = *next + Nanos::from_seconds(-(1.0 - share).ln() / rate);
    // Moments that are long past are given up: whoever could not come then does not come later.
    *next = Nanos(due.0.max(clock::monotonic().0.saturating_sub(100_000_000)));
    Some(due)
}

/// One request, answered to its end.
fn visit(server: SocketAddr) -> std::io::Result<()> {
    let drawn = OsRng.try_next_u64().map_err(|error| std::io::Error::other(error.to_string()))?;
    let route = if drawn % 100 < ROUTES[0].2 { ROUTES[0].0 } else { ROUTES[1].0 };
    let path = route.replace("<id>", &(drawn / 100 % 100_000).to_string());
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if answer.starts_with(b"HTTP/1.0 200") { Ok(()) } else { Err(std::io::Error::other("no page")) }
}
