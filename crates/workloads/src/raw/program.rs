//! Programs started at the least cost: no environment, no arguments but a name, what is open stays open.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use rustix::process::Pid;

use super::fork::{Stack, end};

/// What a child's end tells of a program that could not be executed.
const NOT_EXECUTED: u8 = 127;

/// Where a program is.
#[derive(Debug)]
pub(crate) enum Image {
    /// In a file that is open.
    Open(OwnedFd),
    /// In the file of that path.
    At(CString),
}

/// What a child has to know, and where it leaves the reason why it did not become the program.
struct Start<'a> {
    image: &'a Image,
    error: c_int,
}

impl Image {
    /// Starts it as vfork(2) and execve(2) do: the caller stands still until it runs.
    #[inline(always)]
    pub(crate) fn start(&self, stack: &mut Stack) -> io::Result<Pid> {
        let mut start = Start { image: self, error: 0 };
        let pid = stack.clone_sharing(become_program, ptr::from_mut(&mut start).cast())?;
        if start.error == 0 {
            return Ok(pid);
        }
        // It has left already, and only waits to be reaped.
        steady_linux::process::wait_for(pid)?;
        Err(io::Error::from_raw_os_error(start.error))
    }
}

const EMPTY: &CStr = c"";
const NAME: &CStr = c"true";

/// Runs in the child, on its own stack but in the parent's memory: system calls only.
extern "C" fn become_program(argument: *mut c_void) -> c_int {
    // SAFETY: `argument` is the `Start` that `Image::start` passed, alive while the parent is suspended and used by nobody
    // else meanwhile; strings end with NUL, arrays with null.
    unsafe {
        let start = &mut *argument.cast::<Start<'_>>();
        let arguments: [*const c_char; 2] = [NAME.as_ptr(), ptr::null()];
        let environment: [*const c_char; 1] = [ptr::null()];
        let (arguments, environment) = (arguments.as_ptr(), environment.as_ptr());
        match start.image {
            Image::Open(file) => {
                let (file, path, flags) = (file.as_raw_fd(), EMPTY.as_ptr(), libc::AT_EMPTY_PATH);
                libc::syscall(libc::SYS_execveat, file, path, arguments, environment, flags)
            }
            Image::At(path) => libc::syscall(libc::SYS_execve, path.as_ptr(), arguments, environment),
        };
        start.error = *libc::__errno_location();
    }
    end(NOT_EXECUTED)
}
