//! Scheduling statistics of one thread: CPU time, run delay and migrations.

use std::ffi::CStr;
use std::io::Write;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;
use steady_model::{Absent, Nanos, Reading};

use super::number;
use crate::Root;
use crate::root::{OpenText, unreadable};

const OWN_SCHED: &str = "/proc/self/sched";

/// Scheduling statistics of a thread since its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedstat {
    /// Time on a CPU.
    pub cpu: Nanos,
    /// Time spent runnable, waiting for a CPU.
    pub run_delay: Nanos,
    /// Number of times that it was given a CPU.
    pub timeslices: u64,
}

/// Parses the text of `/proc/PID/schedstat`.
///
/// A kernel without such statistics writes three zeros, which is an error here.
pub fn parse_schedstat(text: &str) -> Reading<Schedstat> {
    let mut fields = text.split_ascii_whitespace();
    let cpu = Nanos(number(fields.next(), "CPU time in schedstat")?);
    let run_delay = Nanos(number(fields.next(), "run delay in schedstat")?);
    let timeslices = number(fields.next(), "number of timeslices in schedstat")?;
    if cpu == Nanos::ZERO && run_delay == Nanos::ZERO && timeslices == 0 {
        return Err(Absent::because("the kernel keeps no scheduling statistics (CONFIG_SCHEDSTATS)"));
    }
    Ok(Schedstat { cpu, run_delay, timeslices })
}

/// Reads the scheduling statistics of many processes, with three system calls for each.
///
/// It keeps `/proc` open and allocates no memory, because it runs between measurements.
#[derive(Debug)]
pub struct SchedstatReader {
    proc: OwnedFd,
}

impl SchedstatReader {
    /// Makes a reader for the processes of `root`. Without `/proc` there is none.
    pub fn new(root: &Root) -> Reading<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match open(root.path("/proc"), flags, Mode::empty()) {
            Ok(proc) => Ok(SchedstatReader { proc }),
            Err(error) => Err(unreadable("/proc", &error.into())),
        }
    }

    /// Reads the statistics of the main thread of process `pid`, without its other threads and its children.
    ///
    /// A process that has ended can be read until it is reaped. There are no statistics without kernel support, for a
    /// process that does not exist, and for one that has not run yet.
    ///
    /// Source: `/proc/PID/schedstat`, `Documentation/scheduler/sched-stats.rst`.
    pub fn read(&self, pid: i32) -> Reading<Schedstat> {
        self.open(pid)?.read()
    }

    /// Opens the statistics of process `pid` to read them later. Opening costs more than reading, and can be done while
    /// the process runs.
    pub fn open(&self, pid: i32) -> Reading<SchedstatFile> {
        let mut path = [0_u8; 32];
        self.open_at(pid, &mut path).map(SchedstatFile).map_err(|errno| self.reason(pid, errno))
    }

    fn open_at(&self, pid: i32, path: &mut [u8; 32]) -> Result<OwnedFd, Errno> {
        write!(path.as_mut_slice(), "{pid}/schedstat\0").map_err(|_| Errno::NAMETOOLONG)?;
        let path = CStr::from_bytes_until_nul(path).map_err(|_| Errno::NAMETOOLONG)?;
        openat(&self.proc, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    }

    /// Returns why there are no statistics: the process does not exist, or the kernel does not support them.
    fn reason(&self, pid: i32, errno: Errno) -> Absent {
        let exists = || rustix::fs::statat(&self.proc, pid.to_string(), rustix::fs::AtFlags::empty()).is_ok();
        match errno {
            Errno::NOENT if exists() => {
                Absent::because("the kernel keeps no scheduling statistics (CONFIG_SCHED_INFO)")
            }
            errno => why_unread(errno),
        }
    }
}

/// The open statistics file of one process. It stays with that process even if the process id is used again.
#[derive(Debug)]
pub struct SchedstatFile(OwnedFd);

