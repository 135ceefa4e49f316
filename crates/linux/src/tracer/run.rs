//! One command, watched to its end; and why nothing can be watched.

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

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// How it ended.
    pub status: Status,
    /// What it used, slowed down by being watched.
    pub usage: ChildUsage,
    /// What it and all that descends from it asked of the kernel until then.
    pub counts: CallCounts,
}

/// Runs `command` to its end with its streams at `/dev/null`, and counts what it and its descendants ask of the kernel.
/// What it leaves behind is killed. Absent where it cannot be watched, or not be started.
pub fn count(command: &Attached) -> Reading<Counted> {
    let failed = |error: io::Error| Absent::because(format!("the command could not be watched: {error}"));
    let null = File::options().read(true).write(true).open("/dev/null").map_err(failed)?;
    let gated = command.start_gated(&[], None, Joining::Stay, Some(null.as_fd())).map_err(not_started)?;
    if let Err(error) = sys::seize(gated.pid()) {
        // Behind a gate that does not open it ends.
        gated.turn_away();
        return Err(refused(&Root::default(), &error));
    }
    let mut tracer = Tracer::of(gated.pid());
    let opened = gated.open().map_err(failed)?;
    tracer.reach_exec().map_err(failed)?;
    let child = opened.begun().map_err(not_started)?.child;
    let reaped = attend(&mut tracer, child.pid).map_err(failed)?;
    let reaped = reaped.ok_or_else(|| Absent::because("somebody else reaped the command"))?;
    Ok(Counted { status: reaped.status, usage: reaped.usage, counts: tracer.counts })
}

/// Until the command and all that it made have ended; how it ended.
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
                    // Again and again, for what is killed may just have made another.
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
        NotStarted::NoChild(error) => Absent::because(format!("no process could be started: {error}")),
        NotStarted::NoProgram(error) => Absent::because(format!("the command could not be started: {error}")),
    }
}

/// The reason that an error of ptrace(2) amounts to.
pub(super) fn refused(root: &Root, error: &io::Error) -> Absent {
    const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
    let scope = root.read_line(SCOPE).ok().and_then(|scope| scope.parse::<u32>().ok()).unwrap_or(0);
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::PERM | Errno::ACCESS) if scope > 1 => {
            Absent::because(format!("ptrace(2) is forbidden here: kernel.yama.ptrace_scope is {scope}"))
        }
        Some(Errno::PERM | Errno::ACCESS | Errno::NOSYS) => {
            Absent::because("a sandbox, or another tracer, keeps ptrace(2) from watching the command")
        }
        _ => Absent::because(format!("ptrace(2): {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    fn said(name: &str, error: Errno) -> String {
        refused(&tree(name), &error.into()).0
    }

    #[test]
    fn what_is_forbidden_names_the_switch() {
        assert!(said("laptop-smt", Errno::PERM).contains("kernel.yama.ptrace_scope is 3"));
        assert!(said("vm", Errno::PERM).contains("sandbox"));
        assert!(said("vm", Errno::NOSYS).contains("sandbox"));
        assert_eq!(said("vm", Errno::SRCH), "ptrace(2): No such process (os error 3)");
        for unsound in UNSOUND {
            assert!(said(unsound, Errno::PERM).contains("sandbox"), "{unsound}");
        }
    }
}
