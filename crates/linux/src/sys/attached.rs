//! Starting one command that takes this process's place before the user: its streams, terminal and process group.

use std::ffi::{CString, NulError, OsStr, c_char, c_int};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use steady_model::{Absent, Nanos, Reading};

use super::schedule::{self, Schedule};
use super::signals::{Disposition, dispose_raw};
use super::spawn::Child;
use super::wait::{ChildUsage, usage_from};
use crate::procfs::{Schedstat, parse_schedstat};

/// `CLONE_INTO_CGROUP` of clone3(2).
const INTO_GROUP: u64 = 1 << 33;
/// The last number of a signal.
const LAST_SIGNAL: c_int = 64;

/// How a child gets into a control group.
#[derive(Clone, Copy, Debug)]
pub enum Joining<'fd> {
    /// It stays in that of its parent.
    Stay,
    /// It is born into the group whose directory this is (version 2; clone3(2) since Linux 5.7).
    AtBirth(BorrowedFd<'fd>),
    /// It writes itself into this file of the group's, before it becomes the program.
    ByWriting(BorrowedFd<'fd>),
}

/// Why a command was not started.
#[derive(Debug)]
pub enum NotStarted {
    /// There could be no child, or it could not get into its group.
    NoChild(io::Error),
    /// The child could not become the program: what execve(2) says.
    NoProgram(io::Error),
}

/// A command that has become the program, and what there was before that: none of it is the program's.
#[derive(Debug)]
pub struct Begun {
    /// The process.
    pub child: Child,
    /// When it was made, as a copy of its parent.
    pub born: Nanos,
    /// When it was about to become the program.
    pub at: Nanos,
    /// What it had used by then.
    pub usage: ChildUsage,
    /// What the scheduler had counted for it by then.
    pub schedstat: Reading<Schedstat>,
}

/// A command with its words.
pub struct Attached {
    path: CString,
    words: Vec<CString>,
    /// As `NAME=VALUE`, where it is to have another than this process.
    environment: Option<Vec<CString>>,
}

/// What a child says before it becomes the program: clocks, usage, the text of its schedstat.
#[repr(C)]
struct Before {
    begun: libc::timespec,
    schedstat_begun: [u8; SCHEDSTAT],
    at: libc::timespec,
    usage: libc::rusage,
    schedstat: [u8; SCHEDSTAT],
}
/// Room for three numbers.
const SCHEDSTAT: usize = 64;

/// What a child that failed says last, beside that or instead of it: at which step, and the error's number.
type LastWords = [c_int; 2];
const JOINING: c_int = 1;
const EXECUTING: c_int = 2;

impl Attached {
    /// A program file with the words it is started with, the first of which is its name.
    ///
    /// # Errors
    /// A word that holds a NUL byte.
    pub fn new<'a>(path: &Path, words: impl IntoIterator<Item = &'a OsStr>) -> Result<Self, NulError> {
        let text = |word: &OsStr| CString::new(word.as_bytes());
        let words = words.into_iter().map(text).collect::<Result<_, _>>()?;
        Ok(Attached { path: text(path.as_os_str())?, words, environment: None })
    }

    /// The same command, started in this environment.
    ///
    /// # Errors
    /// A variable that holds a NUL byte.
    pub fn within<'a>(self, environment: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>) -> Result<Self, NulError> {
        let text = |(name, value): (&OsStr, &OsStr)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat());
        Ok(Attached { environment: Some(environment.into_iter().map(text).collect::<Result<_, _>>()?), ..self })
    }

    /// Starts it with the streams, environment, directory, session and process group of this process, no signal held
    /// back, those of `ignored` ignored and all others as the system has them, and scheduled as `schedule` says. It is
    /// killed when the thread that started it dies. Only for a process with one thread, since the child begins as its
    /// copy.
    ///
    /// # Errors
    /// Which step failed, and why.
    pub fn start(&self, ignored: &[i32], schedule: &Schedule, joining: Joining<'_>) -> Result<Begun, NotStarted> {
        self.begin(&Beginning { ignored, schedule: Some(schedule), joining, gate: None, streams: None })?.begun()
    }

    /// As [`Attached::start`], but the child waits at a gate before it does anything, for somebody to get hold of it. Its
    /// streams are all `streams` where that is given, and it is scheduled as this process is where no `schedule` is.
    pub(crate) fn start_gated(
        &self,
        ignored: &[i32],
        schedule: Option<&Schedule>,
        joining: Joining<'_>,
        streams: Option<BorrowedFd<'_>>,
    ) -> Result<Gated, NotStarted> {
        let (waits, gate) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| NotStarted::NoChild(error.into()))?;
        let both = Some([waits.as_raw_fd(), gate.as_raw_fd()]);
        let forked = self.begin(&Beginning { ignored, schedule, joining, gate: both, streams })?;
        Ok(Gated { forked, gate })
    }

    fn begin(&self, beginning: &Beginning<'_>) -> Result<Forked, NotStarted> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| NotStarted::NoChild(error.into()))?;
        let mut words: Vec<*const c_char> = self.words.iter().map(|word| word.as_ptr()).collect();
        words.push(ptr::null());
        let environment = self.environment.as_ref().map(|variables| {
            let pointers = variables.iter().map(|variable| variable.as_ptr());
            pointers.chain([ptr::null()]).collect::<Vec<*const c_char>>()
        });
        let pid = match fork(beginning.joining).map_err(NotStarted::NoChild)? {
            // SAFETY: this is the child, which makes plain system calls only, so that it is no matter what other threads
            // held; the pointers are to strings that it has copies of, the array of words ends with null, and the
            // descriptors are open.
            None => unsafe { become_command(self, &words, environment.as_deref(), beginning, writer.as_raw_fd()) },
            Some(pid) => pid,
        };
        Ok(Forked { pid, reader })
    }
}

