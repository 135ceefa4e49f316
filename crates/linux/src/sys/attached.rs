//! Starts one command with this process's streams, terminal and process group.

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
use super::wait::{ChildUsage, Status, usage_from};
use crate::procfs::{Schedstat, parse_schedstat};

/// The flag `CLONE_INTO_CGROUP` of clone3(2).
const INTO_GROUP: u64 = 1 << 33;
/// The largest signal number.
const LAST_SIGNAL: c_int = 64;

/// How a child joins a control group.
#[derive(Clone, Copy, Debug)]
pub enum Joining<'fd> {
    /// It stays in the control group of its parent.
    Stay,
    /// It starts in the group with this directory (version 2; clone3(2) since Linux 5.7).
    AtBirth(BorrowedFd<'fd>),
    /// It writes its process id into this file of the group before it executes the program.
    ByWriting(BorrowedFd<'fd>),
}

/// Why a command was not started.
#[derive(Debug)]
pub enum NotStarted {
    /// The child could not be created or could not join its control group.
    NoChild(io::Error),
    /// The child could not execute the program: the error of execve(2).
    NoProgram(io::Error),
}

/// A command that executes its program, and what its process used before the exec, which does not belong to the
/// program.
#[derive(Debug)]
pub struct Begun {
    /// The process of the command.
    pub child: Child,
    /// Time at which the process was created, as a copy of its parent.
    pub born: Nanos,
    /// Time just before the exec.
    pub at: Nanos,
    /// What the process had used by `at`.
    pub usage: ChildUsage,
    /// Scheduler statistics of the process at `at`.
    pub schedstat: Reading<Schedstat>,
}

/// A program with its arguments, and optionally an environment.
pub struct Attached {
    path: CString,
    words: Vec<CString>,
    /// Variables as `NAME=VALUE`; `None` for the environment of this process.
    environment: Option<Vec<CString>>,
}

/// What a child reports before it executes the program: times, usage, the text of its schedstat file.
#[repr(C)]
struct Before {
    begun: libc::timespec,
    schedstat_begun: [u8; SCHEDSTAT],
    at: libc::timespec,
    usage: libc::rusage,
    schedstat: [u8; SCHEDSTAT],
}
/// Bytes for the three numbers in the file.
const SCHEDSTAT: usize = 64;

/// What a child reports if it failed: the step and the error number. It may follow a [`Before`].
type Failure = [c_int; 2];
const JOINING: c_int = 1;
const EXECUTING: c_int = 2;

impl Attached {
    /// Makes a command from a program file and its arguments, of which the first is the program's name.
    ///
    /// # Errors
    /// An argument contains a NUL byte.
    pub fn new<'a>(path: &Path, words: impl IntoIterator<Item = &'a OsStr>) -> Result<Self, NulError> {
        let text = |word: &OsStr| CString::new(word.as_bytes());
        let words = words.into_iter().map(text).collect::<Result<_, _>>()?;
        Ok(Attached { path: text(path.as_os_str())?, words, environment: None })
    }

    /// Sets the environment of the command.
    ///
    /// # Errors
    /// A variable contains a NUL byte.
    pub fn within<'a>(self, environment: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>) -> Result<Self, NulError> {
        let text = |(name, value): (&OsStr, &OsStr)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat());
        Ok(Attached { environment: Some(environment.into_iter().map(text).collect::<Result<_, _>>()?), ..self })
    }

    /// Starts the command with the streams, environment, directory, session and process group of this process. No
    /// signal is blocked. The signals in `ignored` are ignored, and all others have their default action. `schedule`
    /// sets the scheduling parameters. The command is killed when the thread that started it ends. This process must
    /// have one thread, because the child starts as its copy.
    ///
    /// # Errors
    /// The step that failed, and the reason.
    pub fn start(&self, ignored: &[i32], schedule: &Schedule, joining: Joining<'_>) -> Result<Begun, NotStarted> {
        self.begin(&Options { ignored, schedule: Some(schedule), joining, gate: None, streams: None })?.begun()
    }

    /// Starts the command as [`Attached::start`] does, but the child waits until [`Gated::open`] is called. Meanwhile,
    /// another process can attach to it. `streams`, if given, becomes all three standard streams. Without `schedule`
    /// the child keeps the scheduling parameters of this process.
    pub(crate) fn start_gated(
        &self,
        ignored: &[i32],
        schedule: Option<&Schedule>,
        joining: Joining<'_>,
        streams: Option<BorrowedFd<'_>>,
    ) -> Result<Gated, NotStarted> {
        let (waits, gate) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| NotStarted::NoChild(error.into()))?;
        let both = Some([waits.as_raw_fd(), gate.as_raw_fd()]);
        let forked = self.begin(&Options { ignored, schedule, joining, gate: both, streams })?;
        Ok(Gated { forked, gate })
    }

    fn begin(&self, options: &Options<'_>) -> Result<Forked, NotStarted> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| NotStarted::NoChild(error.into()))?;
        let mut words: Vec<*const c_char> = self.words.iter().map(|word| word.as_ptr()).collect();
        words.push(ptr::null());
        let environment = self.environment.as_ref().map(|variables| {
            let pointers = variables.iter().map(|variable| variable.as_ptr());
            pointers.chain([ptr::null()]).collect::<Vec<*const c_char>>()
        });
        let pid = match fork(options.joining).map_err(NotStarted::NoChild)? {
            // SAFETY: this is the child. It makes only direct system calls, so locks held by other threads do not
            // matter. The pointers are to the child's copies of the strings, the pointer arrays end with null, and the
            // descriptors are open.
            None => unsafe { become_command(self, &words, environment.as_deref(), options, writer.as_raw_fd()) },
            Some(pid) => pid,
        };
        Ok(Forked { pid, reader })
    }
}

