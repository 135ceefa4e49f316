//! Starting one program again and again, at the least cost and without copying the starter.

use std::ffi::{CString, NulError, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::process::Pid;

/// The variable that pads a run's environment, so that the stack's place is drawn anew for each run.
const PADDING_NAME: &str = "STEADY_PADDING=";

/// The variable that tells a process which run it belongs to.
const RUN_NAME: &str = "STEADY_RUN=";

/// The longest word that it may hold: a 64-bit number's digits.
const RUN_LONGEST: usize = 20;

/// The stack that a child runs on between its creation and its exec: a handful of system calls.
const STACK_BYTES: usize = 64 * 1024;

/// A program with its arguments and environment, laid out as execve(2) wants them.
pub struct Program {
    path: CString,
    directory: Option<CString>,
    arguments: Strings,
    environment: Strings,
    /// `STEADY_PADDING=` and as many letters as the widest padding has, NUL-terminated where the present one ends.
    padding: Vec<u8>,
    /// `STEADY_RUN=` and the word behind it, NUL-terminated.
    run: Vec<u8>,
    stack: Vec<u8>,
}

/// What a child's standard streams are.
#[derive(Clone, Copy, Debug)]
pub struct Stdio<'fd> {
    /// Standard input.
    pub input: BorrowedFd<'fd>,
    /// Standard output.
    pub output: BorrowedFd<'fd>,
    /// Standard error.
    pub error: BorrowedFd<'fd>,
}

/// A started process.
#[derive(Debug)]
pub struct Child {
    /// Its process id, which is its process group's as well.
    pub pid: Pid,
    /// A descriptor that becomes readable when it ends (pidfd_open(2)).
    pub pidfd: OwnedFd,
}

impl Program {
    /// A program file with the words it is started with, the first of which is its name, and its environment.
    /// `padding_max` bounds the padding of [`Program::spawn`], in bytes.
    ///
    /// # Errors
    /// A word or a variable that holds a NUL byte.
    pub fn new<'a>(
        path: &Path,
        arguments: impl IntoIterator<Item = &'a OsStr>,
        environment: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
        padding_max: usize,
    ) -> Result<Self, NulError> {
        let variable = |(name, value): (&OsStr, &OsStr)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        let mut padding = PADDING_NAME.as_bytes().to_vec();
        padding.resize(PADDING_NAME.len() + padding_max + 1, b'x');
        Ok(Program {
            path: CString::new(path.as_os_str().as_bytes())?,
            directory: None,
            arguments: Strings::new(arguments.into_iter().map(|word| word.as_bytes().to_vec()))?,
            environment: Strings::new(environment.into_iter().map(variable))?,
            padding,
            run: [RUN_NAME.as_bytes(), &[0; RUN_LONGEST + 1]].concat(),
            stack: vec![0; STACK_BYTES],
        })
    }

    /// The same program, started in `directory`; a relative path to it is taken from there.
    ///
    /// # Errors
    /// A path that holds a NUL byte.
    pub fn within(self, directory: &Path) -> Result<Self, NulError> {
        Ok(Program { directory: Some(CString::new(directory.as_os_str().as_bytes())?), ..self })
    }

    /// Starts the program in a process group of its own, with default signal dispositions and an empty signal mask, its
    /// environment padded by `padding` bytes (at most the maximum given to [`Program::new`]) and with `STEADY_RUN` set
    /// to `run` (its first 20 bytes, without NUL). The child is killed when the thread that started it dies.
    ///
    /// The child shares the caller's memory until its exec, and the caller stands still meanwhile (clone(2) with
    /// `CLONE_VM | CLONE_VFORK`), so that the cost does not depend on the caller's size.
    ///
    /// # Errors
    /// What clone(2) or execve(2) say.
    pub fn spawn(&mut self, run: &str, padding: usize, stdio: Stdio<'_>) -> io::Result<Child> {
        self.set_padding(padding);
        self.set_run(run);
        let mut start = Start {
            path: self.path.as_ptr(),
            arguments: self.arguments.as_ptr(),
            environment: self.environment.with_last([self.run.as_ptr().cast(), self.padding.as_ptr().cast()]),
            directory: self.directory.as_ref().map_or(ptr::null(), |directory| directory.as_ptr()),
            streams: [stdio.input.as_raw_fd(), stdio.output.as_raw_fd(), stdio.error.as_raw_fd()],
            error: 0,
        };
        let blocked = BlockedSignals::all()?;
        let created = clone_and_run(&mut self.stack, &mut start);
        drop(blocked);
        let child = created?;
        if start.error == 0 {
            return Ok(child);
        }
        // The child never became the program: it has left already and only waits to be reaped.
        super::wait_for(child.pid)?;
        Err(io::Error::from_raw_os_error(start.error))
    }

    fn set_run(&mut self, run: &str) {
        let word = &run.as_bytes()[..run.len().min(RUN_LONGEST)];
        let value = &mut self.run[RUN_NAME.len()..];
        value.fill(0);
        value[..word.len()].copy_from_slice(word);
    }

    /// Ends the padding's string after `length` letters.
    fn set_padding(&mut self, length: usize) {
        let first = PADDING_NAME.len();
        let last = self.padding.len() - 1;
        self.padding[first..last].fill(b'x');
        self.padding[(first + length).min(last)] = 0;
        self.padding[last] = 0;
    }
}

