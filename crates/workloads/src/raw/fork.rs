//! Processes and programs created with the least overhead, and threads created through the C library, without the
//! additional work of Rust's standard library.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::{io, ptr};

use rustix::process::Pid;

/// The size of the stack of a child that shares this memory and makes only a few system calls.
const STACK_BYTES: usize = 16 * 1024;

/// Creates a process that exits immediately with `status`: the kernel's fork(2) without the work that a C library adds.
#[inline(always)]
pub(crate) fn fork_and_exit(status: u8) -> io::Result<Pid> {
    // SAFETY: without flags, the child gets a copy of the memory. In the child, only the call that ends it runs.
    let made = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0_usize, 0_usize, 0_usize, 0_usize) };
    if made == 0 {
        end(status);
    }
    pid(made as c_int)
}

/// The same with vfork(2): the child runs in this memory, and the caller is suspended until it has ended.
#[inline(always)]
pub(crate) fn vfork_and_exit(stack: &mut Stack, status: u8) -> io::Result<Pid> {
    extern "C" fn run(status: *mut c_void) -> c_int {
        end(status.addr() as u8)
    }
    stack.clone_sharing(run, ptr::without_provenance_mut(usize::from(status)))
}

/// Runs `body` in a new process with a copy of this process's memory, in which only the calling thread exists. The
/// process exits with the status that `body` returns. The kernel kills it if the thread that created it ends. It keeps
/// only the open descriptors in `kept`.
///
/// `body` must not panic, and should make system calls only, because other threads may have left data such as locks in
/// an intermediate state in the copy.
pub(crate) fn fork_and_run(kept: &mut [RawFd], body: impl FnOnce() -> u8) -> io::Result<Pid> {
    let parent = std::process::id();
    kept.sort_unstable();
    // SAFETY: the child runs `body` and never returns to the caller, even after a panic, because dropping `Ending` ends
    // it.
    match unsafe { libc::fork() } {
        0 => {
            let _ending = Ending;
            // SAFETY: the call concerns only the child itself, and its arguments are numbers.
            let is_set = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == 0;
            // There is no signal if the parent ended before the call.
            if is_set && std::os::unix::process::parent_id() == parent {
                close_all_but(kept);
                end(body());
            }
            end(1)
        }
        made => pid(made),
    }
}

/// Closes every descriptor except those in `kept`, which is sorted, with close_range(2). Without this, a pipe of the
/// parent would stay open in this process after the parent has closed it or ended.
fn close_all_but(kept: &[RawFd]) {
    let firsts = std::iter::once(0).chain(kept.iter().map(|fd| i64::from(*fd) + 1));
    let lasts = kept.iter().map(|fd| i64::from(*fd) - 1).chain([i64::from(u32::MAX)]);
    for (first, last) in firsts.zip(lasts).filter(|(first, last)| first <= last) {
        // SAFETY: no code in this process uses these descriptors, because its only thread continues with those in
        // `kept`. Kernels without the call leave them open until the process ends.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// Ends the process when dropped, so that it never continues in the code of its parent.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        end(1);
    }
}

/// Ends the process with exit_group(2).
pub(super) fn end(status: u8) -> ! {
    loop {
        // SAFETY: the call ends this process and has no other effect.
        unsafe { libc::syscall(libc::SYS_exit_group, c_int::from(status)) };
    }
}

/// A stack for children that share this memory, for one child at a time.
pub(crate) struct Stack(Box<[u128]>);

impl Stack {
    /// Allocates a stack that is large enough for a few system calls.
    pub(crate) fn new() -> Self {
        Stack(vec![0; STACK_BYTES / size_of::<u128>()].into_boxed_slice())
    }

    /// Starts a process that runs `body` in this memory. The caller is suspended until the process has exited or
    /// executed a program (clone(2) with `CLONE_VM | CLONE_VFORK`). `body` must make system calls only, and access only
    /// what `argument` points to.
    #[inline(always)]
    pub(super) fn clone_sharing(
        &mut self,
        body: extern "C" fn(*mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> io::Result<Pid> {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let top = self.0.as_mut_ptr_range().end;
        // SAFETY: no other code uses the stack, its type aligns it to 16 bytes, and it is large enough for a few system
        // calls. The caller is suspended while the child uses it.
        pid(unsafe { libc::clone(body, top.cast(), flags, argument) })
    }
}

fn pid(made: c_int) -> io::Result<Pid> {
    Pid::from_raw(made.max(0)).ok_or_else(io::Error::last_os_error)
}

/// Starts a thread with pthread_create(3) that returns `value` plus one, and joins it with pthread_join(3). Returns its
/// result.
#[inline(always)]
pub(crate) fn start_and_join(value: usize) -> io::Result<usize> {
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    let mut result: *mut c_void = ptr::null_mut();
    // SAFETY: `thread` and `result` are valid for writing. The argument is a number and not dereferenced. The joined
    // thread was just created, and no other code joins it.
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

/// The exit status of a child that could not execute its program.
const NOT_EXECUTED: u8 = 127;

/// The location of a program.
#[derive(Debug)]
pub(crate) enum Image {
    /// A program in an open file.
    Open(OwnedFd),
    /// A program in the file with this path.
    At(CString),
}

/// The data of a child, and the place for the reason if it cannot execute its program.
struct Start<'a> {
    image: &'a Image,
    error: c_int,
}

impl Image {
    /// Starts the program like vfork(2) and execve(2): the caller is suspended until it runs.
    #[inline(always)]
    pub(crate) fn start(&self, stack: &mut Stack) -> io::Result<Pid> {
        let mut start = Start { image: self, error: 0 };
        let pid = stack.clone_sharing(become_program, ptr::from_mut(&mut start).cast())?;
        if start.error == 0 {
            return Ok(pid);
        }
        // The child has already exited, and only needs to be reaped.
        steady_linux::process::wait_for(pid)?;
        Err(io::Error::from_raw_os_error(start.error))
    }
}

const EMPTY: &CStr = c"";
const NAME: &CStr = c"true";

/// Runs in the child, on its own stack but in the parent's memory. It makes system calls only.
extern "C" fn become_program(argument: *mut c_void) -> c_int {
    // SAFETY: `argument` is the `Start` that `Image::start` passed. It is alive, and no other code uses it, because the
    // parent is suspended. The strings end with NUL bytes, and the arrays with null pointers.
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