/// How a child starts.
struct Options<'a> {
    ignored: &'a [i32],
    schedule: Option<&'a Schedule>,
    joining: Joining<'a>,
    /// Pipe on which the child waits: its read end, and its write end, which only the parent may keep open.
    gate: Option<[RawFd; 2]>,
    streams: Option<BorrowedFd<'a>>,
}

/// A forked child that will execute the command or report why it cannot.
pub(crate) struct Forked {
    pid: Pid,
    reader: OwnedFd,
}

impl Forked {
    /// Waits until the child executes the command, or returns why it does not.
    pub(crate) fn begun(self) -> Result<Begun, NotStarted> {
        match read_report(self.reader) {
            Ok(before) => {
                // Only this process reaps the child, so its process id is still valid.
                let pidfd = pidfd_open(self.pid, PidfdFlags::empty());
                let pidfd = pidfd.map_err(|error| NotStarted::NoChild(error.into()))?;
                Ok(before.begun(Child { pid: self.pid, pidfd }))
            }
            Err(why) => match (why, super::wait_for(self.pid).map(|reaped| reaped.status)) {
                (NotStarted::NoChild(_), Ok(Status::Signalled(signal))) => Err(NotStarted::NoChild(io::Error::new(
                    io::ErrorKind::Interrupted,
                    format!("signal {signal} ended it before the program began"),
                ))),
                (why, _) => Err(why),
            },
        }
    }
}

/// A child that waits until it is opened or cancelled.
pub(crate) struct Gated {
    forked: Forked,
    gate: OwnedFd,
}

impl Gated {
    pub(crate) fn pid(&self) -> Pid {
        self.forked.pid
    }

    /// Lets the child execute the command.
    pub(crate) fn open(self) -> io::Result<Forked> {
        rustix::io::write(&self.gate, &[1])?;
        Ok(self.forked)
    }

    /// Makes the child exit without executing the command.
    pub(crate) fn cancel(self) {
        drop(self.gate);
        let _ = super::wait_for(self.forked.pid);
    }
}

impl Before {
    fn new() -> Self {
        // SAFETY: all fields are integers or arrays of integers, for which zero is a valid value.
        unsafe { std::mem::zeroed() }
    }

    fn begun(self, child: Child) -> Begun {
        let nanos =
            |time: libc::timespec| Nanos((time.tv_sec as u64).saturating_mul(1_000_000_000) + time.tv_nsec as u64);
        // The child waited for a CPU before it could read the clock. Its run delay is that time.
        let waited = parsed(&self.schedstat_begun).map_or(Nanos::ZERO, |schedstat| schedstat.run_delay);
        let born = nanos(self.begun) - waited;
        let schedstat = parsed(&self.schedstat);
        Begun { child, born, at: nanos(self.at), usage: usage_from(&self.usage), schedstat }
    }
}

/// Parses the text of a schedstat file, which ends with NULs.
fn parsed(text: &[u8]) -> Reading<Schedstat> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    match std::str::from_utf8(text) {
        Ok("") | Err(_) => Err(Absent::because("cannot read /proc/self/schedstat")),
        Ok(text) => parse_schedstat(text),
    }
}

