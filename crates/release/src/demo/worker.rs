//! A process of the demonstration's server: answers requests one by one, and tells the agent of each as a service does.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_linux::clock;
use steady_preload::rulers;

use super::scene::Cast;
use super::site::{NEW_PERCENT, ROUTES, Site};
use super::{SERVICE, VERSIONS};

/// Of a hundred requests, so many have a ruler run before them.
const RULED: u64 = 40;
/// The rulers that run, by their numbers.
const KINDS: [usize; 2] = [0, 1];
/// A client that says nothing for so long is left alone.
const PATIENCE: Duration = Duration::from_secs(2);

/// The whole life of a process of the server: its standard input ends with the demonstration, its standard output is the socket
/// that it listens on. Words: which versions it has, the things on a page, and where the agent listens.
pub(crate) fn serve(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    work(words);
    ExitCode::SUCCESS
}

fn work(words: &mut dyn Iterator<Item = OsString>) {
    let mut word = || words.next().and_then(|word| word.into_string().ok());
    let cast = word().and_then(|word| Cast::ALL.into_iter().find(|cast| cast.name() == word));
    let (Some(cast), Some(things), Some(agent)) = (cast, word().and_then(|word| word.parse().ok()), word()) else {
        return;
    };
    let Ok(listener) = io::stdout().as_fd().try_clone_to_owned().map(TcpListener::from) else { return };
    thread::spawn(|| {
        // Nothing is ever written there: it ends when its other end is closed.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let Ok(socket) = UnixDatagram::unbound() else { return };
    if socket.set_nonblocking(true).is_err() {
        return;
    }
    let mut worker = Worker {
        site: Site::new(),
        cast,
        things,
        socket,
        agent: PathBuf::from(agent),
        began: clock::monotonic().0,
        number: 0,
        dropped: 0,
    };
    for stream in listener.incoming() {
        // Who hangs up has no answer.
        let _ = stream.and_then(|stream| worker.answer(stream));
    }
}

struct Worker {
    site: Site,
    cast: Cast,
    things: u64,
    socket: UnixDatagram,
    agent: PathBuf,
    began: u64,
    number: u64,
    dropped: u64,
}

impl Worker {
    /// Reads a request, answers it, and tells the agent.
    fn answer(&mut self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new((&stream).take(1_000)).read_line(&mut line)?;
        let path = line.split(' ').nth(1).unwrap_or("/");
        let (route, cost) =
            ROUTES.iter().find(|(route, ..)| begins_alike(route, path)).map_or(("/", 0), |one| (one.0, one.1));
        let version = self.version()?;
        let ruler = ruler();
        let (wall, cpu, delay) = (clock::monotonic(), clock::thread_cpu(), rulers::run_delay());
        let percent = if version == 1 { NEW_PERCENT } else { 100 };
        let begin = path.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31) + usize::from(byte));
        let page = self.site.page(begin, self.things * cost * percent / 100);
        let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
        stream.write_all(head.as_bytes())?;
        stream.write_all(page.as_bytes())?;
        let took = (clock::thread_cpu() - cpu, clock::monotonic() - wall);
        let waited = rulers::run_delay().zip(delay).map(|(now, then)| now.saturating_sub(then));
        self.number += 1;
        let mut told = format!(
            "r\t{}\t{}\t{}\t{route}\t200\t{}\t{}\t{}",
            clock::monotonic().0,
            self.number,
            VERSIONS[version],
            took.0.0,
            took.1.0,
            self.cast.assignment()
        );
        if let Some(waited) = waited {
            told.push_str(&format!("\tdelay={waited}"));
        }
        if let Some((kind, nanoseconds)) = ruler {
            told.push_str(&format!("\truler={}:{nanoseconds}", rulers::KINDS[kind]));
        }
        self.tell(&told);
        Ok(())
    }

    /// Which version answers: 0 or 1.
    fn version(&self) -> io::Result<usize> {
        Ok(match self.cast {
            Cast::Old => 0,
            Cast::New => 1,
            Cast::Coin => (coin()? % 2) as usize,
        })
    }

    /// Sends a line, and how many were dropped before; never waits.
    fn tell(&mut self, line: &str) {
        let lost = if self.dropped > 0 { format!("l\t{}\n", self.dropped) } else { String::new() };
        let datagram = format!("steady/1\t{SERVICE}\t{}\t{}\n{lost}{line}\n", std::process::id(), self.began);
        match self.socket.send_to(datagram.as_bytes(), &self.agent) {
            Ok(_) => self.dropped = 0,
            Err(_) => self.dropped += 1,
        }
    }
}

/// Whether a path is one of a route's.
fn begins_alike(route: &str, path: &str) -> bool {
    path.starts_with(route.split('<').next().unwrap_or(route))
}

fn coin() -> io::Result<u64> {
    OsRng.try_next_u64().map_err(|error| io::Error::other(error.to_string()))
}

/// A ruler before some of the requests, and what it took.
fn ruler() -> Option<(usize, u64)> {
    let drawn = coin().ok()?;
    if drawn % 100 >= RULED {
        return None;
    }
    let kind = KINDS[(drawn / 100) as usize % KINDS.len()];
    Some((kind, rulers::run(kind)?))
}
