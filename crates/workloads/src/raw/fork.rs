//! Processes made from this one, programs started at the least cost, and threads as the C library makes them, without what a
//! language puts on top.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::{io, ptr};

use rustix::process::Pid;

/// The stack that a child runs on which shares this memory and does no more than end.
const STACK_BYTES: usize = 16 * 1024;

/// What makes the new process: fork(2) as the kernel has it, without what a C library would do besides. It ends at once
/// with `status`.
#[inline(always)]
pub(crate) fn fork_and_exit(status: u8) -> io::Result<Pid> {
    // SAFETY: no flag but the signal that tells of its end; in the child nothing runs but the call that ends it.
    let made = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0_usize, 0_usize, 0_usize, 0_usize) };
    if made == 0 {
        end(status);
    }
    pid(made as c_int)
}

/// The same by vfork(2): the child runs in this memory, and the caller stands still until it has ended.
#[inline(always)]
pub(crate) fn vfork_and_exit(stack: &mut Stack, status: u8) -> io::Result<Pid> {
    extern "C" fn run(status: *mut c_void) -> c_int {
        end(status.addr() as u8)
    }
    stack.clone_sharing(run, ptr::without_provenance_mut(usize::from(status)))
}

/// Runs `body` in a new process that has a copy of this one's memory, of which only the calling thread goes on. It ends
/// with what that returns, and is killed when the thread that made it ends. Of what is open here, it keeps what `kept` names.
///
/// `body` must not panic, and should make system calls only: whatever another thread was doing at the moment stays half
/// done in the copy.
pub(crate) fn fork_and_run(kept: &mut [RawFd], body: impl FnOnce() -> u8) -> io::Result<Pid> {
    let parent = std::process::id();
    kept.sort_unstable();
    // SAFETY: the child runs `body` and ends without returning to the caller, whatever happens: `Ending` sees to it.
    match unsafe { libc::fork() } {
        0 => {
            let _ending = Ending;
            // SAFETY: a plain system call on the child itself.
            let told = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == 0;
            // A parent that had ended before would not be told of.
            if told && std::os::unix::process::parent_id() == parent {
                close_all_but(kept);
                end(body());
            }
            end(1)
        }
        made => pid(made),
    }
}

/// Closes every descriptor but these, which are in order (close_range(2)): whoever reads at the other end of a pipe is to
/// see it end when this process's parent does.
fn close_all_but(kept: &[RawFd]) {
    let firsts = std::iter::once(0).chain(kept.iter().map(|fd| i64::from(*fd) + 1));
    let lasts = kept.iter().map(|fd| i64::from(*fd) - 1).chain([i64::from(u32::MAX)]);
    for (first, last) in firsts.zip(lasts).filter(|(first, last)| first <= last) {
        // SAFETY: nothing in this process uses those descriptors: its only thread runs on with the others. Kernels without the
        // call leave them open, until the process is killed.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// Ends the process rather than have it run on in its parent's code.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        end(1);
    }
}

/// exit_group(2).
pub(super) fn end(status: u8) -> ! {
    loop {
        // SAFETY: it ends this process and does nothing else.
        unsafe { libc::syscall(libc::SYS_exit_group, c_int::from(status)) };
    }
}

/// A stack for children that share this memory, one at a time.
pub(crate) struct Stack(Box<[u128]>);

impl Stack {
    /// One for a handful of system calls.
    pub(crate) fn new() -> Self {
        Stack(vec![0; STACK_BYTES / size_of::<u128>()].into_boxed_slice())
    }

    /// Starts a process that runs `body` in this memory, while the caller stands still until it has ended or become another
    /// program (clone(2) with `CLONE_VM | CLONE_VFORK`). `body` must make system calls only, and use what `argument`
    /// points to for nothing but what its owner gave it for.
    #[inline(always)]
    pub(super) fn clone_sharing(
        &mut self,
        body: extern "C" fn(*mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> io::Result<Pid> {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let top = self.0.as_mut_ptr_range().end;
        // SAFETY: the stack is ours alone, aligned to 16 bytes by its type and large enough for some system calls; the
        // caller is suspended as long as the child uses it.
        pid(unsafe { libc::clone(body, top.cast(), flags, argument) })
    }
}

fn pid(made: c_int) -> io::Result<Pid> {
    Pid::from_raw(made.max(0)).ok_or_else(io::Error::last_os_error)
}

/// pthread_create(3) of a thread that returns `value` plus one, and pthread_join(3); what it returned.
#[inline(always)]
pub(crate) fn start_and_join(value: usize) -> io::Result<usize> {
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    let mut result: *mut c_void = ptr::null_mut();
    // SAFETY: `thread` and `result` are valid for writing; the argument is a number and points to nothing; the thread that
    // is joined was just made, and by nobody else.
    unsafe {
        let argument = ptr::without_provenance_mut(value);
        checked(libc::pthread_create(thread.as_mut_ptr(), ptr::null(), add_one, argument))?;
        checked(libc::pthread_join(thread.assume_init(), &mut result))?;
    }
    Ok(result.addr())
}

extern "C" fn add_one(value: *mut c_void) -> *mut c_void {
    ptr::without_provenance_mut(value.addr().wrapping_add(1))
}

fn checked(error: libc::c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

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