/// How a child begins.
struct Beginning<'a> {
    ignored: &'a [i32],
    schedule: Option<&'a Schedule>,
    joining: Joining<'a>,
    /// A pipe that the child waits at: the end to read from, and the one that only its parent is to hold.
    gate: Option<[RawFd; 2]>,
    streams: Option<BorrowedFd<'a>>,
}

/// A child that becomes the command, or is about to say why not.
pub(crate) struct Forked {
    pid: Pid,
    reader: OwnedFd,
}

impl Forked {
    /// The command, once it is that.
    pub(crate) fn begun(self) -> Result<Begun, NotStarted> {
        match listen(self.reader) {
            Ok(before) => {
                // Nobody but this process reaps it, so the number is still its own.
                let pidfd = pidfd_open(self.pid, PidfdFlags::empty());
                let pidfd = pidfd.map_err(|error| NotStarted::NoChild(error.into()))?;
                Ok(before.begun(Child { pid: self.pid, pidfd }))
            }
            Err(why) => {
                let _ = super::wait_for(self.pid);
                Err(why)
            }
        }
    }
}

/// A child that waits at its gate.
pub(crate) struct Gated {
    forked: Forked,
    gate: OwnedFd,
}

impl Gated {
    pub(crate) fn pid(&self) -> Pid {
        self.forked.pid
    }

    /// Lets it become the command.
    pub(crate) fn open(self) -> io::Result<Forked> {
        rustix::io::write(&self.gate, &[1])?;
        Ok(self.forked)
    }

    /// Has it end instead.
    pub(crate) fn turn_away(self) {
        drop(self.gate);
        let _ = super::wait_for(self.forked.pid);
    }
}

impl Before {
    /// Everything unknown.
    fn new() -> Self {
        // SAFETY: all of it is plain data, of which zero is valid.
        unsafe { std::mem::zeroed() }
    }

    fn begun(self, child: Child) -> Begun {
        let nanos =
            |time: libc::timespec| Nanos((time.tv_sec as u64).saturating_mul(1_000_000_000) + time.tv_nsec as u64);
        // Until it began to run, it waited for a CPU.
        let waited = parsed(&self.schedstat_begun).map_or(Nanos::ZERO, |schedstat| schedstat.run_delay);
        let born = nanos(self.begun) - waited;
        let schedstat = parsed(&self.schedstat);
        Begun { child, born, at: nanos(self.at), usage: usage_from(&self.usage), schedstat }
    }
}

/// What the text of a schedstat says, which NULs follow.
fn parsed(text: &[u8]) -> Reading<Schedstat> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    match std::str::from_utf8(text) {
        Ok("") | Err(_) => Err(Absent::because("/proc/self/schedstat could not be read")),
        Ok(text) => parse_schedstat(text),
    }
}

/// What the child said before it became the program or left.
fn listen(reader: OwnedFd) -> Result<Before, NotStarted> {
    let mut said = Vec::new();
    std::fs::File::from(reader).read_to_end(&mut said).map_err(NotStarted::NoChild)?;
    let last_words = |bytes: &[u8]| {
        let (words, _) = bytes.as_chunks::<4>();
        let error = io::Error::from_raw_os_error(words.get(1).map_or(0, |word| i32::from_ne_bytes(*word)));
        let joining = words.first().is_none_or(|word| i32::from_ne_bytes(*word) == JOINING);
        Err(if joining { NotStarted::NoChild(error) } else { NotStarted::NoProgram(error) })
    };
    match said.len().checked_sub(size_of::<Before>()) {
        // SAFETY: there are as many bytes as are read, and any bytes are such a structure.
        Some(0) => Ok(unsafe { said.as_ptr().cast::<Before>().read_unaligned() }),
        Some(_) => last_words(&said[size_of::<Before>()..]),
        None if said.is_empty() => {
            Err(NotStarted::NoChild(io::Error::other("it was killed before it was the program")))
        }
        None => last_words(&said),
    }
}

