//! Starts, reaps and kills processes and process trees, and sets their CPUs and priorities.

use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use rustix::thread::CpuSet;
use steady_model::{Absent, Bytes, Nanos, Reading};

use crate::root::OpenText;
pub use crate::sys::{
    Attached, Begun, Change, Child, ChildUsage, Joining, NotStarted, Program, Reaped, Schedule, Status, Stdio,
    children_usage, execute, fix_addresses, inherited_descriptor, next_change, own_usage, start_detached,
    stdout_was_closed, thread_usage, wait_any, wait_for,
};
use crate::{Root, clock, procfs, tree};

/// Time between the first two rounds of killing processes. It doubles while nothing changes.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// Longest time between two rounds.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Time in which a killed process must end, or at least use CPU time: releasing much memory takes long.
const END_LIMIT: Nanos = Nanos(5_000_000_000);
/// Time in which processes must end by themselves if none of them may be killed.
const REFUSED_LIMIT: Nanos = Nanos(500_000_000);

/// Children that were left after the process under measurement ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOvers {
    /// Number of processes that were still alive and died of SIGKILL.
    pub killed: u32,
    /// Resource usage of all of them, including those that ended by themselves.
    pub usage: ChildUsage,
}

/// Makes this process the subreaper of its descendants (prctl(2), `PR_SET_CHILD_SUBREAPER`): those whose parents have
/// died become its children. Then none escapes [`end_descendants`].
///
/// # Errors
/// The error of prctl(2). Kernels since 3.4 return none.
pub fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Makes the kernel kill this process when the thread that started it dies (prctl(2), `PR_SET_PDEATHSIG`). The caller
/// must check that the parent did not die before the call.
///
/// # Errors
/// The error of prctl(2); none is known.
pub fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Puts a sentinel between this process and its parent. Returns in a child that continues in place of the caller: in
/// the same session and process group, with the same descriptors.
///
/// The calling process becomes the sentinel. It has its own session and no descriptors, and is the subreaper of all
/// descendants of the child. When the child has ended, the sentinel kills what is left and ends too. A signal to the
/// child's whole process group does not reach the sentinel. If the sentinel dies first, the child is killed. The
/// calling process must have one thread.
///
/// # Errors
/// The errors of prctl(2) and fork(2). There is no sentinel then.
pub fn go_on_below_a_sentinel() -> io::Result<()> {
    become_subreaper()?;
    let sentinel = rustix::process::getpid();
    match crate::sys::fork()? {
        None => {
            die_with_parent()?;
            let lives = rustix::process::getppid() == Some(sentinel);
            if lives { Ok(()) } else { Err(io::Error::other("the sentinel was killed")) }
        }
        Some(child) => {
            // This fails if the process leads a process group, which is the case only if its parent made it a leader.
            let _ = leave_session();
            crate::sys::close_all();
            loop {
                match rustix::process::wait(WaitOptions::empty()) {
                    Ok(Some((pid, _))) if pid == child => break,
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
            let _ = end_descendants();
            std::process::exit(0)
        }
    }
}

/// Moves this process to a new session, so that signals to the parent's terminal and process group do not reach it.
///
/// # Errors
/// EPERM if this process already leads a process group.
pub fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Kills and reaps all descendants of this process until none is left. The caller should be a subreaper.
///
/// Without any child, the usual case, this costs one system call.
///
/// # Errors
/// The error of wait4(2), except "no child", or that of [`Killing::kill`].
pub fn end_descendants() -> io::Result<LeftOvers> {
    let mut left = LeftOvers::default();
    let mut killing = Killing::default();
    loop {
        match wait_any() {
            Ok(Some(reaped)) => {
                left.usage = left.usage.with(&reaped.usage);
                left.killed += u32::from(reaped.was_killed());
            }
            Ok(None) => killing.kill_descendants()?,
            Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => return Ok(left),
            Err(error) => return Err(error),
        }
    }
}

/// Kills processes in rounds until they have ended, and detects that they do not end. A process that forks while it is
/// killed appears only in the next round.
#[derive(Debug, Default)]
pub struct Killing {
    /// The processes of the previous round, parents before their children.
    before: Vec<Victim>,
    /// When they first were as they are now, on the monotonic clock. `None` before the first round.
    since: Option<Nanos>,
    pause: Duration,
}

/// A process after an attempt to kill it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Victim {
    pid: i32,
    /// Whether the kernel refused to send the signal (EPERM): the process belongs to another user.
    refused: bool,
    /// CPU time that it has used. It is not read if the signal was refused.
    cpu: Nanos,
}

impl Killing {
    /// Kills all descendants of this process and gives them a moment to end.
    ///
    /// # Errors
    /// See [`Killing::kill`].
    pub fn kill_descendants(&mut self) -> io::Result<()> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let pause = self.kill(&procfs::descendants(&Root::default(), own).unwrap_or_default())?;
        std::thread::sleep(pause);
        Ok(())
    }

    /// Kills `pids`, which are in the order of [`procfs::descendants`]. Returns how long to wait before the next round.
    ///
    /// # Errors
    /// The processes do not end: none of them may be killed, and none ended by itself within 0.5 s, or nothing has
    /// changed for 5 s. The error names one of them.
    pub fn kill(&mut self, pids: &[i32]) -> io::Result<Duration> {
        let victims = pids.iter().filter_map(|pid| Pid::from_raw(*pid)).map(|process| {
            let pid = process.as_raw_nonzero().get();
            // Another error means that the process has ended already.
            let refused = rustix::process::kill_process(process, Signal::KILL) == Err(Errno::PERM);
            let cpu = if refused { Nanos::ZERO } else { tree::own_cpu_time(pid).unwrap_or_default() };
            Victim { pid, refused, cpu }
        });
        self.pause_after(victims.collect(), clock::monotonic())
    }

    fn pause_after(&mut self, victims: Vec<Victim>, now: Nanos) -> io::Result<Duration> {
        let Some(since) = self.since.filter(|_| victims == self.before) else {
            *self = Killing { before: victims, since: Some(now), pause: FIRST_PAUSE };
            return Ok(self.pause);
        };
        let refused = victims.iter().filter(|victim| victim.refused).count();
        let limit = if refused > 0 && refused == victims.len() { REFUSED_LIMIT } else { END_LIMIT };
        if now - since >= limit {
            return Err(io::Error::other(reason_for_survival(&victims)));
        }
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        Ok(self.pause)
    }
}

