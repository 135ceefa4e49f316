//! Load on the demonstration's server: a client that sends requests without waiting for responses, and a neighbour, a
//! process that streams through memory like another tenant of the machine.

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

/// Memory that the neighbour streams through, in bytes.
const BYTES: u64 = 64 << 20;
/// Time between starting and stopping the neighbour with [`Habit::ComesAndGoes`], in milliseconds.
const STAY: std::ops::Range<u64> = 1_500..5_000;
/// Interval between checks whether the phase is over.
const MOMENT: Duration = Duration::from_millis(50);

/// When the neighbour runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    Always,
    Never,
    ComesAndGoes,
}

/// A neighbour process that runs until this value is dropped or this process ends.
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
        // Closing the pipe ends the process. The kill is a fallback.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts and stops the neighbour according to its habit until `done`.
pub(super) fn run_neighbour(habit: Habit, done: &AtomicBool) -> io::Result<()> {
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

/// Largest number of concurrent requests.
const CONCURRENT: usize = 12;
/// Requests per second on average.
const RATE: f64 = 110.0;
/// Relative amplitude of the rate, which follows a sine.
const SWING: f64 = 0.4;
/// Period of the rate, in seconds.
const SWING_SECONDS: f64 = 7.0;
/// Timeout of a request.
const PATIENCE: Duration = Duration::from_secs(2);

/// Sends requests until `done`. Returns the number of requests that were answered.
pub(super) fn send_requests(server: SocketAddr, done: &AtomicBool) -> u64 {
    let begun = clock::monotonic();
    let next = Mutex::new(begun);
    let visitor = || {
        let mut answered = 0;
        while let Some(due) = next_time(&next, begun) {
            let now = clock::monotonic();
            thread::sleep((due - now).into());
            if done.load(Ordering::Relaxed) {
                break;
            }
            answered += u64::from(request(server).is_ok());
        }
        answered
    };
    thread::scope(|scope| {
        let visitors: Vec<_> = (0..CONCURRENT).map(|_| scope.spawn(visitor)).collect();
        visitors.into_iter().map(|visitor| visitor.join().unwrap_or(0)).sum()
    })
}

/// Draws the time of the next request (a Poisson process whose rate changes), for the calling thread to send it.
fn next_time(next: &Mutex<Nanos>, begun: Nanos) -> Option<Nanos> {
    let share = (OsRng.try_next_u64().ok()? >> 11) as f64 / (1_u64 << 53) as f64;
    let mut next = next.lock().ok()?;
    let passed = (*next - begun).seconds();
    let rate = RATE * (1.0 + SWING * (passed * std::f64::consts::TAU / SWING_SECONDS).sin());
    let due = *next + Nanos::from_seconds(-(1.0 - share).ln() / rate);
    // Requests that are more than 0.1 s late are dropped, so that a slow phase is not followed by a burst.
    *next = Nanos(due.0.max(clock::monotonic().0.saturating_sub(100_000_000)));
    Some(due)
}

/// Sends a request and reads the whole response.
fn request(server: SocketAddr) -> std::io::Result<()> {
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
