//! Rulers that run right before a request, on its thread: some tens of microseconds of a fixed work each, whose CPU time tells how
//! a resource of the machine fares at that moment.
//!
//! This is compiled into the library for services and into the agent alike, so that their readings are of the same work. Nothing
//! here allocates, takes a lock, or keeps anything of the process: any thread may call it, in a forked child too. [`VERSION`]
//! changes whenever what a ruler does changes: readings of different versions are not to be compared.

mod alu;
mod clock;
mod delay;
mod functions;
mod icode;
mod kernel;
mod memory;
mod syscall;

pub use delay::run_delay;

/// What the rulers do.
pub const VERSION: i32 = 1;

/// Their names, in the order of their numbers.
pub const KINDS: [&str; 4] = ["icode", "syscall", "alu", "memory"];

/// Runs the ruler of a number once: the CPU time that it took this thread, in nanoseconds; nothing where there is no such ruler,
/// or where it cannot be run or timed.
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

/// The CPU time of what always succeeds.
fn timed(work: impl FnOnce()) -> Option<u64> {
    let begin = clock::of_thread()?;
    work();
    // What was too short for the clock was still there.
    Some(clock::of_thread()?.saturating_sub(begin).max(1))
}
