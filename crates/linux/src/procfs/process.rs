//! Reads `/proc` files of one process, and whether a thread waits for a futex.

use std::collections::HashMap;

use steady_model::{Absent, Bytes, Nanos, Reading};

use super::schedstat::SchedstatReader;
use super::{excerpt, number};
use crate::Root;
use crate::syscalls::syscall_name;

/// State, parent and CPU of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// State letter: `R`unning, `S`leeping, `D` in an uninterruptible wait, `T` stopped, `Z`ombie, ...
    pub state: char,
    /// Process id of the parent.
    pub parent: i32,
    /// CPU on which the main thread ran last.
    pub cpu: usize,
}

/// Parses the text of `/proc/PID/stat`. The name may contain blanks and parentheses, so fields are counted from the
/// last `)`.
pub fn parse_process_stat(text: &str) -> Reading<ProcessStat> {
    let (_, after) = text.rsplit_once(')').ok_or_else(|| Absent::because("process status has no name in it"))?;
    let mut fields = after.split_ascii_whitespace();
    let state = fields.next().and_then(|field| field.chars().next());
    let state = state.ok_or_else(|| Absent::because("process status has no state in it"))?;
    let parent = number(fields.next(), "parent in process status")?;
    // The field after the parent is number 5, the CPU is number 39.
    let cpu = number(fields.nth(39 - 5), "last CPU in process status")?;
    Ok(ProcessStat { state, parent, cpu })
}

/// Reads the state, parent and last CPU of process `pid`. A reaped process is an error. Source: `/proc/PID/stat`.
pub fn process_stat(root: &Root, pid: i32) -> Reading<ProcessStat> {
    parse_process_stat(&read_of(root, pid, "stat")?)
}

/// Counts the threads of a tree of processes that are running or could run, at several moments.
///
/// The main thread of a process whose child could run too counts only if it used CPU time meanwhile: after a fork, most
/// parents wait for the child, but on a busy machine they have to wait for a CPU to do so.
#[derive(Debug, Default)]
pub struct RunnableThreads {
    root: Root,
    /// The CPU time of the main thread of each process with a child, at the first of the moments since which both could
    /// run. The key is both.
    parents: HashMap<(i32, i32), Nanos>,
}

impl RunnableThreads {
    /// A parent that uses more CPU time than this does not only begin to wait for its child.
    const WORK: Nanos = Nanos(200_000);

    /// Begins. `root` has the processes.
    pub fn new(root: &Root) -> Self {
        RunnableThreads { root: root.clone(), ..Default::default() }
    }

    /// Returns how many threads of the processes `pids` can run now. Threads that end during the call may be missing.
    /// Sources: `/proc/PID/task/TID/stat`, `/proc/PID/schedstat`.
    pub fn count(&mut self, pids: &[i32]) -> usize {
        struct Thread {
            id: i32,
            parent: i32,
        }
        let root = &self.root;
        let threads = |pid: i32| -> Vec<Thread> {
            let ids = root.numbered(&format!("/proc/{pid}/task")).unwrap_or_default();
            let stats = ids.into_iter().filter_map(|id| Some((id, process_stat(root, id).ok()?)));
            stats.filter(|(_, stat)| stat.state == 'R').map(|(id, stat)| Thread { id, parent: stat.parent }).collect()
        };
        let runnable: Vec<(i32, Vec<Thread>)> =
            pids.iter().map(|pid| (*pid, threads(*pid))).filter(|(_, threads)| !threads.is_empty()).collect();
        let reader = SchedstatReader::new(root);
        let mut parents = HashMap::new();
        let mut counted = 0;
        for (pid, threads) in &runnable {
            counted += threads.len();
            let is_child = |other: &&(i32, Vec<Thread>)| other.1.iter().any(|thread| thread.parent == *pid);
            let children: Vec<i32> = runnable.iter().filter(is_child).map(|(child, _)| *child).collect();
            if children.is_empty() {
                continue;
            }
            let cpu =
                reader.as_ref().ok().and_then(|reader| reader.read(*pid).ok()).map_or(Nanos::ZERO, |stat| stat.cpu);
            let works =
                |child: &i32| self.parents.get(&(*pid, *child)).is_some_and(|before| cpu > *before + Self::WORK);
            let is_main = |thread: &Thread| thread.id == *pid;
            if threads.iter().any(is_main) && !children.iter().any(works) {
                counted -= 1;
            }
            let first = |child: i32| self.parents.get(&(*pid, child)).copied().unwrap_or(cpu);
            parents.extend(children.into_iter().map(|child| ((*pid, child), first(child))));
        }
        self.parents = parents;
        counted
    }
}

