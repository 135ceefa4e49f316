//! What `/proc` says of one process, and whether a thread waits for a futex.

use steady_model::{Absent, Bytes, Reading};

use super::{excerpt, number};
use crate::Root;
use crate::syscalls::syscall_name;

/// Where a process is and who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its state in one letter: `R`unning, `S`leeping, `D` in an uninterruptible wait, `T` stopped, `Z`ombie, ...
    pub state: char,
    /// The process identifier of its parent.
    pub parent: i32,
    /// The CPU on which its main thread ran last.
    pub cpu: usize,
}

/// Reads the text of `/proc/PID/stat`. The name may hold blanks and parentheses: fields count from the last `)`.
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

/// State, parent and last CPU of process `pid`; absent once it is reaped. Source: `/proc/PID/stat`.
pub fn process_stat(root: &Root, pid: i32) -> Reading<ProcessStat> {
    parse_process_stat(&read_of(root, pid, "stat")?)
}

/// What a process and its reaped children have moved from and to storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageIo {
    /// Fetched from storage.
    pub read: Bytes,
    /// Sent to storage, or made to be sent by dirtying the page cache.
    pub written: Bytes,
    /// Of that, what truncation made unnecessary to send.
    pub cancelled: Bytes,
}

/// Reads the text of `/proc/PID/io`.
pub fn parse_storage_io(text: &str) -> Reading<StorageIo> {
    let field = |key: &str| number(super::value_of(text, key), key).map(Bytes);
    Ok(StorageIo {
        read: field("read_bytes")?,
        written: field("write_bytes")?,
        cancelled: field("cancelled_write_bytes")?,
    })
}

/// What process `pid` and the children that it reaped have moved from and to storage.
///
/// Read a process that has ended before it is reaped to have all of it. Absent without kernel support
/// (CONFIG_TASK_IO_ACCOUNTING), and for programs of other users or that changed users. Source: `/proc/PID/io`.
pub fn storage_io(root: &Root, pid: i32) -> Reading<StorageIo> {
    parse_storage_io(&read_of(root, pid, "io")?)
}

fn read_of(root: &Root, pid: i32, file: &str) -> Reading<String> {
    root.read(&format!("/proc/{pid}/{file}"))
}

/// This machine's own table of system calls, by its number in linux/audit.h.
const TABLE: u32 = if cfg!(target_arch = "aarch64") { 0xc000_00b7 } else { 0xc000_003e };

/// What a thread is found at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// A wait for a futex.
    Futex,
    /// A call that was interrupted and goes on, of which only the kernel's function tells what it waits for.
    GoesOn,
    /// Something else: another call, none, or it runs.
    Other,
}

/// Reads the text of `/proc/PID/task/TID/syscall`.
pub fn parse_syscall(text: &str) -> Reading<Sleep> {
    let first = text.split_ascii_whitespace().next();
    let told = first.ok_or_else(|| Absent::because("the system call of a thread is empty"))?;
    if told == "running" {
        return Ok(Sleep::Other);
    }
    let call: i64 = number(Some(told), &format!("system call '{}' of a thread", excerpt(told)))?;
    Ok(match u64::try_from(call).map(|call| syscall_name(TABLE, call)).as_deref() {
        Ok("futex" | "futex_wait" | "futex_waitv" | "futex_requeue") => Sleep::Futex,
        Ok("restart_syscall") => Sleep::GoesOn,
        _ => Sleep::Other,
    })
}

/// Whether thread `tid` of process `pid` sleeps for a futex; one that is gone does not. Source: `/proc/PID/task/TID/syscall`, and
/// `wchan` where that may not be read.
pub fn waits_for_futex(root: &Root, pid: i32, tid: i32) -> Reading<bool> {
    let at = |file: &str| format!("/proc/{pid}/task/{tid}/{file}");
    match root.read(&at("syscall")).and_then(|text| parse_syscall(&text)) {
        Ok(Sleep::Futex) => Ok(true),
        Ok(Sleep::Other) => Ok(false),
        Ok(Sleep::GoesOn) => Ok(root.read(&at("wchan")).is_ok_and(|function| function.contains("futex"))),
        // Its last moments: nothing can be read of what has ended.
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

    use proptest::prelude::*;

    use super::*;
    use crate::trees::tree;

    #[test]
    fn names_may_hold_anything() {
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
    fn storage_counts_are_found_by_name() {
        let io = storage_io(&tree("vm"), 100).unwrap();
        assert_eq!(io, StorageIo { read: Bytes(4_096), written: Bytes(8_192), cancelled: Bytes(0) });
        assert!(storage_io(&tree("vm"), 101).is_err());
        assert!(parse_storage_io("write_bytes: many").is_err());
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
    fn calls_are_told_by_their_numbers() {
        let (futex, restarted) = if cfg!(target_arch = "aarch64") { (98, 128) } else { (202, 219) };
        assert_eq!(parse_syscall(&format!("{futex} 0x7f 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f\n")), Ok(Sleep::Futex));
        assert_eq!(parse_syscall(&format!("{restarted} 0x7f 0x80\n")), Ok(Sleep::GoesOn));
        for other in ["running\n", "0 0x3 0x7f 0x1000\n", "-1 0x7ffd 0x7f\n"] {
            assert_eq!(parse_syscall(other), Ok(Sleep::Other), "{other}");
        }
        assert!(parse_syscall("").is_err() && parse_syscall("x").is_err());
    }

    #[test]
    fn a_thread_that_waits_is_seen() {
        let (told, tid) = channel();
        let (go, wait) = channel::<()>();
        let waiting = thread::spawn(move || {
            told.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let _ = wait.recv();
        });
        let tid = tid.recv().unwrap();
        let own = std::process::id() as i32;
        let seen = (0..1_000).any(|_| {
            thread::yield_now();
            waits_for_futex(&Root::default(), own, tid).unwrap_or(false)
        });
        assert!(seen || waits_for_futex(&Root::default(), own, tid).is_err());
        drop(go);
        waiting.join().unwrap();
        assert_eq!(waits_for_futex(&Root::default(), own, tid), Ok(false), "it is gone");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\PC|[0-9 -x])*") {
            let _ = parse_syscall(&text);
        }
    }
}