/// Returns which process does not end, and why.
fn reason_for_survival(victims: &[Victim]) -> String {
    match (victims.iter().find(|victim| victim.refused), victims.first()) {
        (Some(Victim { pid, .. }), _) => format!("process {pid} cannot be ended: it belongs to another user"),
        (None, Some(Victim { pid, .. })) => {
            format!("process {pid} cannot be ended: it has not reacted to SIGKILL for {} s", END_LIMIT.seconds())
        }
        (None, None) => "a process cannot be ended: /proc does not show it".to_owned(),
    }
}

impl Reaped {
    /// Returns whether SIGKILL ended the process.
    pub fn was_killed(&self) -> bool {
        self.status == Status::Signalled(Signal::KILL.as_raw())
    }
}

/// Kills `child` and its process group. [`end_descendants`] kills the rest of its tree.
/// [`Killing`] detects that the child does not end.
pub fn kill_group(child: Pid) {
    // An error means that the process has ended already, or belongs to another user.
    let _ = rustix::process::kill_process_group(child, Signal::KILL);
    let _ = rustix::process::kill_process(child, Signal::KILL);
}

/// Asks the kernel to run this thread soon after it wakes, if that is allowed. What the thread starts later inherits
/// this. Use it for processes that sleep most of the time. Returns the previous scheduling parameters.
pub fn wake_soon() -> Schedule {
    /// The best nice value: this process must not wait even on a crowded machine.
    const NICE: i32 = -20;
    /// The shortest slice that the kernel accepts. A shorter slice has an earlier deadline and starts sooner.
    const SLICE: Nanos = Nanos(100_000);
    crate::sys::wake_soon(NICE, SLICE)
}

/// Applies the nice value of this process across sessions, and requests short slices, so that it and its children run
/// soon after they wake. Ignores settings that the kernel refuses.
pub fn keep_priority() {
    const SLICE: Nanos = Nanos(1_000_000);
    let Ok(nice) = rustix::process::getpriority_process(None) else { return };
    let _ = std::fs::write(AUTOGROUP, nice.to_string());
    crate::sys::wake_soon(nice, SLICE);
}

/// The kernel may group tasks by session (`/proc/PID/autogroup`, sched(7)). Then a nice value counts only within its
/// session, and each session has its own nice value in this file.
const AUTOGROUP: &str = "/proc/self/autogroup";

