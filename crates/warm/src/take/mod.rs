//! Taking a program at its entry: started, held, led there, looked into, and killed.
//!
//! ld.so and the constructors of libraries run as usual until then. Each of their system calls is looked at first
//! (`calls.rs`): what would leave something in the kernel that a snapshot cannot make again, or let memory depend on
//! more than files and the words that were asked for, is a refusal. What it can read without a system call is watched
//! (`watched.rs`), and what it can set without one is compared with what execve(2) sets (`state.rs`).

mod calls;
mod files;
mod locale;
mod modules;
mod settle;
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

use super::taken::{NotTaken, Refusal, Request, Taken, Thread};
use calls::Noted;
use files::Files;
use modules::Module;
use stack::{Initial, Places};
pub use start::unbound;
use start::{hold, moment};

/// How long a program may take to its entry. On a busy machine it mostly waits for a CPU.
const LIMITS: Limits = Limits { cpu_seconds: 5, wall_seconds: 30 };
/// What functions that read the environment are called.
const ENVIRONMENT: [&str; 4] = ["getenv", "secure_getenv", "__secure_getenv", "__libc_secure_getenv"];
/// What ld.so calls for debuggers, the last time when all is relocated and no constructor has run.
const LOADED: &str = "_dl_debug_state";

/// Takes the program that is asked for.
///
/// # Errors
/// It is no program to be kept warm, or it could not be held here and now.
pub fn take(request: &Request) -> Result<Taken, NotTaken> {
    let _one_cpu = settle::keep_to_one_cpu(&request.program);
    let mut taking = Taking::at_entry(request)?;
    if request.locale {
        let is_large = taking.load_locale().and_then(|()| taking.has_large_locale());
        // Every snapshot would hold all of it.
        if is_large.map_err(|why| why.having_asked_for(taking.files.all()))? {
            taking = Taking::at_entry(request)?;
        }
    }
    let files = taking.files.all();
    taking.finish().map_err(|why| why.having_asked_for(files))
}

/// A program on its way to its entry.
struct Taking {
    debuggee: Debuggee,
    /// Where that is.
    entry: u64,
    /// The address of [`LOADED`].
    loaded: u64,
    /// Addresses of functions of the kernel's object that must not be called.
    moment: Vec<(u64, &'static str)>,
    /// The loader, and memory that only fills a gap.
    loader: Module,
    filled: u64,
    /// The places on its stack that are watched.
    watched: Places,
    /// Where functions that answer for the environment begin and end.
    answering: Vec<Range<u64>>,
    /// The library that is loaded before all others, by the path that the kernel knows it by.
    preloaded: Option<PathBuf>,
    files: Files,
    thread: Thread,
    /// PKRU at its first instruction.
    protection_keys: Option<u32>,
    /// Whether it gets other answers than usual.
    alternative: bool,
    /// A descriptor that it begins with, besides its streams.
    descriptor: Option<i64>,
    stack_limit: u64,
    heap_end: u64,
    variables: Vec<OsString>,
    /// The system call that is under way.
    noted: Noted,
    drawn: Vec<u64>,
}

impl Taking {
    /// The program at its entry, with one thread.
    fn at_entry(request: &Request) -> Result<Self, NotTaken> {
        let mut taking = Taking::start(request)?;
        match taking.go_to_entry() {
            Ok(()) => Ok(taking),
            Err(why) => Err(why.having_asked_for(taking.files.all())),
        }
    }

    fn go_to_entry(&mut self) -> Result<(), NotTaken> {
        self.reach_entry()?;
        let _ = self.debuggee.watch_nothing();
        state::is_alone(&self.debuggee)?;
        state::has_usual_registers(&self.debuggee, self.protection_keys)?;
        self.thread.pointer = self.debuggee.registers().map_err(failed)?.fs_base();
        self.thread.floating_point = state::floating_point(&self.debuggee)?;
        Ok(())
    }

