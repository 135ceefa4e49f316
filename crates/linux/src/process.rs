//! Processes: starting and reaping them, ending a whole tree, keeping to some CPUs.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use rustix::thread::CpuSet;
use steady_model::{Absent, Bytes, Nanos, Reading};

pub use crate::sys::{
    Attached, Begun, Change, Child, ChildUsage, Joining, NotStarted, Program, Reaped, Schedule, Status, Stdio,
    children_usage, execute, fix_addresses, inherited_descriptor, next_change, own_usage, start_detached,
    stdout_was_closed, thread_usage, wait_any, wait_for,
};
use crate::{Root, procfs};

/// How long to leave killed processes to end before looking again.
const KILL_PATIENCE: Duration = Duration::from_millis(1);

/// Children that were left over once the process that was waited for had ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOvers {
    /// How many were still alive, and died of SIGKILL.
    pub killed: u32,
    /// CPU time of all of them, those that had ended by themselves included.
    pub cpu_time: Nanos,
}

/// From now on, descendants whose parents have died become children of this process (prctl(2),
/// `PR_SET_CHILD_SUBREAPER`), so that none escapes [`end_descendants`].
///
/// # Errors
/// What prctl(2) says; none on kernels since 3.4.
pub fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// From now on this process is killed when the thread that started it dies (prctl(2), `PR_SET_PDEATHSIG`), whatever it is
/// in the midst of. Whoever asks for this must see for itself that the parent has not died before.
///
/// # Errors
/// What prctl(2) says; none that is known.
pub fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Leaves the terminal and the process group of the parent, so that signals sent to those do not reach this process.
///
/// # Errors
/// EPERM if it leads a process group already.
pub fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Kills and reaps all descendants of this process until none is left. The caller should be a subreaper.
///
/// With no child at all, which is the rule, this costs one system call.
///
/// # Errors
/// What wait4(2) says, apart from "no child".
pub fn end_descendants() -> io::Result<LeftOvers> {
    let mut left = LeftOvers::default();
    loop {
        match wait_any() {
            Ok(Some(reaped)) => {
                left.cpu_time += reaped.usage.user + reaped.usage.system;
                left.killed += u32::from(reaped.was_killed());
            }
            Ok(None) => kill_descendants(),
            Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => return Ok(left),
            Err(error) => return Err(error),
        }
    }
}

/// Kills all descendants of this process, and leaves them a moment to end. To be repeated until none is left: one that
/// forks while it is killed shows up in the next round.
pub fn kill_descendants() {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    for pid in procfs::descendants(&Root::default(), own).unwrap_or_default() {
        // An error means that it has ended already.
        let _ = Pid::from_raw(pid).map(|pid| rustix::process::kill_process(pid, Signal::KILL));
    }
    std::thread::sleep(KILL_PATIENCE);
}

impl Reaped {
    /// Whether SIGKILL ended it.
    pub fn was_killed(&self) -> bool {
        self.status == Status::Signalled(Signal::KILL.as_raw())
    }
}

/// Kills `child` and its process group at once; the rest of its tree is for [`end_descendants`].
pub fn kill_group(child: Pid) {
    // Errors mean that it has ended already.
    let _ = rustix::process::kill_process_group(child, Signal::KILL);
    let _ = rustix::process::kill_process(child, Signal::KILL);
}

/// Asks for this thread to be given a CPU soon after it wakes, where that is allowed; what it starts later inherits it.
/// For processes that sleep nearly all the time. Returns how it was scheduled before.
pub fn wake_soon() -> Schedule {
    /// The best that there is: on a machine where everybody waits this one must not.
    const NICE: i32 = -20;
    /// The shortest that the kernel takes: the sooner a slice would end, the sooner it begins.
    const SLICE: Nanos = Nanos(100_000);
    crate::sys::wake_soon(NICE, SLICE)
}

/// Has this process give way to others, from now on and with all that it starts: for work that nobody waits for, but is of use
/// only while they run. What is refused changes nothing.
pub fn give_way() {
    /// A tenth of the usual share of a CPU that is wanted by others. With the least share, of a seventieth, a hundredth of a
    /// second's work lasted ten seconds beside a dozen others.
    const NICE: i32 = 10;
    /// Where the kernel groups tasks by session, nice values count within a session only, and sessions have one of their own
    /// (`/proc/PID/autogroup`, sched(7)).
    const OF_THE_SESSION: &str = "/proc/self/autogroup";
    let _ = std::fs::write(OF_THE_SESSION, NICE.to_string());
    crate::sys::give_way(NICE);
}