/// Lowers the priority of this process and of what it starts from now on. For work that nobody waits for, but which is
/// useful only while other programs run. Ignores settings that the kernel refuses.
pub fn give_way() {
    /// About a tenth of the normal share of a contended CPU. With the lowest priority, a seventieth, work of 0.01 s
    /// took 10 s next to a dozen other processes.
    const NICE: i32 = 10;
    let _ = std::fs::write(AUTOGROUP, NICE.to_string());
    crate::sys::give_way(NICE);
}

/// Pins this thread, and what it starts, to `cpus`.
///
/// # Errors
/// EINVAL if none of the CPUs is allowed; EPERM if a sandbox forbids it.
pub fn keep_to(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Returns the peak resident memory of this process since its exec (`VmHWM` of proc_pid_status(5)). A child's
/// `ru_maxrss` starts at this value, because the child uses this memory until its own exec.
pub fn own_peak_memory() -> Reading<Bytes> {
    OwnPeak::open()?.read()
}

/// The file with the peak resident memory of this process, for several readings.
pub struct OwnPeak(OpenText);

impl OwnPeak {
    /// Opens the file.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn open() -> Reading<Self> {
        OpenText::open(&Root::default(), "/proc/self/status").map(OwnPeak)
    }

    /// Reads the peak, as [`own_peak_memory`] does. It is that of the begin of the call.
    ///
    /// # Errors
    /// The file has no peak.
    pub fn read(&self) -> Reading<Bytes> {
        let peak =
            |text: &str| parse_peak_memory(text).ok_or_else(|| Absent::because("/proc/self/status has no line VmHWM"));
        self.0.read(peak)
    }
}

/// Reduces the resident memory of this process, so that the peaks of its children can be distinguished from its own.
pub struct Shedder {
    /// Start and length of mappings whose pages can be read from their files again.
    mappings: Vec<(usize, usize)>,
    clear_refs: Option<File>,
}

impl Shedder {
    /// Finds the memory that can be released. Without `/proc` there is none.
    pub fn new() -> Self {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let clear_refs = File::options().write(true).open("/proc/self/clear_refs").ok();
        Shedder { mappings: clean_file_mappings(&maps), clear_refs }
    }

    /// Releases the pages of programs and libraries, and resets the peak. Pages that are needed are read from the page
    /// cache again.
    pub fn shed(&self) {
        /// Value that resets `VmHWM` (proc_pid_clear_refs(5)).
        const RESET_PEAK: &[u8] = b"5";
        let Some(clear_refs) = &self.clear_refs else { return };
        for (start, length) in &self.mappings {
            crate::sys::drop_clean_file_pages(*start, *length);
        }
        // If the peak cannot be reset, the peaks of small children are not available.
        let _ = (&*clear_refs).write_all(RESET_PEAK);
    }
}

impl Default for Shedder {
    fn default() -> Self {
        Shedder::new()
    }
}

/// Returns start and length of the file mappings that are not writable and have no pages of their own, such as relocated
/// ones (proc_pid_smaps(5)). The file's pages may be dirty: a program that was just built is not on the disk yet.
fn clean_file_mappings(smaps: &str) -> Vec<(usize, usize)> {
    let mut clean: Vec<(usize, usize)> = Vec::new();
    for line in smaps.lines() {
        if let Some(range) = file_mapping(line) {
            clean.push(range.unwrap_or_default());
        } else if line.starts_with("Anonymous:")
            && !line.ends_with(" 0 kB")
            && let Some(last) = clean.last_mut()
        {
            *last = Default::default();
        }
    }
    clean.retain(|(_, length)| *length > 0);
    clean
}

