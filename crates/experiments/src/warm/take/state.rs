//! What a program has in the kernel at its entry: nothing, or it is refused.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use steady_linux::debuggee::Debuggee;

use super::super::taken::NotTaken;
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

/// No descriptor but the three streams, and all signals as the system has them.
pub(super) fn has_left_nothing(debuggee: &Debuggee) -> Result<(), NotTaken> {
    for entry in std::fs::read_dir(debuggee.file("fd")).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !["0", "1", "2"].iter().any(|stream| entry.file_name() == *stream) {
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

/// A set of signals in `/proc/PID/status`.
fn set(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    u64::from_str_radix(line.trim(), 16).ok()
}
