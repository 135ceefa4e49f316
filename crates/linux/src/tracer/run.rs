//! Runs one command to its end under the tracer, and explains why tracing is not possible.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::process::Pid;
use steady_model::{Absent, Reading};

use super::{CallCounts, Next, Tracer};
use crate::Root;
use crate::process::{Change, ChildUsage, Joining, NotStarted, Reaped, Status};
use crate::sys::{self, Attached};

/// Result of a traced command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Exit status of the command.
    pub status: Status,
    /// Resource usage of the command, including the slowdown by the tracer.
    pub usage: ChildUsage,
    /// System calls of the command and all its descendants.
    pub counts: CallCounts,
}

/// Runs `command` to its end with its standard streams at `/dev/null`, and counts the system calls of its process tree.
/// Kills what the command leaves behind. Returns the reason if it cannot be traced or started.
pub fn count(command: &Attached) -> Reading<Counted> {
    let failed = |error: io::Error| Absent::because(format!("cannot trace the command: {error}"));
    let null = File::options().read(true).write(true).open("/dev/null").map_err(failed)?;
    let gated = command.start_gated(&[], None, Joining::Stay, Some(null.as_fd())).map_err(not_started)?;
    if let Err(error) = sys::seize(gated.pid()) {
        // The child exits because it was never opened.
        gated.cancel();
        return Err(refused(&Root::default(), &error));
    }
    let mut tracer = Tracer::of(gated.pid());
    let opened = gated.open().map_err(failed)?;
    tracer.reach_exec().map_err(failed)?;
    let child = opened.begun().map_err(not_started)?.child;
    let reaped = attend(&mut tracer, child.pid).map_err(failed)?;
    let reaped = reaped.ok_or_else(|| Absent::because("another part of this process reaped the command"))?;
    Ok(Counted { status: reaped.status, usage: reaped.usage, counts: tracer.counts })
}

/// Runs until the command and its descendants have ended. Returns how the command ended.
fn attend(tracer: &mut Tracer, command: Pid) -> io::Result<Option<Reaped>> {
    let mut end = None;
    loop {
        match tracer.next_change() {
            Ok(Next::Happened(Change::Ended(reaped))) if reaped.pid == command => end = Some(reaped),
            Ok(Next::Happened(_) | Next::More) => {}
            Ok(Next::Nothing) => {
                if end.is_some() {
                    if tracer.tasks.all().next().is_none() {
                        return Ok(end);
                    }
                    // Kill repeatedly, because a killed task may just have created another one.
                    tracer.kill_all();
                }
                sys::await_change()?;
            }
            Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => return Ok(end),
            Err(error) => return Err(error),
        }
    }
}

fn not_started(why: NotStarted) -> Absent {
    match why {
        NotStarted::NoChild(error) => Absent::because(format!("cannot start a process: {error}")),
        NotStarted::NoProgram(error) => Absent::because(format!("cannot execute the command: {error}")),
    }
}

/// Converts an error of ptrace(2) into a reason.
pub(super) fn refused(root: &Root, error: &io::Error) -> Absent {
    const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
    let scope = root.read_line(SCOPE).ok().and_then(|scope| scope.parse::<u32>().ok()).unwrap_or(0);
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::PERM | Errno::ACCESS) if scope > 1 => {
            Absent::because(format!("ptrace(2) is forbidden: kernel.yama.ptrace_scope is {scope}"))
        }
        Some(Errno::PERM | Errno::ACCESS | Errno::NOSYS) => {
            Absent::because("a sandbox or another tracer prevents ptrace(2) from tracing the command")
        }
        _ => Absent::because(format!("ptrace(2): {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    fn reason_of(name: &str, error: Errno) -> String {
        refused(&tree(name), &error.into()).0
    }

    #[test]
    fn forbidden_traces_have_a_reason() {
        assert!(reason_of("laptop-smt", Errno::PERM).contains("kernel.yama.ptrace_scope is 3"));
        assert!(reason_of("vm", Errno::PERM).contains("sandbox"));
        assert!(reason_of("vm", Errno::NOSYS).contains("sandbox"));
        assert_eq!(reason_of("vm", Errno::SRCH), "ptrace(2): No such process (os error 3)");
        for unsound in UNSOUND {
            assert!(reason_of(unsound, Errno::PERM).contains("sandbox"), "{unsound}");
        }
    }
}