/// How many strings may follow those that an array owns.
const ROOM: usize = 2;

/// C strings and the null-terminated array of pointers to them, with room for some more.
pub(super) struct Strings {
    pointers: Vec<*const c_char>,
    /// What the pointers point to.
    _owned: Vec<CString>,
}

impl Strings {
    pub(super) fn new(words: impl Iterator<Item = Vec<u8>>) -> Result<Self, NulError> {
        let owned = words.map(CString::new).collect::<Result<Vec<_>, _>>()?;
        let mut pointers: Vec<_> = owned.iter().map(|word| word.as_ptr()).collect();
        pointers.extend([ptr::null(); ROOM + 1]);
        Ok(Strings { pointers, _owned: owned })
    }

    pub(super) fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }

    /// The array with `strings` as its last elements.
    fn with_last(&mut self, strings: [*const c_char; ROOM]) -> *const *const c_char {
        let end = self.pointers.len() - 1;
        self.pointers[end - ROOM..end].copy_from_slice(&strings);
        self.pointers.as_ptr()
    }
}

/// Every signal blocked in this thread, until dropped: a handler must not run in a child that shares this memory.
pub(super) struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    pub(super) fn all() -> io::Result<Self> {
        // SAFETY: both sets are plain data, valid for the calls, which initialise them before they are read.
        unsafe {
            let mut every: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut every);
            match libc::pthread_sigmask(libc::SIG_SETMASK, &every, &mut before) {
                0 => Ok(BlockedSignals { before }),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: `before` was filled by pthread_sigmask; putting it back cannot fail.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

/// What a child needs until its exec, and what it has to say if that fails.
struct Start {
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    /// Null to stay where the parent is.
    directory: *const c_char,
    streams: [RawFd; 3],
    error: c_int,
}

fn clone_and_run(stack: &mut [u8], start: &mut Start) -> io::Result<Child> {
    let mut pidfd: c_int = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: the stack is ours alone, aligned and large enough for `become_program`; `start` outlives the child's use
    // of it because CLONE_VFORK suspends this thread until the child has executed its program or left; `pidfd` is
    // where CLONE_PIDFD stores the descriptor.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len());
        let top = top.sub(top as usize % 16);
        let argument = ptr::from_mut(start).cast::<c_void>();
        libc::clone(become_program, top.cast(), flags, argument, ptr::from_mut(&mut pidfd))
    };
    let pid = Pid::from_raw(pid.max(0)).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: clone succeeded, so `pidfd` is an open descriptor that nobody else owns.
    Ok(Child { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } })
}

