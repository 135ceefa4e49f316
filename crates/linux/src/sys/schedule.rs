//! CPU time of other processes from the scheduler, and scheduling parameters.

use std::io;

use steady_model::Nanos;

/// Kind of the kernel's clock id for the CPU time of a process (clock_getcpuclockid(3)). The lowest three bits of a
/// clock id are the kind, the others are the inverted process id.
const PROCESS_CLOCK: libc::clockid_t = 2;
const KIND_BITS: u32 = 3;

/// Returns the CPU time of all threads of process `pid`, including those that have ended, but not of its children. For
/// a thread that runs now, the time is as of the last tick.
///
/// # Errors
/// EINVAL if the process does not exist any more.
pub(crate) fn process_cpu_time(pid: i32) -> io::Result<Nanos> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let clock = (!pid << KIND_BITS) | PROCESS_CLOCK;
    // SAFETY: `time` is valid for writing during the whole call.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    Ok(Nanos(part(time.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(time.tv_nsec))))
}

/// Scheduling parameters of a thread: the first version of `struct sched_attr` (sched_setattr(2)).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Schedule {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Asks the kernel to run this thread soon after it wakes: with the nice value `nice`, if that is allowed, and with
/// slices of `slice`, which kernels since 6.12 accept from every process. Ignores settings that the kernel refuses, and
/// does nothing for threads with another policy than SCHED_OTHER. Returns the previous parameters.
pub(crate) fn wake_soon(nice: i32, slice: Nanos) -> Schedule {
    let mut before = Schedule::default();
    let size = size_of::<Schedule>();
    // SAFETY: `before` is valid for writing `size` bytes during the whole call.
    let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut before, size, 0) } == 0;
    // A slice of 0 means the kernel's default.
    before.runtime = 0;
    if known && before.policy == libc::SCHED_OTHER as u32 {
        let _ = set(&Schedule { nice, runtime: slice.0, ..before }) || set(&Schedule { runtime: slice.0, ..before });
    }
    before
}

/// Gives this thread a nice value, and the policy SCHED_BATCH, with which it does not preempt running threads.
pub(crate) fn give_way(nice: i32) -> bool {
    let size = size_of::<Schedule>() as u32;
    set(&Schedule { size, policy: libc::SCHED_BATCH as u32, nice, ..Schedule::default() })
}

/// Sets the parameters of this thread. Returns whether that is allowed. It makes one system call, so it may be called
/// in a child before its exec.
pub(crate) fn set(schedule: &Schedule) -> bool {
    // SAFETY: `schedule` is a `sched_attr` with its size in it. It outlives the call, which only reads it.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *schedule, 0) == 0 }
}
