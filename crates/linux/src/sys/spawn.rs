//! Starts one program repeatedly, at the lowest cost and without copying the parent.

use std::ffi::{CString, NulError, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::process::Pid;

/// The variable that pads the environment of a run, so that the address of the stack differs from run to run.
const PADDING_NAME: &str = "STEADY_PADDING=";

/// The variable that contains the id of the run of a process.
const RUN_NAME: &str = "STEADY_RUN=";

/// Maximum length of that id: the digits of a 64-bit number.
const RUN_LONGEST: usize = 20;

/// Size of the stack that a child uses between its creation and its exec, for a few system calls.
const STACK_BYTES: usize = 64 * 1024;

/// A program with its arguments and environment, in the form that execve(2) needs.
pub struct Program {
    path: CString,
    directory: Option<CString>,
    arguments: Strings,
    environment: Strings,
    /// `STEADY_PADDING=` and the letters of the longest padding, with a NUL where the current padding ends.
    padding: Vec<u8>,
    /// `STEADY_RUN=` and the id of the run, NUL-terminated.
    run: Vec<u8>,
    stack: Vec<u8>,
}

/// The standard streams of a child.
#[derive(Clone, Copy, Debug)]
pub struct Stdio<'fd> {
    /// Descriptor for the standard input.
    pub input: BorrowedFd<'fd>,
    /// Descriptor for the standard output.
    pub output: BorrowedFd<'fd>,
    /// Descriptor for the standard error.
    pub error: BorrowedFd<'fd>,
}

/// A process that was started.
#[derive(Debug)]
pub struct Child {
    /// Process id, which is also the id of its process group.
    pub pid: Pid,
    /// A descriptor that becomes readable when the process ends (pidfd_open(2)).
    pub pidfd: OwnedFd,
}

impl Program {
    /// Makes a program from its file, its arguments, of which the first is its name, and its environment. `padding_max`
    /// limits the padding of [`Program::spawn`], in bytes.
    ///
    /// # Errors
    /// An argument or a variable contains a NUL byte.
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

    /// Sets the directory in which the program starts. A relative path to the program is relative to it.
    ///
    /// # Errors
    /// The path contains a NUL byte.
    pub fn within(self, directory: &Path) -> Result<Self, NulError> {
        Ok(Program { directory: Some(CString::new(directory.as_os_str().as_bytes())?), ..self })
    }

    /// Starts the program in its own process group, with SIGPIPE at its default action and no blocked signals. The
    /// environment is padded by `padding` bytes, at most the maximum given to [`Program::new`]. `STEADY_RUN` is set to
    /// the first 20 bytes of `run`, which contains no NUL. The child is killed when the thread that started it ends.
    ///
    /// The child shares the caller's memory until its exec, and the caller is suspended until then (clone(2) with
    /// `CLONE_VM | CLONE_VFORK`). The cost therefore does not depend on the size of the caller.
    ///
    /// # Errors
    /// The error of clone(2) or execve(2).
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
        // The child could not execute the program. It has exited and only needs to be reaped.
        super::wait_for(child.pid)?;
        Err(io::Error::from_raw_os_error(start.error))
    }

    fn set_run(&mut self, run: &str) {
        let word = &run.as_bytes()[..run.len().min(RUN_LONGEST)];
        let value = &mut self.run[RUN_NAME.len()..];
        value.fill(0);
        value[..word.len()].copy_from_slice(word);
    }

    /// Ends the padding after `length` letters.
    fn set_padding(&mut self, length: usize) {
        let first = PADDING_NAME.len();
        let last = self.padding.len() - 1;
        self.padding[first..last].fill(b'x');
        self.padding[(first + length).min(last)] = 0;
        self.padding[last] = 0;
    }
}

/// Number of pointers that can be appended to an array.
const ROOM: usize = 2;

/// C strings and the null-terminated array of pointers to them, with room for `ROOM` more.
pub(super) struct Strings {
    pointers: Vec<*const c_char>,
    /// The strings that the pointers refer to.
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

    /// Returns the array with `strings` as its last elements.
    fn with_last(&mut self, strings: [*const c_char; ROOM]) -> *const *const c_char {
        let end = self.pointers.len() - 1;
        self.pointers[end - ROOM..end].copy_from_slice(&strings);
        self.pointers.as_ptr()
    }
}

/// Blocks all signals in this thread until it is dropped, because a handler must not run in a child that shares this
/// memory.
pub(super) struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    pub(super) fn all() -> io::Result<Self> {
        // SAFETY: both sets are plain data that outlive the calls. They are initialised before they are read.
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
        // SAFETY: `before` was filled by pthread_sigmask, so restoring it cannot fail.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

/// What a child needs until its exec, and its error number if that fails.
struct Start {
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    /// Null to keep the directory of the parent.
    directory: *const c_char,
    streams: [RawFd; 3],
    error: c_int,
}

fn clone_and_run(stack: &mut [u8], start: &mut Start) -> io::Result<Child> {
    let mut pidfd: c_int = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: only this function uses the stack, which is aligned and large enough for `become_program`. `start`
    // outlives the child's use of it, because CLONE_VFORK suspends this thread until the child has executed its program
    // or exited. CLONE_PIDFD stores the descriptor in `pidfd`, which is valid for writing.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len());
        let top = top.sub(top as usize % 16);
        let argument = ptr::from_mut(start).cast::<c_void>();
        libc::clone(become_program, top.cast(), flags, argument, ptr::from_mut(&mut pidfd))
    };
    let pid = Pid::from_raw(pid.max(0)).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: clone succeeded, so `pidfd` is an open descriptor that has no other owner.
    Ok(Child { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } })
}

/// Runs in the child, on its own stack but in the parent's memory. It may only make system calls: no allocation, no
/// unwinding.
extern "C" fn become_program(argument: *mut c_void) -> c_int {
    // SAFETY: `argument` is the `Start` that `clone_and_run` passed, which exists while the parent is suspended. Its
    // pointers are to NUL-terminated strings and null-terminated arrays of a `Program` that the parent owns.
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

/// Sets the process group, death signal, streams and signals of a child. Returns 0, or -1 with errno set.
///
/// # Safety
/// Call it only in a child between clone and exec.
unsafe fn prepare_process(streams: &[RawFd; 3]) -> c_int {
    // SAFETY: these are direct system calls on this process; the signal set is initialised by sigemptyset before its
    // use.
    unsafe {
        if libc::setpgid(0, 0) < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
            return -1;
        }
        for (target, source) in (0..).zip(streams) {
            if libc::dup2(*source, target) < 0 {
                return -1;
            }
        }
        // Rust ignores SIGPIPE, and the program would inherit that.
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
    fn a_program_gets_its_arguments_and_environment() {
        let (text, status) = output_of(&mut shell("echo $A ${#STEADY_PADDING} $STEADY_RUN; exit 3"), 7);
        assert_eq!((text.as_str(), status), ("1 7 17\n", Status::Exited(3)));
    }

    #[test]
    fn a_program_runs_in_its_directory() {
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
    fn signals_and_exits_are_distinguished() {
        assert_eq!(output_of(&mut shell("kill -KILL $$"), 0).1, Status::Signalled(9));
    }

    #[test]
    fn failed_executions_have_a_reason() {
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