impl SchedstatFile {
    /// Reads the current statistics, as [`SchedstatReader::read`] does. After the process is reaped, this is an error.
    pub fn read(&self) -> Reading<Schedstat> {
        let mut text = [0_u8; 96];
        let length = rustix::io::pread(&self.0, text.as_mut_slice(), 0).map_err(why_unread)?;
        let text = text.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or("");
        parse_schedstat(text)
    }
}

/// The file with the number of times that the kernel moved this process's main thread to another CPU.
pub struct OwnMigrations(OpenText);

impl OwnMigrations {
    /// Opens `/proc/self/sched`, or says why it cannot be read: for example, a kernel without CONFIG_SCHED_DEBUG.
    pub fn open(root: &Root) -> Reading<OwnMigrations> {
        OpenText::open(root, OWN_SCHED).map(OwnMigrations)
    }

    /// Reads the present number.
    pub fn read(&self) -> Reading<u64> {
        self.0.read(parse_migrations)
    }
}

/// Parses the first lines of `/proc/PID/sched`.
fn parse_migrations(text: &str) -> Reading<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("se.nr_migrations")?.split_once(':'));
    number(line.map(|(_, value)| value.trim()), "number of migrations in sched")
}

fn why_unread(errno: Errno) -> Absent {
    match errno {
        Errno::NOENT | Errno::SRCH => Absent::because("the process ended before its statistics could be read"),
        other => unreadable("/proc/PID/schedstat", &other.into()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::tree;

    #[test]
    fn time_delay_and_slices_are_parsed() {
        let read = parse_schedstat("398184 51577 2\n").unwrap();
        assert_eq!(read, Schedstat { cpu: Nanos(398_184), run_delay: Nanos(51_577), timeslices: 2 });
        for broken in ["", "1", "1 2", "1 2 x", "-1 2 3", "99999999999999999999999 1 1"] {
            assert!(parse_schedstat(broken).is_err(), "{broken}");
        }
        assert!(parse_schedstat("0 0 0\n").unwrap_err().0.contains("CONFIG_SCHEDSTATS"));
    }

    #[test]
    fn migrations_are_found_among_other_lines() {
        let head = "true (812, #threads: 1)\n-----------\nse.exec_start      :      4134.571925\n";
        let of = |line: &str| parse_migrations(&[head, line].concat()).ok();
        assert_eq!(
            of("se.nr_migrations                             :                   12\nnr_switches : 3\n"),
            Some(12)
        );
        for broken in ["", "se.nr_migrations", "se.nr_migrations :  x\n", "se.nr_migrations 4\n"] {
            assert_eq!(of(broken), None, "{broken}");
        }
    }

    #[test]
    fn processes_have_statistics_or_reasons() {
        let reader = SchedstatReader::new(&tree("vm")).unwrap();
        assert_eq!(reader.read(100).unwrap().run_delay, Nanos(51_577));
        assert!(reader.read(101).unwrap_err().0.contains("CONFIG_SCHED_INFO"), "it exists, the file does not");
        assert!(reader.read(999).unwrap_err().0.contains("ended before"));
        assert!(reader.read(-1).is_err());
        assert!(SchedstatReader::new(&tree("missing")).is_err());
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn this_process_has_statistics() {
        let reader = SchedstatReader::new(&Root::default()).unwrap();
        let own = std::process::id() as i32;
        let before = match reader.read(own) {
            Ok(before) => before,
            Err(absent) => return eprintln!("skipped: this_process_has_statistics: {absent}"),
        };
        let file = reader.open(own).unwrap();
        let (first, after) = (file.read().unwrap(), file.read().unwrap());
        assert!(first.cpu >= before.cpu && first.cpu <= after.cpu);
        assert!(after.cpu >= before.cpu && after.timeslices >= before.timeslices);
    }

    #[test]
    fn a_reaped_process_has_no_statistics() {
        let reader = SchedstatReader::new(&Root::default()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        let file = reader.open(child.id() as i32).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(file.read().unwrap_err().0.contains("ended before"));
        assert!(reader.read(child.id() as i32).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\PC|[0-9 \n])*") {
            let _ = parse_schedstat(&text);
        }
    }
}