/// Reads what the child reports before it executes the program or exits.
fn read_report(reader: OwnedFd) -> Result<Before, NotStarted> {
    let mut report = Vec::new();
    std::fs::File::from(reader).read_to_end(&mut report).map_err(NotStarted::NoChild)?;
    let failure = |bytes: &[u8]| {
        let (words, _) = bytes.as_chunks::<4>();
        let error = io::Error::from_raw_os_error(words.get(1).map_or(0, |word| i32::from_ne_bytes(*word)));
        let joining = words.first().is_none_or(|word| i32::from_ne_bytes(*word) == JOINING);
        Err(if joining { NotStarted::NoChild(error) } else { NotStarted::NoProgram(error) })
    };
    match report.len().checked_sub(size_of::<Before>()) {
        // SAFETY: `report` has the size of a `Before`, whose fields are integers: every bit pattern is valid.
        Some(0) => Ok(unsafe { report.as_ptr().cast::<Before>().read_unaligned() }),
        Some(_) => failure(&report[size_of::<Before>()..]),
        None if report.is_empty() => {
            Err(NotStarted::NoChild(io::Error::other("the child was killed before it executed the program")))
        }
        None => failure(&report),
    }
}

/// Forks this process, directly into its control group if possible. Returns `None` in the child.
fn fork(joining: Joining<'_>) -> io::Result<Option<Pid>> {
    let pid = match joining {
        Joining::AtBirth(directory) => {
            // SAFETY: a `clone_args` contains only integers, for which zero is valid and requests nothing.
            let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
            arguments.flags = INTO_GROUP;
            arguments.exit_signal = libc::SIGCHLD as u64;
            arguments.cgroup = directory.as_raw_fd() as u64;
            // SAFETY: without CLONE_VM and without a stack, the child continues here in its own copy of the memory, as
            // after fork(2). `arguments` has the size that is passed and outlives the call.
            unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) as c_int }
        }
        // SAFETY: the process has one thread, so no other thread holds a lock that the child could need.
        Joining::Stay | Joining::ByWriting(_) => unsafe { libc::fork() },
    };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(Pid::from_raw(pid)) }
}

/// Executes the command, or reports why it cannot.
///
/// # Safety
/// Call it only in a child that has just been forked. `words` and `environment` must end with null.
unsafe fn become_command(
    command: &Attached,
    words: &[*const c_char],
    environment: Option<&[*const c_char]>,
    how: &Options<'_>,
    writer: RawFd,
) -> ! {
    let mut before = Before::new();
    // SAFETY: these are direct system calls of this process on open descriptors, on strings that end with NUL, and on
    // structures of its own.
    unsafe {
        take_time(&mut before.begun, &mut before.schedstat_begun);
        let mut step = JOINING;
        if let Some([waits, gate]) = how.gate {
            let mut opened = 0_u8;
            // Close the write end, so that the read below returns when the parent ends or cancels.
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
        let failure: Failure = [step, *libc::__errno_location()];
        libc::write(writer, failure.as_ptr().cast(), size_of::<Failure>());
        libc::_exit(127)
    }
}

/// Records the time and the run delay of this process by then. If the process had to wait for a CPU between the two
/// readings, records both again.
///
/// # Safety
/// Call it only in a child before its exec.
unsafe fn take_time(time: &mut libc::timespec, schedstat: &mut [u8; SCHEDSTAT]) {
    // SAFETY: these are direct system calls; `time` is valid for writing.
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
/// Maximum number of readings. On a machine that makes a process wait again within microseconds, more would not help.
const TRIES: u32 = 8;

/// Returns the text of this process's schedstat file, or NULs if it cannot be read.
///
/// # Safety
/// Call it only in a child before its exec.
unsafe fn read_schedstat() -> [u8; SCHEDSTAT] {
    let mut text = [0; SCHEDSTAT];
    // SAFETY: these are direct system calls that write at most the size of the array. The descriptor is closed here.
    unsafe {
        let file = libc::open(c"/proc/self/schedstat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::read(file, text.as_mut_ptr().cast(), SCHEDSTAT - 1);
            libc::close(file);
        }
    }
    text
}

/// Returns the run delay in the text of a schedstat file: the second of three numbers.
fn waited(text: &[u8]) -> Option<&[u8]> {
    text.split(|byte| *byte == b' ').nth(1)
}
