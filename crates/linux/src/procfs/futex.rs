//! Whether a thread waits for a futex.

use steady_model::{Absent, Reading};

use super::{excerpt, number};
use crate::Root;
use crate::syscalls::syscall_name;

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