/// Runs in the child, on its own stack but in the parent's memory: system calls only, no allocation, no unwinding.
extern "C" fn become_program(argument: *mut c_void) -> c_int {
    // SAFETY: `argument` is the `Start` that `clone_and_run` passed, alive while the parent is suspended; its pointers
    // are to NUL-terminated strings and null-terminated arrays owned by a `Program` that the parent holds.
    unsafe {
        let start = &mut *argument.cast::<Start>();
        let made = prepare_process(&start.streams);
        if made == 0 && (start.directory.is_null() || libc::chdir(start.directory) == 0) {
            libc::execve(start.path, start.arguments.cast(), start.environment.cast());
        }
        start.error = *libc::__errno_location();
        libc::_exit(127)
    }
}

/// Group, death signal, streams, signals. Zero, or -1 with errno set.
///
/// # Safety
/// Only in a child between clone and exec.
unsafe fn prepare_process(streams: &[RawFd; 3]) -> c_int {
    // SAFETY: plain system calls on this process; the signal set is initialised by sigemptyset before use.
    unsafe {
        if libc::setpgid(0, 0) < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
            return -1;
        }
        for (target, source) in (0..).zip(streams) {
            if libc::dup2(*source, target) < 0 {
                return -1;
            }
        }
        // Rust ignores SIGPIPE, and exec would hand that on.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{Status, wait_for};
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    fn shell(script: &str) -> Program {
        let words = ["sh", "-c", script].map(OsStr::new);
        Program::new(Path::new("/bin/sh"), words, [(OsStr::new("A"), OsStr::new("1"))], 100).unwrap()
    }

    fn output_of(program: &mut Program, padding: usize) -> (String, Status) {
        let null = File::open("/dev/null").unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        let stdio = Stdio { input: null.as_fd(), output: writer.as_fd(), error: null.as_fd() };
        let child = program.spawn("17", padding, stdio).unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        (text, wait_for(child.pid).unwrap().status)
    }

    #[test]
    fn a_program_runs_with_its_words_and_its_environment() {
        let (text, status) = output_of(&mut shell("echo $A ${#STEADY_PADDING} $STEADY_RUN; exit 3"), 7);
        assert_eq!((text.as_str(), status), ("1 7 17\n", Status::Exited(3)));
    }

    #[test]
    fn a_program_runs_where_it_is_told() {
        let (text, status) = output_of(&mut shell("pwd").within(Path::new("/usr")).unwrap(), 0);
        assert_eq!((text.as_str(), status), ("/usr\n", Status::Exited(0)));
        let null = File::open("/dev/null").unwrap();
        let stdio = Stdio { input: null.as_fd(), output: null.as_fd(), error: null.as_fd() };
        let mut nowhere = shell("pwd").within(Path::new("/nonexistent")).unwrap();
        assert_eq!(nowhere.spawn("0", 0, stdio).unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }

    #[test]
    fn padding_changes_from_run_to_run() {
        let mut program = shell("echo ${#STEADY_PADDING}");
        for padding in [100, 0, 50, 99, 1] {
            assert_eq!(output_of(&mut program, padding).0.trim(), padding.to_string());
        }
        assert_eq!(output_of(&mut program, 4000).0.trim(), "100", "no more than the maximum");
    }

    #[test]
    fn a_signal_is_told_from_an_exit() {
        assert_eq!(output_of(&mut shell("kill -KILL $$"), 0).1, Status::Signalled(9));
    }

    #[test]
    fn what_cannot_be_executed_says_why() {
        let null = File::open("/dev/null").unwrap();
        let stdio = Stdio { input: null.as_fd(), output: null.as_fd(), error: null.as_fd() };
        for (path, error) in [("/nonexistent", libc::ENOENT), ("/etc/passwd", libc::EACCES), ("/", libc::EACCES)] {
            let mut program = Program::new(Path::new(path), [OsStr::new("x")], [], 0).unwrap();
            assert_eq!(program.spawn("0", 0, stdio).unwrap_err().raw_os_error(), Some(error), "{path}");
        }
    }

    #[test]
    fn broken_pipes_kill_children_as_usual() {
        let (_, status) = output_of(&mut shell("yes | head -n 1 >/dev/null; sh -c 'kill -PIPE $$'; exit $?"), 0);
        assert_eq!(status, Status::Exited(128 + libc::SIGPIPE));
    }
}
