//! What a program has in the kernel at its entry: nothing, or it is refused.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use steady_linux::debuggee::Debuggee;

use super::super::taken::{FloatingPoint, NotTaken};
use super::{failed, refused};

/// Whether what is executed is the file that was asked for, and not the interpreter of a script.
pub(super) fn is_the_program(debuggee: &Debuggee, program: &Path) -> Result<(), NotTaken> {
    let (asked, found) = (std::fs::metadata(program), std::fs::metadata(debuggee.file("exe")));
    let (asked, found) = (asked.map_err(failed)?, found.map_err(failed)?);
    if (asked.dev(), asked.ino()) != (found.dev(), found.ino()) {
        return Err(refused("another program is executed in its place, as for a script"));
    }
    if label(debuggee.file("attr/current").as_ref()) != label(Path::new("/proc/thread-self/attr/current")) {
        return Err(refused("a security module gives it a label of its own"));
    }
    Ok(())
}

/// What a security module calls a process; the same for all where there is none.
fn label(file: &Path) -> Option<Vec<u8>> {
    std::fs::read(file).ok()
}

/// One thread.
pub(super) fn is_alone(debuggee: &Debuggee) -> Result<(), NotTaken> {
    match std::fs::read_dir(debuggee.file("task")).map_err(failed)?.count() {
        1 => Ok(()),
        threads => Err(refused(format!("it has {threads} threads at its entry"))),
    }
}

/// No descriptor but the three streams and the one that it was given, and all signals as the system has them.
pub(super) fn has_left_nothing(debuggee: &Debuggee, given: Option<i64>) -> Result<(), NotTaken> {
    let given = given.map(|given| given.to_string());
    for entry in std::fs::read_dir(debuggee.file("fd")).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let own = ["0", "1", "2"].into_iter().chain(given.as_deref());
        if own.into_iter().all(|own| entry.file_name() != own) {
            let what = std::fs::read_link(entry.path()).map_err(failed)?;
            return Err(refused(format!("it has {} open at its entry", what.display())));
        }
    }
    let status = std::fs::read_to_string(debuggee.file("status")).map_err(failed)?;
    for (field, what) in [("SigBlk", "holds back"), ("SigIgn", "ignores"), ("SigCgt", "handles")] {
        let signals =
            set(&status, field).ok_or_else(|| NotTaken::Failed(format!("/proc/PID/status has no {field}")))?;
        if signals != 0 {
            return Err(refused(format!("it {what} signal {} at its entry", signals.trailing_zeros() + 1)));
        }
    }
    Ok(())
}

/// What execve(2) sets and a constructor can set without a system call, but for the floating-point units: the flags, the segments,
/// the rights of protection keys. What other functions rely on being unset must be so; the stub sets the thread's pointer.
pub(super) fn has_usual_registers(debuggee: &Debuggee, protection_keys: Option<u32>) -> Result<(), NotTaken> {
    /// Direction, nested task, alignment check, and the flag that shows whether there is CPUID.
    const FLAGS: u64 = 1 << 10 | 1 << 14 | 1 << 18 | 1 << 21;
    let registers = debuggee.registers().map_err(failed)?;
    let what = if registers.flags() & FLAGS != 0 {
        format!("flags of the CPU ({:#x})", registers.flags() & FLAGS)
    } else if registers.gs_base() != 0 || registers.data_segments() != [0; 4] {
        "a segment of its own".to_owned()
    } else if debuggee.protection_keys().map_err(failed)? != protection_keys {
        "the rights of protection keys".to_owned()
    } else {
        return Ok(());
    };
    Err(refused(format!("a constructor sets {what} before its entry")))
}

/// What its floating-point units are set to: the stub sets them so again.
pub(super) fn floating_point(debuggee: &Debuggee) -> Result<FloatingPoint, NotTaken> {
    let found = debuggee.floating_point().map_err(failed)?;
    if found.x87_holds_values {
        return Err(refused("a constructor leaves values in the registers of the x87 at its entry"));
    }
    Ok(FloatingPoint { mxcsr: found.mxcsr, x87_control: found.x87_control, x87_status: found.x87_status })
}

/// A set of signals in `/proc/PID/status`.
fn set(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    u64::from_str_radix(line.trim(), 16).ok()
}
