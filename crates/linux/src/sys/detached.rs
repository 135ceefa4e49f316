//! Processes beside a command: one that outlives who started it, and becoming the command oneself.

use std::ffi::{CString, NulError, OsStr, c_char, c_int};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::process::Pid;

use super::signals::{Disposition, dispose_raw};

/// The last number of a signal.
const LAST_SIGNAL: c_int = 64;

/// Starts a program that nobody waits for: in a session of its own, a child of whoever takes orphans in, with `input` as its
/// standard input, nothing as its output, no other descriptor, no environment but `environment`, in the root directory, and
/// with all signals as the system has them. Only for a process with one thread, since the child begins as its copy.
///
/// # Errors
/// What fork(2) says, and words with a NUL byte. That the program cannot be executed is not told.
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
    // SAFETY: this process has one thread, so the child finds no lock held by another.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let streams = [input.as_raw_fd(), null.as_raw_fd()];
            // SAFETY: this is the child; the pointers are to strings that it has copies of, the arrays end with null, and
            // the descriptors are open.
            unsafe { detach(&path, &words, &environment, streams) }
        }
        pid => {
            let between = Pid::from_raw(pid).ok_or(io::ErrorKind::Other)?;
            super::wait_for(between).map(drop)
        }
    }
}

/// Forks this process, which must have one thread: returns the child's number in the parent, and `None` in the child.
///
/// # Errors
/// What fork(2) says.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: this process has one thread, so the child finds no lock held by another.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Closes all descriptors but the three streams, and points those at nothing. Only for a process that uses no other
/// descriptor afterwards, and drops none.
pub(crate) fn close_all() {
    // SAFETY: the caller uses none of these descriptors any more; the path ends with NUL.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        (0..3).for_each(|stream| _ = libc::dup2(null, stream));
    }
}

/// Leaves the session, and has a child of one's own become the program.
///
/// # Safety
/// Only in a child that has just been forked; both arrays end with null.
unsafe fn detach(path: &CString, words: &[*const c_char], environment: &[*const c_char], streams: [c_int; 2]) -> ! {
    // SAFETY: plain system calls of this process, on strings that end with NUL and on descriptors that are open.
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

/// Becomes a program, as execve(2) does: with this process's number, streams, session, limits, and its signals as
/// `own.rs` found them. Returns only where that failed, with the reason.
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
    super::own::put_back();
    // Not by the C library's function, before which another library may stand.
    // SAFETY: the strings end with NUL and the arrays with null, and all outlive the call.
    unsafe { libc::syscall(libc::SYS_execve, path.as_ptr(), words.as_ptr(), environment.as_ptr()) };
    let error = io::Error::last_os_error();
    super::own::undo();
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
    fn what_cannot_be_executed_says_why() {
        let nothing = std::iter::empty::<(&OsStr, &OsStr)>;
        for (path, error) in [("/nonexistent", libc::ENOENT), ("/etc/passwd", libc::EACCES)] {
            let failed = execute(Path::new(path), [OsStr::new("x")], nothing());
            assert_eq!(failed.raw_os_error(), Some(error), "{path}");
        }
    }

    #[test]
    fn what_is_started_detached_has_one_stream_and_a_session_of_its_own() {
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
        let found = found.expect("it was started");
        std::fs::remove_dir_all(&folder).unwrap();
        let lines: Vec<&str> = found.lines().collect();
        assert!(lines[2] == "given" && lines[3].ends_with('/'), "{found}");
        let open: Vec<&str> = lines[3].split_whitespace().collect();
        assert!(open.len() <= 6, "no descriptor of ours: {found}");
    }
}