/// For the first line of a mapping, returns its range if the mapping is of a file and not writable. Returns `None` for
/// other lines.
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
    fn peak_memory_is_parsed() {
        assert_eq!(parse_peak_memory("Name:\tx\nVmHWM:\t    1708 kB\nVmRSS:\t 1 kB\n"), Some(Bytes(1708 * 1024)));
        for broken in ["", "VmHWM:", "VmHWM:\t12", "VmHWM: x kB", "VmHWM: 99999999999999999999 kB"] {
            assert_eq!(parse_peak_memory(broken), None, "{broken}");
        }
        assert!(own_peak_memory().unwrap() > Bytes(100_000));
    }

    #[test]
    fn own_usage_grows_with_work() {
        let before = own_usage().unwrap();
        while crate::clock::thread_cpu() < Nanos(30_000_000) {}
        let after = own_usage().unwrap();
        assert!(after.user + after.system > before.user + before.system);
    }

    /// Returns the pauses of rounds a second apart, or the error that ends them.
    fn rounds(each: impl Fn(u64) -> Vec<Victim>, count: u64) -> io::Result<Vec<Duration>> {
        let mut killing = Killing::default();
        (0..count).map(|second| killing.pause_after(each(second), Nanos(second * 1_000_000_000))).collect()
    }

    #[test]
    fn pauses_grow_while_processes_do_not_end() {
        let killed = |pid: i32, cpu: u64| Victim { pid, refused: false, cpu: Nanos(cpu) };
        let pauses = rounds(|_| vec![killed(7, 1)], 5).unwrap();
        assert_eq!(pauses.iter().map(Duration::as_millis).collect::<Vec<_>>(), [1, 2, 4, 8, 16]);
        let error = rounds(|_| vec![killed(7, 1), killed(8, 1)], 6).unwrap_err().to_string();
        assert_eq!(error, "process 7 cannot be ended: it has not reacted to SIGKILL for 5 s");
        assert!(rounds(|_| vec![], 6).unwrap_err().to_string().contains("/proc"));
        // Other processes, or CPU time of the same one, are a change.
        let shortest = |pauses: Vec<Duration>| pauses.iter().all(|pause| *pause == FIRST_PAUSE);
        assert!(shortest(rounds(|second| vec![killed(7, 1); 1 + second as usize % 2], 100).unwrap()));
        assert!(shortest(rounds(|second| vec![killed(7, second)], 100).unwrap()));
        let mut killing = Killing::default();
        let longest = (0..40).map(|round| killing.pause_after(vec![killed(7, 1)], Nanos(round)).unwrap()).max();
        assert_eq!(longest, Some(LONGEST_PAUSE));
    }

    #[test]
    fn a_process_that_may_not_be_killed_is_named() {
        let refused = |pid: i32| Victim { pid, refused: true, cpu: Nanos::ZERO };
        let killed = |pid: i32| Victim { pid, refused: false, cpu: Nanos::ZERO };
        let expected = "process 8 cannot be ended: it belongs to another user";
        assert_eq!(rounds(|_| vec![refused(8), refused(9)], 2).unwrap_err().to_string(), expected);
        // A process that was killed and does not end may be a zombie that its parent does not reap.
        assert!(rounds(|_| vec![killed(7), refused(8)], 5).is_ok());
        assert_eq!(rounds(|_| vec![killed(7), refused(8)], 6).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_process_that_has_ended_and_is_not_reaped_can_be_killed_again() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        let mut killing = Killing::default();
        killing.kill(&[child.id() as i32]).unwrap();
        // Its CPU time changes until it is a zombie.
        std::thread::sleep(Duration::from_millis(200));
        killing.kill(&[child.id() as i32]).unwrap();
        assert!(killing.kill(&[child.id() as i32]).unwrap() > FIRST_PAUSE);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn only_clean_read_only_file_mappings_are_dropped() {
        let smaps = "\
00001000-00003000 r-xp 00000000 fe:00 12 /usr/bin/x
Private_Dirty:         4 kB
Anonymous:             0 kB
00003000-00004000 r--p 00002000 fe:00 12 /usr/bin/x
Anonymous:             4 kB
00004000-00005000 rw-p 00003000 fe:00 12 /usr/bin/x
Anonymous:             0 kB
00006000-00007000 rw-p 00000000 00:00 0 [heap]
Anonymous:             0 kB
7f000000-7f002000 r--p 00000000 00:00 0
7f005000-7f006000 r--p 00000000 fe:00 13 /lib/libc.so.6
Anonymous:             0 kB
VmFlags: rd mr
7fff0000-7fff1000 r-xp 00000000 00:00 0 [vdso]
";
        assert_eq!(clean_file_mappings(smaps), [(0x1000, 0x2000), (0x7f00_5000, 0x1000)]);
        assert_eq!(clean_file_mappings("garbage\n-\nzz-yy r-xp\n1-0 r-xp 0 0 0 /x"), []);
    }

    #[test]
    fn dropped_pages_still_work() {
        let (shedder, peak) = (Shedder::new(), OwnPeak::open().unwrap());
        let before = peak.read().unwrap();
        shedder.shed();
        assert!(peak.read().unwrap() < before, "{before:?}");
    }
}
