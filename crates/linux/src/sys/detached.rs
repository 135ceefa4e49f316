//! Starts processes that outlive their parent, forks, and executes a program in this process.

use std::ffi::{CString, NulError, OsStr, c_char, c_int};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::process::Pid;

use super::signals::{Disposition, dispose_raw};

/// The largest signal number.
const LAST_SIGNAL: c_int = 64;

/// Starts a daemon: in its own session, as a child of the process that adopts orphans. Its standard input is `input`,
/// its output and error are `/dev/null`, and it has no other descriptors. Its environment is `environment`, its
/// directory is the root, and all signals have their default action. This process must have one thread, because the
/// child starts as its copy.
///
/// # Errors
/// The error of fork(2), or a word contains a NUL byte. That the program cannot be executed is not reported.
pub fn start_detached<'a>(
    program: &Path,
    words: impl IntoIterator<Item = &'a OsStr>,
    environment: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
    input: BorrowedFd<'_>,
) -> io::Result<()> {
    let path = CString::new(program.as_os_str().as_bytes())?;
    let (words, environment) = (texts(words)?, variables(environment)?);
    let (words, environment) = (pointers(&words), pointers(&environment));
    let null = std::fs::File::options().write(true).open("/dev/null")?;
    // SAFETY: this process has one thread, so no other thread holds a lock that the child could need.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let streams = [input.as_raw_fd(), null.as_raw_fd()];
            // SAFETY: this is the child. The pointers are to its copies of the strings, the arrays end with null, and
            // the descriptors are open.
            unsafe { detach(&path, &words, &environment, streams) }
        }
        pid => {
            let between = Pid::from_raw(pid).ok_or(io::ErrorKind::Other)?;
            super::wait_for(between).map(drop)
        }
    }
}

/// Forks this process, which must have one thread. Returns the child's process id in the parent, and `None` in the
/// child.
///
/// # Errors
/// The error of fork(2).
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: this process has one thread, so no other thread holds a lock that the child could need.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Closes all descriptors except the standard streams, and points those at `/dev/null`. The process must not use or
/// drop any other descriptor afterwards.
pub(crate) fn close_all() {
    // SAFETY: the caller does not use these descriptors any more; the path ends with NUL.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        (0..3).for_each(|stream| _ = libc::dup2(null, stream));
    }
}

/// Starts a new session, and executes the program in a child of this process.
///
/// # Safety
/// Call it only in a child that has just been forked. Both arrays must end with null.
unsafe fn detach(path: &CString, words: &[*const c_char], environment: &[*const c_char], streams: [c_int; 2]) -> ! {
    // SAFETY: these are direct system calls, on strings that end with NUL and on open descriptors. The signal set is
    // initialised before its use.
    unsafe {
        libc::setsid();
        if libc::fork() == 0 {
            libc::dup2(streams[0], 0);
            libc::dup2(streams[1], 1);
            libc::dup2(streams[1], 2);
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
            libc::chdir(c"/".as_ptr());
            (1..=LAST_SIGNAL).for_each(|signal| dispose_raw(signal, Disposition::Default));
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
            libc::syscall(libc::SYS_execve, path.as_ptr(), words.as_ptr(), environment.as_ptr());
        }
        libc::_exit(0)
    }
}

/// Executes a program, as execve(2) does: with this process's id, streams, session and limits, and with SIGPIPE,
/// SIGCHLD and the streams as they were when this process started (see `own.rs`). Returns only if that failed, with the
/// reason.
pub fn execute<'a>(
    program: &Path,
    words: impl IntoIterator<Item = &'a OsStr>,
    environment: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
) -> io::Error {
    let path = CString::new(program.as_os_str().as_bytes());
    let (Ok(path), Ok(words), Ok(environment)) = (path, texts(words), variables(environment)) else {
        return io::ErrorKind::InvalidInput.into();
    };
    let (words, environment) = (pointers(&words), pointers(&environment));
    super::own::restore();
    // Call the kernel directly, because another library may override the C library's function.
    // SAFETY: the strings end with NUL, the arrays end with null, and all outlive the call.
    unsafe { libc::syscall(libc::SYS_execve, path.as_ptr(), words.as_ptr(), environment.as_ptr()) };
    let error = io::Error::last_os_error();
    super::own::change_again();
    error
}

fn texts<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> Result<Vec<CString>, NulError> {
    words.into_iter().map(|word| CString::new(word.as_bytes())).collect()
}

fn variables<'a>(all: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>) -> Result<Vec<CString>, NulError> {
    all.into_iter().map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())).collect()
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn failed_executions_have_a_reason() {
        let nothing = std::iter::empty::<(&OsStr, &OsStr)>;
        for (path, error) in [("/nonexistent", libc::ENOENT), ("/etc/passwd", libc::EACCES)] {
            let failed = execute(Path::new(path), [OsStr::new("x")], nothing());
            assert_eq!(failed.raw_os_error(), Some(error), "{path}");
        }
    }

    #[test]
    fn a_detached_process_has_one_input_and_its_own_session() {
        let folder = std::env::temp_dir().join(format!("steady-detached-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (script, said) = (folder.join("script"), folder.join("said"));
        let text = "exec 2>/dev/null; { ps -o sid= -p $$ || echo 0; echo $$; cat; ls /proc/$$/fd | tr '\\n' ' '; pwd; } \
                    > \"$SAID.new\"; mv \"$SAID.new\" \"$SAID\"";
        std::fs::write(&script, "given\n").unwrap();
        let input = std::fs::File::open(&script).unwrap();
        let words = ["sh", "-c", text].map(OsStr::new);
        let variables = [("SAID", said.as_os_str()), ("PATH", OsStr::new("/usr/bin:/bin"))];
        let variables = variables.map(|(name, value)| (OsStr::new(name), value));
        start_detached(Path::new("/bin/sh"), words, variables, input.as_fd()).unwrap();
        let found = (0..500).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            std::fs::read_to_string(&said).ok()
        });
        let found = found.expect("the process started");
        std::fs::remove_dir_all(&folder).unwrap();
        let lines: Vec<&str> = found.lines().collect();
        assert!(lines[2] == "given" && lines[3].ends_with('/'), "{found}");
        let open: Vec<&str> = lines[3].split_whitespace().collect();
        assert!(open.len() <= 6, "inherited descriptors: {found}");
    }
}
