//! Rulers: some tens of microseconds of fixed work each, run right before a request on its thread. The CPU time of a
//! ruler shows how slow a resource of the machine is at that moment.
//!
//! The library for services and the agent compile the same code, so that their readings are comparable. Nothing here
//! allocates, takes a lock or depends on state of the process: any thread may call it, in a forked child too.
//! [`VERSION`] changes whenever the work of a ruler changes; readings of different versions must not be compared.

mod alu;
mod clock;
mod delay;
mod functions;
mod icode;
mod kernel;
mod memory;
mod syscall;

pub use delay::run_delay;

/// The version of the rulers' work.
pub const VERSION: i32 = 1;

/// The names of the rulers, in the order of their numbers.
pub const KINDS: [&str; 4] = ["icode", "syscall", "alu", "memory"];

/// Runs a ruler once. Returns the CPU time that it took this thread, in nanoseconds, at least 1; none if there is no
/// such ruler, or if it cannot be run or timed.
#[must_use]
pub fn run(kind: usize) -> Option<u64> {
    match kind {
        0 => timed(icode::run),
        1 => syscall::run(),
        2 => timed(alu::run),
        3 => {
            memory::prepare();
            timed(memory::run)
        }
        _ => None,
    }
}

/// Returns the CPU time of work that cannot fail, in nanoseconds.
fn timed(work: impl FnOnce()) -> Option<u64> {
    let begin = clock::thread_cpu()?;
    work();
    // Time below the resolution of the clock is not zero.
    Some(clock::thread_cpu()?.saturating_sub(begin).max(1))
}