/// Storage I/O of a process and its reaped children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageIo {
    /// Bytes read from storage.
    pub read: Bytes,
    /// Bytes written to storage, or to the page cache for a later write.
    pub written: Bytes,
    /// Part of `written` that was truncated before it had to be written to storage.
    pub cancelled: Bytes,
}

/// Parses the text of `/proc/PID/io`.
pub fn parse_storage_io(text: &str) -> Reading<StorageIo> {
    let field = |key: &str| number(super::value_of(text, key), key).map(Bytes);
    Ok(StorageIo {
        read: field("read_bytes")?,
        written: field("write_bytes")?,
        cancelled: field("cancelled_write_bytes")?,
    })
}

/// Reads the storage I/O of process `pid` and the children that it reaped.
///
/// For complete values, read it after the process has ended and before it is reaped. Not available without kernel
/// support (CONFIG_TASK_IO_ACCOUNTING), and for programs of other users or that changed users. Source: `/proc/PID/io`.
pub fn storage_io(root: &Root, pid: i32) -> Reading<StorageIo> {
    parse_storage_io(&read_of(root, pid, "io")?)
}

fn read_of(root: &Root, pid: i32, file: &str) -> Reading<String> {
    root.read(&format!("/proc/{pid}/{file}"))
}

/// System call table of this machine, by its `AUDIT_ARCH` number of linux/audit.h.
const TABLE: u32 = if cfg!(target_arch = "aarch64") { 0xc000_00b7 } else { 0xc000_003e };

/// What a thread currently does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// It waits for a futex.
    Futex,
    /// It continues an interrupted call. Only the kernel function in `wchan` says what it waits for.
    GoesOn,
    /// It is in another system call or in none, or it runs.
    Other,
}

/// Parses the text of `/proc/PID/task/TID/syscall`.
pub fn parse_syscall(text: &str) -> Reading<Sleep> {
    let first = text.split_ascii_whitespace().next();
    let first = first.ok_or_else(|| Absent::because("the system call of a thread is empty"))?;
    if first == "running" {
        return Ok(Sleep::Other);
    }
    let call: i64 = number(Some(first), &format!("system call '{}' of a thread", excerpt(first)))?;
    Ok(match u64::try_from(call).map(|call| syscall_name(TABLE, call)).as_deref() {
        Ok("futex" | "futex_wait" | "futex_waitv" | "futex_requeue") => Sleep::Futex,
        Ok("restart_syscall") => Sleep::GoesOn,
        _ => Sleep::Other,
    })
}

