//! Checks whether the process allows a snapshot: the next program inherits its user ids and limits.

use super::card::Warm;
use super::{calls, proc_exe};

const RLIMIT_DATA: usize = 2;
const RLIMIT_STACK: usize = 3;
const RLIMIT_AS: usize = 9;
const NO_LIMIT: u64 = u64::MAX;

/// Returns the user id, if all user ids are equal, all group ids are equal, and the process is not in secure-execution
/// mode. Otherwise the kernel might start the next program in that mode.
pub(crate) fn user() -> Option<u32> {
    if proc_exe::is_secure() {
        return None;
    }
    let same = |ids: [u32; 3]| ids[0] == ids[1] && ids[1] == ids[2];
    let users = calls::users().ok().filter(|&users| same(users))?;
    calls::groups().is_ok_and(same).then_some(users[0])
}

/// Returns whether the kernel can lay out memory as for the snapshot. The C library derives the size of thread stacks
/// from the stack limit.
pub(crate) fn has_matching_limits(warm: &Warm<'_>) -> bool {
    calls::soft_limit(RLIMIT_STACK).is_ok_and(|limit| warm.takes_stack(limit))
        && calls::soft_limit(RLIMIT_AS) == Ok(NO_LIMIT)
        && calls::soft_limit(RLIMIT_DATA) == Ok(NO_LIMIT)
        && calls::personality() == Ok(0)
}

/// Returns whether this program starts services. Other programs find out by the file of a service's program whether it
/// runs.
pub(crate) fn starts_services() -> bool {
    const STARTERS: [&[u8]; 6] =
        [b"start-stop-daemon", b"supervise-daemon", b"daemonize", b"daemon", b"nohup", b"setsid"];
    proc_exe::own_name().is_some_and(|name| STARTERS.contains(&name))
}