    fn start(request: &Request) -> Result<Self, NotTaken> {
        let mut debuggee = hold(request)?;
        // Somebody may have switched this off for a while; that is not the program's doing.
        if Root::default().read_line("/proc/sys/kernel/randomize_va_space").is_ok_and(|setting| setting == "0") {
            let why = "this host places programs at the same addresses each time (kernel.randomize_va_space is 0)";
            return Err(NotTaken::Failed(why.to_owned()));
        }
        let initial = Initial::of(&debuggee)?;
        if u32::try_from(debuggee.pid()) == Ok(request.arguments) {
            return Err(NotTaken::Failed("its process number is the number of its arguments, by chance".to_owned()));
        }
        let [entry, base] = [stack::ENTRY, stack::BASE].map(|kind| initial.value(kind).unwrap_or(0));
        if entry == 0 || base == 0 {
            return Err(refused("it is linked statically"));
        }
        if initial.value(stack::SECURE).unwrap_or(0) != 0 {
            return Err(refused("it gets other rights than whoever starts it"));
        }
        state::is_the_program(&debuggee, &request.program)?;
        let stack_limit = debuggee.put_back_limit(request.stack_limit).map_err(failed)?;
        let loader = Module::at(&debuggee, base)?;
        let descriptor = if request.alternative { start::give_alternatives(&mut debuggee, &initial)? } else { None };
        let filled = settle::settle(&mut debuggee, &initial)?;
        let initial = Initial::of(&debuggee)?;
        let loaded = loader.function(&debuggee, LOADED)?;
        let loaded = loaded.ok_or_else(|| refused("its interpreter is not that of the GNU C library"))?;
        let moment = moment(&debuggee, &initial)?;
        for address in moment.iter().map(|(address, _)| *address).chain([entry, loaded]) {
            debuggee.set_breakpoint(address).map_err(failed)?;
        }
        let files = Files::of(&debuggee, request, &initial)?;
        Ok(Taking {
            watched: initial.watched(&debuggee)?,
            protection_keys: debuggee.protection_keys().map_err(failed)?,
            debuggee,
            entry,
            loaded,
            moment,
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
            noted: Noted::Nothing,
            drawn: vec![],
        })
    }

    /// Leads it to its entry, by whatever it does on the way.
    fn reach_entry(&mut self) -> Result<(), NotTaken> {
        loop {
            match self.debuggee.go_on().map_err(failed)? {
                Stop::Breakpoint(address) if address == self.entry => return Ok(()),
                Stop::Breakpoint(address) => self.at_breakpoint(address)?,
                Stop::Calls(call) => self.noted = self.begins(&call)?,
                Stop::Returns(result) => self.returns(result)?,
                Stop::Touched(index) => self.touched(index)?,
                Stop::Signal(settle::FAULT) if self.reads_time_stamp()? => {}
                Stop::Signal(signal) => return Err(refused(format!("it gets signal {signal} before its entry"))),
                Stop::Ended(Status::Exited(status)) => {
                    return Err(refused(format!("it ends with status {status} before its entry")));
                }
                Stop::Ended(Status::Signalled(signal)) => {
                    return Err(NotTaken::Failed(format!("it was killed by signal {signal} before its entry")));
                }
                Stop::Foreign => return Err(refused("it makes system calls of 32-bit programs")),
            }
        }
    }

    fn at_breakpoint(&mut self, address: u64) -> Result<(), NotTaken> {
        let first_argument = self.debuggee.registers().map_err(failed)?.first_argument();
        if let Some((_, name)) = self.moment.iter().find(|(function, _)| *function == address) {
            // Asked for no number, it tells how much memory it needs: that is for ld.so to know.
            if *name == "getrandom" && first_argument == 0 {
                return Ok(());
            }
            return Err(refused(format!("a constructor calls {name}(2) before its entry")));
        }
        if address == self.loaded {
            // Whoever answers for the environment is loaded by now, and has not been asked.
            for module in modules::all(&self.debuggee)? {
                for function in module.functions(&self.debuggee, &ENVIRONMENT)? {
                    self.debuggee.set_breakpoint(function.start).map_err(failed)?;
                    self.answering.push(function);
                }
            }
            // Not every machine has registers for that.
            let _ = self.debuggee.watch(self.watched.0);
            return Ok(());
        }
        let name = OsString::from_vec(self.debuggee.string(first_argument).map_err(failed)?);
        if !self.variables.contains(&name) {
            self.variables.push(name);
        }
        Ok(())
    }

    /// All that is to be known of it, now that it stands at its entry.
    fn finish(mut self) -> Result<Taken, NotTaken> {
        let registers = self.debuggee.registers().map_err(failed)?;
        self.debuggee.clear_breakpoints().map_err(failed)?;
        state::has_left_nothing(&self.debuggee, self.descriptor)?;
        let mut maps = self.debuggee.maps().map_err(failed)?;
        maps.retain(|mapping| mapping.start != self.filled);
        let stack = Initial::of(&self.debuggee)?.stack(&self.debuggee, &maps)?;
        let regions = state::regions(&self.debuggee, &maps, &stack)?;
        Ok(Taken {
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

fn refused(why: impl Into<String>) -> NotTaken {
    Refusal(why.into()).into()
}

fn failed(error: io::Error) -> NotTaken {
    NotTaken::Failed(format!("the program could not be looked into: {error}"))
}
