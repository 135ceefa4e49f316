//! Processes, programs and threads that exit immediately. The events are the exit statuses that waiting reports.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::Pid;
use steady_linux::process::{Status, wait_for};
use steady_model::{Absent, Reading};

use super::alone::{self, Facts, rounds, rounds_or_error};
use super::meter::Who;
use super::{Primitive, elf, refused};
use crate::raw::{Image, Stack, fork_and_exit, opaque, start_and_join, vfork_and_exit};

/// The exit status of children that run no program; unusual, so that no other child has it by accident.
const STATUS: u8 = 23;

/// fork(2) without the work that a C library adds, the exit of the child, and the wait for it. The cost depends on the
/// amount of memory of the process, whose page tables are copied.
pub(super) fn fork() -> Reading<Box<dyn Primitive>> {
    children("fork(2)", Ok(3.0), (), STATUS, |()| fork_and_exit(STATUS))
}

/// The same with vfork(2): nothing is copied, and the parent is suspended.
pub(super) fn vfork() -> Reading<Box<dyn Primitive>> {
    children("vfork(2)", Ok(3.0), Stack::new(), STATUS, |stack| vfork_and_exit(stack, STATUS))
}

/// A program of a single system call, which ends it, started as with vfork(2) and execve(2).
pub(super) fn spawn_static() -> Reading<Box<dyn Primitive>> {
    let image = Image::Open(tiny_program()?.into());
    let state = (Stack::new(), image);
    children("starting a program from memory", Ok(4.0), state, 0, |(stack, image)| image.start(stack))
}

/// The paths of the program that only succeeds, if it is dynamically linked.
const TRUE: [&CStr; 2] = [c"/bin/true", c"/usr/bin/true"];

/// The program `true`, started in the same way, without an environment.
pub(super) fn spawn_dynamic() -> Reading<Box<dyn Primitive>> {
    let path = dynamic_program()?;
    let calls = Err(Absent::because("the dynamic loader decides which system calls load a program"));
    let state = (Stack::new(), Image::At(path));
    children("starting a program", calls, state, 0, |(stack, image)| image.start(stack))
}

/// Opens a probe of children, one after the other. Those that exit with `status` count.
fn children<S: 'static>(
    what: &str,
    calls: Reading<f64>,
    state: S,
    status: u8,
    start: impl Fn(&mut S) -> io::Result<Pid> + 'static,
) -> Reading<Box<dyn Primitive>> {
    let facts = Facts { who: Who::ThreadAndChildren, calls, ..Facts::of_calls(0.0) };
    alone::open(
        what,
        facts,
        state,
        move |state, loops| {
            rounds_or_error(loops, |_| {
                let child = start(state)?;
                Ok(wait_for(child)?.status == Status::Exited(status.into()))
            })
        },
        |_, loops| {
            std::hint::black_box(rounds(loops, |round| opaque(round) == round));
            Ok(())
        },
    )
}

/// Creates a file in memory that contains the minimal program.
fn tiny_program() -> Reading<File> {
    let image = elf::minimal_program()
        .ok_or_else(|| Absent::because("there is no minimal program for this CPU architecture"))?;
    let made = || -> io::Result<File> {
        // Since Linux 6.3, a file to be executed needs `MFD_EXEC`. Older kernels reject that flag.
        let flags = MemfdFlags::CLOEXEC;
        let file = match memfd_create("steady-exit", flags | MemfdFlags::EXEC) {
            Err(Errno::INVAL) => memfd_create("steady-exit", flags),
            made => made,
        };
        let mut file = File::from(file?);
        file.write_all(&image)?;
        Ok(file)
    };
    made().map_err(|error| refused("a program in memory", &error))
}

/// Returns the path of a dynamically linked program that does nothing.
fn dynamic_program() -> Reading<CString> {
    let mut reason = Absent::because("this system has no program \"true\"");
    for path in TRUE {
        let bytes = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
        match File::open(bytes).and_then(|file| head(&file)) {
            Ok(head) if elf::has_interpreter(&head) => return Ok(path.into()),
            Ok(_) => reason = Absent::because(format!("{} is not dynamically linked", bytes.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => reason = refused(&bytes.display().to_string(), &error),
        }
    }
    Err(reason)
}

/// Returns the first bytes of a file, which include its program headers.
fn head(file: &File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(4096).read_to_end(&mut head)?;
    Ok(head)
}

/// pthread_create(3) of a thread that returns immediately, and pthread_join(3). Counted if it returned the expected
/// value. The C library reuses the stack of a finished thread for the next one.
pub(super) fn thread() -> Reading<Box<dyn Primitive>> {
    let facts = Facts {
        who: Who::Process,
        calls: Err(Absent::because("the C library decides which system calls start a thread")),
        ..Facts::of_calls(0.0)
    };
    alone::open(
        "a thread",
        facts,
        (),
        |(), loops| {
            rounds_or_error(loops, |round| {
                let round = round as usize;
                Ok(start_and_join(round)? == round + 1)
            })
        },
        |(), loops| {
            black_box(rounds(loops, |round| opaque(round) == round));
            Ok(())
        },
    )
}
