//! A worker process: gets ready, waits for the start, works, and reports its runs.

mod command;
mod hash;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;
use steady_linux::Root;
use steady_linux::procfs::{SchedstatFile, SchedstatReader};
use steady_model::{Nanos, Reading};

use super::protocol::{Line, Message, Task};
pub(super) use hash::{POLLER_STACK_BYTES, sleep_and_read_clock};

/// Environment variable with the number of a worker.
const PLACE_NAME: &str = "STEADY_RUN";

/// Maximum length of an atomic write to a pipe (`PIPE_BUF`, pipe(7)).
const LONGEST_LINE: usize = 4_096;

/// Runs a worker. `words` are the arguments that follow [`super::WORKER`]; a command of the user gets `environment`.
///
/// # Errors
/// The worker cannot do its work. It ends without its last message, which the leader notices.
pub(crate) fn serve(words: &[OsString], environment: &[(OsString, OsString)]) -> io::Result<()> {
    let invalid = || io::Error::other("only the leader of a row can start a worker");
    let (task, command) = words.split_first().ok_or_else(invalid)?;
    let task: Task = serde_json::from_str(task.to_str().ok_or_else(invalid)?)?;
    let place = environment.iter().find(|(name, _)| name == OsStr::new(PLACE_NAME)).and_then(|(_, word)| word.to_str());
    let connection = LeaderConnection { place: place.and_then(|word| word.parse().ok()).ok_or_else(invalid)? };
    match task {
        Task::Hash { cpu_time, poll, seed, procs } => {
            hash::hash(&connection, cpu_time, poll, seed_of(seed, procs, connection.place))
        }
        Task::Sum { work, seed, procs } => hash::sum(&connection, work, seed_of(seed, procs, connection.place)),
        Task::Command { window } => command::run_repeatedly(&connection, window, command, environment),
    }
}

/// Returns the seed of a worker: different for every worker of every row, and determined by the seed of the experiment.
fn seed_of(seed: u64, procs: u32, place: u32) -> u64 {
    let row = steady_workloads::Random::new(seed).bits() ^ (u64::from(procs) << 32 | u64::from(place));
    steady_workloads::Random::new(row).bits()
}

/// The connection of a worker to its leader: standard input gives the start, standard output takes messages.
struct LeaderConnection {
    place: u32,
}

impl LeaderConnection {
    /// Sends a message in one write, because other workers write to the same pipe.
    fn say(&self, said: Message) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Line { place: self.place, said })?;
        line.push(b'\n');
        if line.len() > LONGEST_LINE {
            return Err(io::Error::other("the message is too long for an atomic write to the pipe"));
        }
        let written = rustix::io::retry_on_intr(|| rustix::io::write(io::stdout().as_fd(), &line))?;
        if written == line.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Waits for the start: the leader closes the other end of the pipe.
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

/// The run delay of the main thread of this process. Open it before the start, because opening is slow.
struct OwnRunDelay(Reading<SchedstatFile>);

impl OwnRunDelay {
    fn open() -> Self {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        OwnRunDelay(SchedstatReader::new(&Root::default()).and_then(|reader| reader.open(own)))
    }

    fn read(&self) -> Reading<Nanos> {
        self.0.as_ref().map_err(Clone::clone)?.read().map(|schedstat| schedstat.run_delay)
    }

    /// Returns the run delay since `before`.
    fn since(&self, before: Reading<Nanos>) -> Reading<Nanos> {
        Ok(self.read()? - before?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_worker_has_a_different_seed() {
        let all: Vec<u64> = (1..=40).flat_map(|procs| (0..procs).map(move |place| seed_of(7, procs, place))).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert_eq!(seed_of(7, 3, 2), seed_of(7, 3, 2));
        assert_ne!(seed_of(7, 3, 2), seed_of(8, 3, 2));
    }

    #[test]
    fn a_worker_without_a_task_fails() {
        assert!(serve(&[], &[]).is_err());
        assert!(serve(&["{}".into()], &[]).is_err());
    }
}
