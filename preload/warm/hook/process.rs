//! What the process says against a snapshot: its users and its limits are the next program's too.

use super::card::Warm;
use super::{calls, own};

const RLIMIT_DATA: usize = 2;
const RLIMIT_STACK: usize = 3;
const RLIMIT_AS: usize = 9;
const NO_LIMIT: u64 = u64::MAX;

/// The user, if it runs as one user and one group altogether, and is no secure program: otherwise the kernel might call the
/// next one secure.
pub(crate) fn user() -> Option<u32> {
    if own::is_secure() {
        return None;
    }
    let same = |[real, effective, saved]: [u32; 3]| real == effective && effective == saved;
    let users = calls::users().ok().filter(|&users| same(users))?;
    calls::groups().is_ok_and(same).then_some(users[0])
}

/// Whether memory can be laid out as it was for the snapshot. The C library derives the stacks of threads from the limit of
/// the stack.
pub(crate) fn has_room(warm: &Warm<'_>) -> bool {
    calls::soft_limit(RLIMIT_STACK).is_ok_and(|limit| warm.takes_stack(limit))
        && calls::soft_limit(RLIMIT_AS) == Ok(NO_LIMIT)
        && calls::soft_limit(RLIMIT_DATA) == Ok(NO_LIMIT)
        && calls::personality() == Ok(0)
}

/// Whether this program is one that starts services: these must be known by their files, by which others find out whether
/// they run.
pub(crate) fn starts_services() -> bool {
    const STARTERS: [&[u8]; 6] =
        [b"start-stop-daemon", b"supervise-daemon", b"daemonize", b"daemon", b"nohup", b"setsid"];
    own::name().is_some_and(|name| STARTERS.contains(&name))
}