/// Keeps this thread, and what it starts, to `cpus`.
///
/// # Errors
/// EINVAL if none of them may be used; EPERM where a sandbox forbids it.
pub fn keep_to(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// The peak resident memory of this process since its exec (`VmHWM` of proc_pid_status(5)). A child's `ru_maxrss`
/// starts there, for until its own exec it lives in this memory.
pub fn own_peak_memory() -> Reading<Bytes> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| Absent::because(error.to_string()))?;
    parse_peak_memory(&status).ok_or_else(|| Absent::because("/proc/self/status has no VmHWM"))
}

/// Gives back what this process only needed to get going, and lets its peak begin anew, so that the peaks of its
/// children can be told from its own. Does what it can: without `/proc` nothing changes.
pub fn shed_memory() {
    /// Resets `VmHWM` (proc_pid_clear_refs(5)).
    const RESET_PEAK: &str = "5";
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    for (start, length) in clean_file_mappings(&maps) {
        crate::sys::drop_clean_file_pages(start, length);
    }
    // Where it cannot be reset, small children's peaks stay absent.
    let _ = std::fs::write("/proc/self/clear_refs", RESET_PEAK);
}

/// The mappings of files that are not writable and have no dirty pages (proc_pid_smaps(5)): start and length.
fn clean_file_mappings(smaps: &str) -> Vec<(usize, usize)> {
    let mut clean: Vec<(usize, usize)> = Vec::new();
    for line in smaps.lines() {
        if let Some(range) = file_mapping(line) {
            clean.push(range.unwrap_or_default());
        } else if line.starts_with("Private_Dirty:")
            && !line.ends_with(" 0 kB")
            && let Some(last) = clean.last_mut()
        {
            *last = Default::default();
        }
    }
    clean.retain(|(_, length)| *length > 0);
    clean
}

/// A line that begins a mapping: its range if it is one of a file, and not writable. `None` for other lines.
fn file_mapping(line: &str) -> Option<Option<(usize, usize)>> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    let of_file = words.next()?.chars().nth(1) == Some('-') && words.nth(3).is_some_and(|path| path.starts_with('/'));
    Some(of_file.then(|| (start, end.saturating_sub(start))))
}

fn parse_peak_memory(status: &str) -> Option<Bytes> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kibibytes.checked_mul(1024)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_read_from_its_line() {
        assert_eq!(parse_peak_memory("Name:\tx\nVmHWM:\t    1708 kB\nVmRSS:\t 1 kB\n"), Some(Bytes(1708 * 1024)));
        for broken in ["", "VmHWM:", "VmHWM:\t12", "VmHWM: x kB", "VmHWM: 99999999999999999999 kB"] {
            assert_eq!(parse_peak_memory(broken), None, "{broken}");
        }
        assert!(own_peak_memory().unwrap() > Bytes(100_000));
    }

    #[test]
    fn this_process_knows_what_it_used() {
        let before = own_usage().unwrap();
        while crate::clock::thread_cpu() < Nanos(30_000_000) {}
        let after = own_usage().unwrap();
        assert!(after.user + after.system > before.user + before.system);
    }

    #[test]
    fn only_clean_unwritable_mappings_of_files_are_dropped() {
        let smaps = "\
00001000-00003000 r-xp 00000000 fe:00 12 /usr/bin/x
Private_Dirty:         0 kB
00003000-00004000 r--p 00002000 fe:00 12 /usr/bin/x
Private_Dirty:         4 kB
00004000-00005000 rw-p 00003000 fe:00 12 /usr/bin/x
Private_Dirty:         0 kB
00006000-00007000 rw-p 00000000 00:00 0 [heap]
Private_Dirty:         0 kB
7f000000-7f002000 r--p 00000000 00:00 0
7f005000-7f006000 r--p 00000000 fe:00 13 /lib/libc.so.6
Private_Dirty:         0 kB
VmFlags: rd mr
7fff0000-7fff1000 r-xp 00000000 00:00 0 [vdso]
";
        assert_eq!(clean_file_mappings(smaps), [(0x1000, 0x2000), (0x7f00_5000, 0x1000)]);
        assert_eq!(clean_file_mappings("garbage\n-\nzz-yy r-xp\n1-0 r-xp 0 0 0 /x"), []);
    }

    #[test]
    fn what_was_shed_still_works() {
        shed_memory();
        assert!(own_peak_memory().is_ok());
    }
}
