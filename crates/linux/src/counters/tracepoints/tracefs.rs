//! Reads the ids of tracepoints from the kernel's tracefs.

use std::io::Read;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use steady_model::{Absent, Reading};

use crate::Root;
use crate::procfs::number;
use crate::root::unreadable;

/// Mount points of tracefs, on newer and on older systems.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The tracefs file system, where it is mounted. A process with the privilege to mount it can use a detached mount
/// instead, which no other process sees and which ends with its descriptor.
#[derive(Debug)]
pub(super) enum Tracefs {
    Mounted(Root, &'static str),
    Detached(OwnedFd),
}

impl Tracefs {
    /// Opens tracefs. Returns the reason if it can be neither read nor mounted.
    pub(super) fn open(root: &Root) -> Reading<Self> {
        let mounted = PLACES.into_iter().find(|place| root.has(&format!("{place}/events")));
        match mounted {
            Some(place) => Ok(Tracefs::Mounted(root.clone(), place)),
            None if root.is_live() => mount().map(Tracefs::Detached).map_err(why_not),
            None => Err(Absent::because("tracefs is not mounted")),
        }
    }

    /// Returns the id of a tracepoint, such as `sched/sched_process_exec`.
    pub(super) fn number(&self, point: &str) -> Reading<u64> {
        let text = match self {
            Tracefs::Mounted(root, place) => root.read(&format!("{place}/events/{point}/id"))?,
            Tracefs::Detached(mount) => {
                let file = format!("events/{point}/id");
                let opened = openat(mount, &file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
                let mut text = String::new();
                let read = opened.map_err(Into::into).and_then(|id| std::fs::File::from(id).read_to_string(&mut text));
                read.map_err(|error| unreadable(&format!("{file} in tracefs"), &error))?;
                text
            }
        };
        number(Some(&text), &format!("the id of {point}"))
    }
}

fn mount() -> Result<OwnedFd, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let harmless = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, harmless)
}

fn why_not(error: Errno) -> Absent {
    match error {
        Errno::NODEV => Absent::because("the kernel is built without tracepoints (CONFIG_FTRACE)"),
        Errno::PERM | Errno::ACCESS => {
            Absent::because("this user may not read the kernel's tracepoints; only root can read tracefs")
        }
        Errno::NOSYS => Absent::because("tracefs is not mounted; run `mount -t tracefs nodev /sys/kernel/tracing`"),
        other => Absent::because(format!("cannot mount tracefs: {}", std::io::Error::from(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    #[test]
    fn tracepoints_have_ids_if_tracefs_is_mounted() {
        let points = Tracefs::open(&tree("laptop-smt")).unwrap();
        assert_eq!(points.number("raw_syscalls/sys_enter"), Ok(348));
        let old = Tracefs::open(&tree("cgroup-v1")).unwrap();
        assert_eq!(old.number("sched/sched_process_exec"), Ok(301));
        assert!(old.number("sched/nothing").unwrap_err().0.contains("does not exist"));
        assert!(old.number("task/task_newtask").unwrap_err().0.contains("not a number"));
        for unsound in UNSOUND {
            assert!(Tracefs::open(&tree(unsound)).is_err(), "{unsound}");
        }
    }

    #[test]
    fn mount_errors_have_a_reason() {
        assert!(why_not(Errno::PERM).0.contains("only root"));
        assert!(why_not(Errno::NODEV).0.contains("CONFIG_FTRACE"));
        assert!(why_not(Errno::NOSYS).0.contains("mount -t tracefs"));
        assert!(why_not(Errno::NOMEM).0.contains("memory"));
    }
}
