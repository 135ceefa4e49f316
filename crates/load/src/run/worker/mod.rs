//! A worker's side: get ready, wait for the start, work, and say what was done.

mod hash;
mod place;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;
use steady_linux::Root;
use steady_linux::procfs::{SchedstatFile, SchedstatReader};
use steady_model::{Nanos, Reading};

use super::protocol::{Line, Said, Task};
pub(super) use hash::{POLLER_STACK_BYTES, sleep_and_look};

/// The variable that tells a worker its place.
const PLACE_NAME: &str = "STEADY_RUN";

/// As much as a pipe takes whole when many write to it (`PIPE_BUF`, pipe(7)).
const LONGEST_LINE: usize = 4_096;

/// The whole life of a worker. `words` are what stands behind [`super::WORKER`] on its command line; a command of the
/// user's gets `environment`.
///
/// # Errors
/// What keeps it from its work: it then leaves without having said that it is done, which its crowd notices.
pub(crate) fn serve(words: &[OsString], environment: &[(OsString, OsString)]) -> io::Result<()> {
    let nonsense = || io::Error::other("a worker is started by its crowd");
    let (task, command) = words.split_first().ok_or_else(nonsense)?;
    let task: Task = serde_json::from_str(task.to_str().ok_or_else(nonsense)?)?;
    let place = environment.iter().find(|(name, _)| name == OsStr::new(PLACE_NAME)).and_then(|(_, word)| word.to_str());
    let post = Post { place: place.and_then(|word| word.parse().ok()).ok_or_else(nonsense)? };
    match task {
        Task::Hash { cpu_time, poll, seed, procs } => {
            hash::hash(&post, cpu_time, poll, seed_of(seed, procs, post.place))
        }
        Task::Sum { work, seed, procs } => hash::sum(&post, work, seed_of(seed, procs, post.place)),
        Task::Command { window } => place::hold(&post, window, command, environment),
    }
}

/// Every worker of every row gets numbers of its own, the same whenever the seed is.
fn seed_of(seed: u64, procs: u32, place: u32) -> u64 {
    let row = steady_workloads::Random::new(seed).bits() ^ (u64::from(procs) << 32 | u64::from(place));
    steady_workloads::Random::new(row).bits()
}

/// A worker's place in its crowd: it hears the start on standard input, and speaks on standard output.
struct Post {
    place: u32,
}

impl Post {
    /// Says one line, in one write: others write to the same pipe.
    fn say(&self, said: Said) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Line { place: self.place, said })?;
        line.push(b'\n');
        if line.len() > LONGEST_LINE {
            return Err(io::Error::other("a line that would mix with those of others"));
        }
        let written = rustix::io::retry_on_intr(|| rustix::io::write(io::stdout().as_fd(), &line))?;
        if written == line.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Waits for the start: the other end of the pipe is closed then.
    fn wait_for_start(&self) -> io::Result<()> {
        loop {
            match rustix::io::read(io::stdin().as_fd(), &mut [0_u8; 1]) {
                Ok(0) => return Ok(()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// How long this process's main thread has waited for a CPU so far; opened before the start, for opening takes longer.
struct OwnDelay(Reading<SchedstatFile>);

impl OwnDelay {
    fn open() -> Self {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        OwnDelay(SchedstatReader::new(&Root::default()).and_then(|reader| reader.open(own)))
    }

    fn read(&self) -> Reading<Nanos> {
        self.0.as_ref().map_err(Clone::clone)?.read().map(|schedstat| schedstat.run_delay)
    }

    /// What was added since `before`.
    fn since(&self, before: Reading<Nanos>) -> Reading<Nanos> {
        Ok(self.read()? - before?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_workers_have_the_same_numbers() {
        let all: Vec<u64> = (1..=40).flat_map(|procs| (0..procs).map(move |place| seed_of(7, procs, place))).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert_eq!(seed_of(7, 3, 2), seed_of(7, 3, 2));
        assert_ne!(seed_of(7, 3, 2), seed_of(8, 3, 2));
    }

    #[test]
    fn a_worker_that_nobody_started_leaves() {
        assert!(serve(&[], &[]).is_err());
        assert!(serve(&["{}".into()], &[]).is_err());
    }
}
