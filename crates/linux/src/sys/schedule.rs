//! What the scheduler knows of other processes, and what it may be asked for.

use std::io;

use steady_model::Nanos;

/// The kernel's number of the clock "CPU time of this process, by the scheduler" (clock_getcpuclockid(3)): the lowest
/// three bits name the kind, the others are the process's number inverted.
const BY_SCHEDULER: libc::clockid_t = 2;
const KIND_BITS: u32 = 3;

/// The CPU time of all threads of process `pid`, those that have ended included; its children's is not in it. A thread
/// that runs at this moment is told as of the last tick.
///
/// # Errors
/// EINVAL where there is no such process any more.
pub(crate) fn process_cpu_time(pid: i32) -> io::Result<Nanos> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let clock = (!pid << KIND_BITS) | BY_SCHEDULER;
    // SAFETY: `time` is valid for writing for the whole call.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    Ok(Nanos(part(time.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(time.tv_nsec))))
}

/// How a thread is scheduled: `struct sched_attr` as its first version has it (sched_setattr(2)).
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

/// Asks for this thread to be given a CPU soon after it wakes: by a better nice value, where that is allowed, and by
/// slices of `slice`, which kernels since 6.12 take from everybody. What is refused changes nothing, nor does anything
/// where it is not scheduled in the usual way. Returns how it was scheduled before.
pub(crate) fn wake_soon(nice: i32, slice: Nanos) -> Schedule {
    let mut before = Schedule::default();
    let size = size_of::<Schedule>();
    // SAFETY: `before` is valid for writing `size` bytes for the whole call.
    let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut before, size, 0) } == 0;
    // A slice of nothing stands for the kernel's own.
    before.runtime = 0;
    if known && before.policy == libc::SCHED_OTHER as u32 {
        let _ = set(&Schedule { nice, runtime: slice.0, ..before }) || set(&Schedule { runtime: slice.0, ..before });
    }
    before
}

/// Has this thread give way to others by a nice value, and never take a CPU from one that runs.
pub(crate) fn give_way(nice: i32) -> bool {
    let size = size_of::<Schedule>() as u32;
    set(&Schedule { size, policy: libc::SCHED_BATCH as u32, nice, ..Schedule::default() })
}

/// Schedules this thread so; whether that is allowed. A plain system call, fit for a child before its exec.
pub(crate) fn set(schedule: &Schedule) -> bool {
    // SAFETY: `schedule` is a `sched_attr` of the size that it states, and outlives the call, which only reads it.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *schedule, 0) == 0 }
}
