//! Starting one command that takes this process's place before the user: its streams, terminal and process group.

use std::ffi::{CString, NulError, OsStr, c_char, c_int};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::schedule::{self, Schedule};
use super::signals::{Disposition, dispose_raw};
use super::spawn::Child;

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

/// A command with its words.
pub struct Attached {
    path: CString,
    words: Vec<CString>,
}

/// What a child that failed says last: at which step, and the error's number.
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
        Ok(Attached { path: text(path.as_os_str())?, words: words.into_iter().map(text).collect::<Result<_, _>>()? })
    }

    /// Starts it with the streams, environment, directory, session and process group of this process, no signal held
    /// back, those of `ignored` ignored and all others as the system has them, and scheduled as `schedule` says. It is
    /// killed when the thread that started it dies. Only for a process with one thread, since the child begins as its
    /// copy.
    ///
    /// # Errors
    /// Which step failed, and why.
    pub fn start(&self, ignored: &[i32], schedule: &Schedule, joining: Joining<'_>) -> Result<Child, NotStarted> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| NotStarted::NoChild(error.into()))?;
        let mut words: Vec<*const c_char> = self.words.iter().map(|word| word.as_ptr()).collect();
        words.push(ptr::null());
        let pid = match fork(joining).map_err(NotStarted::NoChild)? {
            // SAFETY: this is the child of a process with one thread; the pointers are to strings that it has copies of,
            // the array of words ends with null, and the descriptors are open.
            None => unsafe { become_command(self, &words, ignored, schedule, joining, writer.as_raw_fd()) },
            Some(pid) => pid,
        };
        drop(writer);
        match last_words(reader) {
            None => {
                // Nobody but this process reaps it, so the number is still its own.
                let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| NotStarted::NoChild(error.into()))?;
                Ok(Child { pid, pidfd })
            }
            Some([step, error]) => {
                let _ = super::wait_for(pid);
                let error = io::Error::from_raw_os_error(error);
                Err(if step == JOINING { NotStarted::NoChild(error) } else { NotStarted::NoProgram(error) })
            }
        }
    }
}

/// What the child said before it left; nothing once it is the command.
fn last_words(reader: OwnedFd) -> Option<LastWords> {
    let mut bytes = [0_u8; size_of::<LastWords>()];
    std::fs::File::from(reader).read_exact(&mut bytes).ok()?;
    let (words, _) = bytes.as_chunks::<4>();
    Some([i32::from_ne_bytes(words[0]), i32::from_ne_bytes(words[1])])
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
/// Only in the child of a process with one thread; `words` ends with null.
unsafe fn become_command(
    command: &Attached,
    words: &[*const c_char],
    ignored: &[i32],
    schedule: &Schedule,
    joining: Joining<'_>,
    writer: RawFd,
) -> ! {
    // SAFETY: plain system calls of this process on descriptors that are open, and on strings that end with NUL.
    unsafe {
        let mut step = JOINING;
        let joined = match joining {
            Joining::ByWriting(file) => libc::write(file.as_raw_fd(), c"0".as_ptr().cast(), 1) == 1,
            Joining::Stay | Joining::AtBirth(_) => true,
        };
        if joined && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0 {
            step = EXECUTING;
            schedule::set(schedule);
            for signal in 1..=LAST_SIGNAL {
                let ignored = ignored.contains(&signal);
                dispose_raw(signal, if ignored { Disposition::Ignored } else { Disposition::Default });
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
            libc::execv(command.path.as_ptr(), words.as_ptr());
        }
        let last: LastWords = [step, *libc::__errno_location()];
        libc::write(writer, last.as_ptr().cast(), size_of::<LastWords>());
        libc::_exit(127)
    }
}
