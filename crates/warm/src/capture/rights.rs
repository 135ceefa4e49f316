//! Rights to the files that a program uses before its entry point. A snapshot serves all later processes of the user.
//! They have other groups and capabilities than the capture, so the rights must not depend on these.
//!
//! Search permission for the directories of a path is not checked here: each launch looks up all recorded paths with
//! its own rights.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::getxattr;
use rustix::io::Errno;

/// `O_PATH` of open(2), which needs no right to the file.
const ONLY_PATH: u64 = 0o10_000_000;
/// `O_NOATIME` of open(2), which only the owner may use.
const NO_ACCESS_TIME: u64 = 0o1_000_000;
/// `R_OK` of access(2). The bits of access(2) have the same values as those of others in a file's mode.
const READ: u32 = 4;
/// All bits of access(2): reading, writing, executing or searching.
const ALL: u32 = 7;
/// The extended attribute with the access control list of a file (acl(5)).
const ACCESS_LIST: &std::ffi::CStr = c"system.posix_acl_access";

/// Rights to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rights {
    /// Bits of access(2).
    bits: u32,
    /// Whether the process must own the file.
    owner: bool,
}

impl Rights {
    pub(super) const NONE: Rights = Rights { bits: 0, owner: false };

    /// Returns the rights for open(2) with these flags, for reading.
    pub(super) fn to_open(flags: u64) -> Self {
        if flags & ONLY_PATH != 0 {
            return Rights::NONE;
        }
        Rights { bits: READ, owner: flags & NO_ACCESS_TIME != 0 }
    }

    /// Returns the rights that access(2) checks with this mode.
    pub(super) fn of_mode(mode: u64) -> Self {
        Rights { bits: mode as u32 & ALL, owner: false }
    }

    /// Returns whether all processes of this user have these rights to a file, whatever their groups and capabilities
    /// are.
    pub(super) fn belong_to_every_process(self, path: &Path) -> io::Result<bool> {
        if self == Rights::NONE {
            return Ok(true);
        }
        let metadata = path.metadata()?;
        let owned = metadata.uid() == rustix::process::geteuid().as_raw();
        // An access control list has no effect on the owner. For other users it may have entries for their groups.
        Ok(self.are_granted(metadata.mode(), owned) && (owned || !has_access_list(path)))
    }

    /// Returns whether a file's mode grants these rights to its owner, or otherwise both to its group and to others.
    fn are_granted(self, mode: u32, owned: bool) -> bool {
        let [owner, group, others] = [6, 3, 0].map(|shift| (mode >> shift) & self.bits == self.bits);
        if owned { owner } else { group && others && !self.owner }
    }
}

/// Returns whether a file has an access control list, or may have one.
fn has_access_list(path: &Path) -> bool {
    !matches!(getxattr(path, ACCESS_LIST, &mut [0_u8; 64][..]), Err(Errno::NODATA | Errno::OPNOTSUPP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_of_a_group_do_not_count() {
        let read = Rights::to_open(0);
        // The mode, and whether the owner and another user may always read.
        for (mode, owned, other) in [
            (0o644, true, true),
            (0o600, true, false),
            (0o640, true, false),
            (0o604, true, false),
            (0o040, false, false),
            (0o044, false, true),
            (0o000, false, false),
        ] {
            assert_eq!((read.are_granted(mode, true), read.are_granted(mode, false)), (owned, other), "{mode:o}");
        }
        let [write, execute] = [2, 1].map(Rights::of_mode);
        assert!(write.are_granted(0o644, true) && !write.are_granted(0o664, false) && write.are_granted(0o666, false));
        assert!(execute.are_granted(0o755, false) && !execute.are_granted(0o654, true));
    }

    #[test]
    fn flags_of_open_decide_which_rights_it_needs() {
        assert_eq!(Rights::to_open(ONLY_PATH | NO_ACCESS_TIME), Rights::NONE);
        assert!(!Rights::to_open(NO_ACCESS_TIME).are_granted(0o666, false));
        assert!(Rights::to_open(NO_ACCESS_TIME).are_granted(0o600, true));
    }
}