/// Returns whether thread `tid` of process `pid` waits for a futex. A thread that has ended does not. Source:
/// `/proc/PID/task/TID/syscall`, or `wchan` if that file is not readable.
pub fn waits_for_futex(root: &Root, pid: i32, tid: i32) -> Reading<bool> {
    let at = |file: &str| format!("/proc/{pid}/task/{tid}/{file}");
    match root.read(&at("syscall")).and_then(|text| parse_syscall(&text)) {
        Ok(Sleep::Futex) => Ok(true),
        Ok(Sleep::Other) => Ok(false),
        Ok(Sleep::GoesOn) => Ok(root.read(&at("wchan")).is_ok_and(|function| function.contains("futex"))),
        // If `wchan` does not exist either, the thread has just ended.
        Err(_) if !root.has(&at("wchan")) => Ok(false),
        Err(why) => match root.read(&at("wchan")) {
            Ok(function) if function.contains("futex") => Ok(true),
            Ok(function) if !matches!(function.trim(), "" | "0") => Ok(false),
            _ if super::process_stat(root, pid).is_ok_and(|stat| matches!(stat.state, 'Z' | 'X' | 'R')) => Ok(false),
            _ => Err(why),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::trees::tree;

    #[test]
    fn names_may_contain_anything() {
        let rest = "S 7 1 1 0 -1 4194304 105 0 0 0 0 0 0 0 20 0 1 0 89344 3133440 416 18446744073709551615 \
                    1 1 1 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0";
        for name in ["cat", "a b", "x) R 1 (y", ")", "(", "new\nline"] {
            let read = parse_process_stat(&format!("100 ({name}) {rest}\n")).unwrap();
            assert_eq!(read, ProcessStat { state: 'S', parent: 7, cpu: 3 }, "{name}");
        }
        for broken in ["", "1 (cat", "1 (cat)", "1 (cat) S", "1 (cat) S x", "1 (cat) S 1 2 3"] {
            assert!(parse_process_stat(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn storage_counts_are_parsed_by_name() {
        let io = storage_io(&tree("vm"), 100).unwrap();
        assert_eq!(io, StorageIo { read: Bytes(4_096), written: Bytes(8_192), cancelled: Bytes(0) });
        assert!(storage_io(&tree("vm"), 101).is_err());
        assert!(parse_storage_io("write_bytes: many").is_err());
    }

    #[test]
    fn a_parent_that_could_wait_for_its_child_is_not_another_runnable_thread() {
        let folder = std::env::temp_dir().join(format!("steady-runnable-{}", std::process::id()));
        let write = |pid: i32, thread: i32, state: char, parent: i32, cpu: u64| {
            std::fs::create_dir_all(folder.join(format!("proc/{pid}/task/{thread}"))).unwrap();
            std::fs::create_dir_all(folder.join(format!("proc/{thread}"))).unwrap();
            let zeros = "0 ".repeat(40);
            std::fs::write(folder.join(format!("proc/{thread}/stat")), format!("1 (x) {state} {parent} {zeros}"))
                .unwrap();
            std::fs::write(folder.join(format!("proc/{thread}/schedstat")), format!("{cpu} 0 3")).unwrap();
        };
        let root = Root::at(&folder);
        let now = |pids: &[i32]| RunnableThreads::new(&root).count(pids);
        write(10, 10, 'R', 1, 1_000_000);
        write(20, 20, 'S', 10, 1);
        assert_eq!(now(&[10, 20]), 1);
        write(20, 20, 'R', 10, 1);
        assert_eq!(now(&[10, 20]), 1, "a shell and its only child");
        write(30, 30, 'R', 10, 1);
        assert_eq!(now(&[10, 20, 30]), 2, "two children");
        let mut several = RunnableThreads::new(&root);
        assert_eq!(several.count(&[10, 20]), 1);
        write(10, 10, 'R', 1, 1_100_000);
        assert_eq!(several.count(&[10, 20]), 1, "it waits for a CPU");
        write(10, 10, 'R', 1, 1_900_000);
        assert_eq!(several.count(&[10, 30]), 1, "it waited for one child and started another");
        write(10, 10, 'R', 1, 2_900_000);
        assert_eq!(several.count(&[10, 30]), 2, "it works while its child does");
        write(20, 21, 'R', 10, 1);
        assert_eq!(now(&[20]), 2, "two threads");
        write(10, 10, 'S', 1, 2_900_000);
        write(10, 11, 'R', 1, 1);
        assert_eq!(now(&[10, 30]), 2, "the main thread waits, and another one works");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn this_process_has_a_parent_and_a_cpu() {
        let own = process_stat(&Root::default(), std::process::id() as i32).unwrap();
        assert_eq!(own.parent, std::os::unix::process::parent_id() as i32);
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "(\\PC|[0-9 ():\n]|write_bytes: )*") {
            let _ = parse_process_stat(&text);
            let _ = parse_storage_io(&text);
        }
    }

    #[test]
    fn calls_are_recognised_by_their_numbers() {
        let (futex, restarted) = if cfg!(target_arch = "aarch64") { (98, 128) } else { (202, 219) };
        assert_eq!(parse_syscall(&format!("{futex} 0x7f 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f\n")), Ok(Sleep::Futex));
        assert_eq!(parse_syscall(&format!("{restarted} 0x7f 0x80\n")), Ok(Sleep::GoesOn));
        for other in ["running\n", "0 0x3 0x7f 0x1000\n", "-1 0x7ffd 0x7f\n"] {
            assert_eq!(parse_syscall(other), Ok(Sleep::Other), "{other}");
        }
        assert!(parse_syscall("").is_err() && parse_syscall("x").is_err());
    }

    #[test]
    fn a_waiting_thread_is_detected() {
        let (sender, tid) = channel();
        let (go, wait) = channel::<()>();
        let waiting = thread::spawn(move || {
            sender.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let _ = wait.recv();
        });
        let tid = tid.recv().unwrap();
        let own = std::process::id() as i32;
        let seen = (0..10_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            waits_for_futex(&Root::default(), own, tid).unwrap_or(false)
        });
        assert!(seen || waits_for_futex(&Root::default(), own, tid).is_err());
        drop(go);
        waiting.join().unwrap();
        assert_eq!(waits_for_futex(&Root::default(), own, tid), Ok(false), "the thread has ended");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\PC|[0-9 -x])*") {
            let _ = parse_syscall(&text);
        }
    }
}
