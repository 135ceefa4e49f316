//! A process of the demonstration's server: answers requests one by one and reports each to the agent.

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

use super::scene::Versions;
use super::site::{NEW_PERCENT, ROUTES, Site};
use super::{SERVICE, VERSIONS};

/// Share of the requests before which a ruler runs, in per cent.
const RULED: u64 = 40;
/// Rulers that run, by their index.
const KINDS: [usize; 2] = [0, 1];
/// Timeout for reading and writing on a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// Main function of a process of the server.
///
/// Its standard input is a pipe that closes when the phase ends, and its standard output is the socket that it listens
/// on. `words` are the versions that it runs, the number of items on a page, and the path of the agent's socket.
pub(crate) fn serve(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    work(words);
    ExitCode::SUCCESS
}

fn work(words: &mut dyn Iterator<Item = OsString>) {
    let mut word = || words.next().and_then(|word| word.into_string().ok());
    let versions = word().and_then(|word| Versions::ALL.into_iter().find(|versions| versions.name() == word));
    let (Some(versions), Some(things), Some(agent)) = (versions, word().and_then(|word| word.parse().ok()), word())
    else {
        return;
    };
    let Ok(listener) = io::stdout().as_fd().try_clone_to_owned().map(TcpListener::from) else { return };
    thread::spawn(|| {
        // Nothing is written to the pipe. Reading ends when its other end is closed.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let Ok(socket) = UnixDatagram::unbound() else { return };
    if socket.set_nonblocking(true).is_err() {
        return;
    }
    let mut worker = Worker {
        site: Site::new(),
        versions,
        things,
        socket,
        agent: PathBuf::from(agent),
        began: clock::monotonic().0,
        number: 0,
        dropped: 0,
    };
    for stream in listener.incoming() {
        // A client that closes its connection gets no response.
        let _ = stream.and_then(|stream| worker.answer(stream));
    }
}

struct Worker {
    site: Site,
    versions: Versions,
    things: u64,
    socket: UnixDatagram,
    agent: PathBuf,
    began: u64,
    number: u64,
    dropped: u64,
}

impl Worker {
    /// Reads a request, answers it, and reports it to the agent.
    fn answer(&mut self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new((&stream).take(1_000)).read_line(&mut line)?;
        let path = line.split(' ').nth(1).unwrap_or("/");
        let (route, cost) =
            ROUTES.iter().find(|(route, ..)| is_on_route(route, path)).map_or(("/", 0), |one| (one.0, one.1));
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
        let mut line = format!(
            "r\t{}\t{}\t{}\t{route}\t200\t{}\t{}\t{}",
            clock::monotonic().0,
            self.number,
            VERSIONS[version],
            took.0.0,
            took.1.0,
            self.versions.assignment()
        );
        if let Some(waited) = waited {
            line.push_str(&format!("\tdelay={waited}"));
        }
        if let Some((kind, nanoseconds)) = ruler {
            line.push_str(&format!("\truler={}:{nanoseconds}", rulers::KINDS[kind]));
        }
        self.report(&line);
        Ok(())
    }

    /// Chooses the version that answers: 0 for OLD, 1 for NEW.
    fn version(&self) -> io::Result<usize> {
        Ok(match self.versions {
            Versions::Old => 0,
            Versions::New => 1,
            Versions::Coin => (coin()? % 2) as usize,
        })
    }

    /// Sends a line to the agent, with the number of lines dropped before. Never waits.
    fn report(&mut self, line: &str) {
        let lost = if self.dropped > 0 { format!("l\t{}\n", self.dropped) } else { String::new() };
        let datagram = format!("steady/1\t{SERVICE}\t{}\t{}\n{lost}{line}\n", std::process::id(), self.began);
        match self.socket.send_to(datagram.as_bytes(), &self.agent) {
            Ok(_) => self.dropped = 0,
            Err(_) => self.dropped += 1,
        }
    }
}

/// Returns whether a path belongs to a route.
fn is_on_route(route: &str, path: &str) -> bool {
    path.starts_with(route.split('<').next().unwrap_or(route))
}

fn coin() -> io::Result<u64> {
    OsRng.try_next_u64().map_err(|error| io::Error::other(error.to_string()))
}

/// Runs a ruler before some of the requests. Returns its index and its reading in nanoseconds.
fn ruler() -> Option<(usize, u64)> {
    let drawn = coin().ok()?;
    if drawn % 100 >= RULED {
        return None;
    }
    let kind = KINDS[(drawn / 100) as usize % KINDS.len()];
    Some((kind, rulers::run(kind)?))
}
