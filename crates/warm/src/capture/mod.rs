//! Captures a program at its entry point: starts it under ptrace(2), lets it run to the entry point, reads its state,
//! and kills it.
//!
//! Until the entry point, ld.so and the constructors of libraries run as usual. Each of their system calls is checked
//! before it is made (`calls.rs`). The program is refused if a call leaves state in the kernel that a snapshot cannot
//! restore, or if memory could then depend on anything but files and recorded variables. Debug registers watch what
//! constructors can read without a system call (`stack.rs`). What they can set without one is compared with what
//! execve(2) sets (`state.rs`).

mod calls;
mod equalize;
mod files;
mod locale;
mod modules;
mod rights;
mod stack;
mod start;
mod state;

use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use steady_linux::Root;
use steady_linux::debuggee::{Debuggee, Limits, Stop};
use steady_linux::process::Status;

use super::captured::{Captured, NotCaptured, Refusal, Request, Thread};
use calls::OnReturn;
use files::Files;
use modules::Module;
use stack::{InitialStack, Places};
pub use start::unbound;
use start::{start_traced, varying_functions};

/// How long a program may run until its entry point. On a busy machine it mostly waits for a CPU.
const LIMITS: Limits = Limits { cpu_seconds: 5, wall_seconds: 30 };
/// The functions of the C library that read the environment.
const ENVIRONMENT: [&str; 4] = ["getenv", "secure_getenv", "__secure_getenv", "__libc_secure_getenv"];
/// The function that ld.so calls for debuggers. Its last call is after all relocations and before the first
/// constructor.
const LOADED: &str = "_dl_debug_state";

/// Captures a program.
///
/// # Errors
/// The program is refused, or it could not be traced here and now.
pub fn capture(request: &Request) -> Result<Captured, NotCaptured> {
    let _one_cpu = equalize::keep_to_one_cpu(&request.program);
    let mut capture = Capture::at_entry(request)?;
    if request.locale {
        let is_large = capture.load_locale().and_then(|()| capture.has_large_locale());
        // A large locale archive would be in every snapshot, so capture the program without it.
        if is_large.map_err(|why| why.with_used_files(capture.files.all()))? {
            capture = Capture::at_entry(request)?;
        }
    }
    let files = capture.files.all();
    capture.finish().map_err(|why| why.with_used_files(files))
}

/// A program that runs to its entry point under ptrace(2).
struct Capture {
    debuggee: Debuggee,
    /// The address of the entry point.
    entry: u64,
    /// The address of [`LOADED`].
    loaded: u64,
    /// Functions of the vDSO that must not be called: their addresses and names.
    varying: Vec<(u64, &'static str)>,
    loader: Module,
    /// The address of the mapping that only fills a gap; 0 if there is none.
    filled: u64,
    /// The places on its stack that debug registers watch.
    watched: Places,
    /// The address ranges of functions that read the environment by name.
    answering: Vec<Range<u64>>,
    /// The library in `LD_PRELOAD`, without symbolic links.
    preloaded: Option<PathBuf>,
    files: Files,
    thread: Thread,
    /// PKRU at its first instruction.
    protection_keys: Option<u32>,
    /// Whether it gets alternative answers from the kernel; see [`Request`].
    alternative: bool,
    /// A descriptor that it has from the start, in addition to its streams.
    descriptor: Option<i64>,
    stack_limit: u64,
    heap_end: u64,
    variables: Vec<OsString>,
    /// What to do when the current system call returns.
    on_return: OnReturn,
    drawn: Vec<u64>,
}

impl Capture {
    /// Starts the program and runs it to its entry point, where it has one thread.
    fn at_entry(request: &Request) -> Result<Self, NotCaptured> {
        let mut capture = Capture::start(request)?;
        match capture.go_to_entry() {
            Ok(()) => Ok(capture),
            Err(why) => Err(why.with_used_files(capture.files.all())),
        }
    }

    fn go_to_entry(&mut self) -> Result<(), NotCaptured> {
        self.reach_entry()?;
        let _ = self.debuggee.watch_nothing();
        state::is_alone(&self.debuggee)?;
        state::has_usual_registers(&self.debuggee, self.protection_keys)?;
        self.thread.pointer = self.debuggee.registers().map_err(failed)?.fs_base();
        self.thread.floating_point = state::floating_point(&self.debuggee)?;
        Ok(())
    }

