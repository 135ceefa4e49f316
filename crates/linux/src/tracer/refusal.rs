//! Why nothing can be watched.

use std::io;

use rustix::io::Errno;
use steady_model::Absent;

use crate::Root;

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