/// A copy of this process, in its control group from the start where that can be: `None` in the child.
fn fork(joining: Joining<'_>) -> io::Result<Option<Pid>> {
    let pid = match joining {
        Joining::AtBirth(directory) => {
            // SAFETY: a `clone_args` is plain data, of which zero asks for nothing.
            let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
            arguments.flags = INTO_GROUP;
            arguments.exit_signal = libc::SIGCHLD as u64;
            arguments.cgroup = directory.as_raw_fd() as u64;
            // SAFETY: without CLONE_VM and with no stack given the child goes on from here in memory of its own, as after
            // fork(2); `arguments` is of the size that is stated and outlives the call.
            unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) as c_int }
        }
        // SAFETY: the process has one thread, so the child finds no lock held by another.
        Joining::Stay | Joining::ByWriting(_) => unsafe { libc::fork() },
    };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(Pid::from_raw(pid)) }
}

/// Becomes the command, or says why not.
///
/// # Safety
/// Only in a child that has just been forked; `words` and `environment` end with null.
unsafe fn become_command(
    command: &Attached,
    words: &[*const c_char],
    environment: Option<&[*const c_char]>,
    how: &Beginning<'_>,
    writer: RawFd,
) -> ! {
    let mut before = Before::new();
    // SAFETY: plain system calls of this process on descriptors that are open, on strings that end with NUL, and on
    // structures of its own.
    unsafe {
        take_time(&mut before.begun, &mut before.schedstat_begun);
        let mut step = JOINING;
        if let Some([waits, gate]) = how.gate {
            let mut opened = 0_u8;
            // So that the gate's end is seen when the parent ends or turns this child away.
            libc::close(gate);
            if libc::read(waits, (&raw mut opened).cast(), 1) != 1 {
                libc::_exit(127);
            }
        }
        let joined = match how.joining {
            Joining::ByWriting(file) => libc::write(file.as_raw_fd(), c"0".as_ptr().cast(), 1) == 1,
            Joining::Stay | Joining::AtBirth(_) => true,
        };
        if joined && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0 {
            step = EXECUTING;
            if let Some(schedule) = how.schedule {
                schedule::set(schedule);
            }
            for stream in how.streams.iter().flat_map(|streams| [0, 1, 2].map(|target| (streams.as_raw_fd(), target))) {
                libc::dup2(stream.0, stream.1);
            }
            for signal in 1..=LAST_SIGNAL {
                let ignored = how.ignored.contains(&signal);
                dispose_raw(signal, if ignored { Disposition::Ignored } else { Disposition::Default });
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
            libc::getrusage(libc::RUSAGE_SELF, &mut before.usage);
            take_time(&mut before.at, &mut before.schedstat);
            libc::write(writer, (&raw const before).cast(), size_of::<Before>());
            match environment {
                Some(variables) => libc::execve(command.path.as_ptr(), words.as_ptr(), variables.as_ptr()),
                None => libc::execv(command.path.as_ptr(), words.as_ptr()),
            };
        }
        let last: LastWords = [step, *libc::__errno_location()];
        libc::write(writer, last.as_ptr().cast(), size_of::<LastWords>());
        libc::_exit(127)
    }
}

/// Notes the time, and what this process has waited by then. The two belong together: where it had to wait for a CPU between
/// them, they are noted again.
///
/// # Safety
/// Only in a child before its exec.
unsafe fn take_time(time: &mut libc::timespec, schedstat: &mut [u8; SCHEDSTAT]) {
    // SAFETY: a plain system call that fills a structure of the right size, in such a child.
    unsafe {
        for _ in 0..TRIES {
            *schedstat = read_schedstat();
            libc::clock_gettime(libc::CLOCK_MONOTONIC, time);
            if waited(&read_schedstat()) == waited(schedstat) {
                return;
            }
        }
    }
}
/// A machine on which a process has to wait again within microseconds, so many times, is none to wait for.
const TRIES: u32 = 8;

/// The text of this process's schedstat; nothing where it cannot be read.
///
/// # Safety
/// Only in a child before its exec.
unsafe fn read_schedstat() -> [u8; SCHEDSTAT] {
    let mut text = [0; SCHEDSTAT];
    // SAFETY: plain system calls that fill an array of the right size; the descriptor is closed by exec at the latest.
    unsafe {
        let file = libc::open(c"/proc/self/schedstat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::read(file, text.as_mut_ptr().cast(), SCHEDSTAT - 1);
            libc::close(file);
        }
    }
    text
}

/// How long a process waited, as its schedstat says: the second of three numbers.
fn waited(text: &[u8]) -> Option<&[u8]> {
    text.split(|byte| *byte == b' ').nth(1)
}