    fn start(request: &Request) -> Result<Self, NotCaptured> {
        let mut debuggee = start_traced(request)?;
        // The administrator may have switched randomisation off temporarily, so this is not a refusal.
        if Root::default().read_line("/proc/sys/kernel/randomize_va_space").is_ok_and(|setting| setting == "0") {
            let why = "this host places programs at the same addresses each time (kernel.randomize_va_space is 0)";
            return Err(NotCaptured::Failed(why.to_owned()));
        }
        let initial = InitialStack::of(&debuggee)?;
        if u32::try_from(debuggee.pid()) == Ok(request.arguments) {
            return Err(NotCaptured::Failed("by chance, its process number equals its number of arguments".to_owned()));
        }
        let [entry, base] = [stack::ENTRY, stack::BASE].map(|kind| initial.value(kind).unwrap_or(0));
        if entry == 0 || base == 0 {
            return Err(refused("it is linked statically"));
        }
        if initial.value(stack::SECURE).unwrap_or(0) != 0 {
            return Err(refused("it runs with other rights than the process that starts it"));
        }
        state::is_the_program(&debuggee, &request.program)?;
        let stack_limit = debuggee.put_back_limit(request.stack_limit).map_err(failed)?;
        let loader = Module::at(&debuggee, base)?;
        let descriptor = if request.alternative { start::give_alternatives(&mut debuggee, &initial)? } else { None };
        let filled = equalize::equalize(&mut debuggee, &initial)?;
        let initial = InitialStack::of(&debuggee)?;
        let loaded = loader.function(&debuggee, LOADED)?;
        let loaded = loaded.ok_or_else(|| refused("its loader does not belong to the GNU C library"))?;
        let varying = varying_functions(&debuggee, &initial)?;
        for address in varying.iter().map(|(address, _)| *address).chain([entry, loaded]) {
            debuggee.set_breakpoint(address).map_err(failed)?;
        }
        let files = Files::of(&debuggee, request, &initial)?;
        Ok(Capture {
            watched: initial.watched(&debuggee)?,
            protection_keys: debuggee.protection_keys().map_err(failed)?,
            debuggee,
            entry,
            loaded,
            varying,
            loader,
            filled,
            answering: vec![],
            preloaded: request.preloaded.as_ref().map(std::fs::canonicalize).transpose().map_err(failed)?,
            files,
            thread: Thread::default(),
            alternative: request.alternative,
            descriptor,
            stack_limit,
            heap_end: 0,
            variables: vec![],
            on_return: OnReturn::Nothing,
            drawn: vec![],
        })
    }

    /// Runs it to its entry point and handles all stops on the way.
    fn reach_entry(&mut self) -> Result<(), NotCaptured> {
        loop {
            match self.debuggee.go_on().map_err(failed)? {
                Stop::Breakpoint(address) if address == self.entry => return Ok(()),
                Stop::Breakpoint(address) => self.at_breakpoint(address)?,
                Stop::Calls(call) => self.on_return = self.call_entered(&call)?,
                Stop::Returns(result) => self.call_returned(result)?,
                Stop::Touched(index) => self.touched(index)?,
                Stop::Signal(equalize::FAULT) if self.reads_time_stamp()? => {}
                Stop::Signal(signal) => return Err(refused(format!("it gets signal {signal} before its entry point"))),
                Stop::Ended(Status::Exited(status)) => {
                    return Err(refused(format!("it ends with status {status} before its entry point")));
                }
                Stop::Ended(Status::Signalled(signal)) => {
                    return Err(NotCaptured::Failed(format!(
                        "it was killed by signal {signal} before its entry point"
                    )));
                }
                Stop::Foreign => return Err(refused("it makes system calls of 32-bit programs")),
            }
        }
    }

    fn at_breakpoint(&mut self, address: u64) -> Result<(), NotCaptured> {
        let first_argument = self.debuggee.registers().map_err(failed)?.first_argument();
        if let Some((_, name)) = self.varying.iter().find(|(function, _)| *function == address) {
            // With no buffer, getrandom reports how much memory it needs for its state. ld.so makes this call.
            if *name == "getrandom" && first_argument == 0 {
                return Ok(());
            }
            return Err(refused(format!("a constructor calls {name}(2) before its entry point")));
        }
        if address == self.loaded {
            // All functions that read the environment are loaded now, and have not been called yet.
            for module in modules::all(&self.debuggee)? {
                for function in module.functions(&self.debuggee, &ENVIRONMENT)? {
                    self.debuggee.set_breakpoint(function.start).map_err(failed)?;
                    self.answering.push(function);
                }
            }
            // Debug registers are not available on every machine, so an error is ignored.
            let _ = self.debuggee.watch(self.watched.0);
            return Ok(());
        }
        let name = OsString::from_vec(self.debuggee.string(first_argument).map_err(failed)?);
        if !self.variables.contains(&name) {
            self.variables.push(name);
        }
        Ok(())
    }

    /// Reads the state of the program at its entry point.
    fn finish(mut self) -> Result<Captured, NotCaptured> {
        let registers = self.debuggee.registers().map_err(failed)?;
        self.debuggee.clear_breakpoints().map_err(failed)?;
        state::has_left_nothing(&self.debuggee, self.descriptor)?;
        let mut maps = self.debuggee.maps().map_err(failed)?;
        maps.retain(|mapping| mapping.start != self.filled);
        let stack = InitialStack::of(&self.debuggee)?.stack(&self.debuggee, &maps)?;
        let regions = state::regions(&self.debuggee, &maps, &stack)?;
        Ok(Captured {
            regions,
            entry: self.entry,
            at_exit: registers.data(),
            thread: self.thread,
            stack,
            stack_limit: self.stack_limit,
            heap_end: self.heap_end,
            drawn: self.drawn,
            files: self.files.all(),
            variables: self.variables,
        })
    }
}

fn refused(why: impl Into<String>) -> NotCaptured {
    Refusal(why.into()).into()
}

fn failed(error: io::Error) -> NotCaptured {
    NotCaptured::Failed(format!("the program could not be examined: {error}"))
}
