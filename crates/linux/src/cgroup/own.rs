//! A control group for one process tree: created here, with its CPU time and members, and a way to kill it.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use steady_model::{Absent, Nanos, Reading};

use super::Version;
use super::find::own_directory;
use crate::Root;
use crate::process::Joining;
use crate::procfs::number;

/// Prefix of the group names. The id of the process that created the group follows.
const NAME: &str = "steady-limit-";
/// Maximum number of attempts to remove a group. It may stay busy for a moment after its last process was reaped.
const REMOVALS: u32 = 50;
/// Time between two attempts.
const REMOVAL_STEP: Duration = Duration::from_millis(2);

/// A control group below this process's group. It is removed when this value is dropped.
#[derive(Debug)]
pub struct OwnGroup {
    version: Version,
    directory: PathBuf,
    /// The file with its CPU time.
    usage: File,
    /// The descriptor through which a child joins: the group's directory, or the file with its process ids.
    entrance: File,
}

impl OwnGroup {
    /// Creates a group. Returns the reason if this user may not, or if the group would change how its processes are
    /// scheduled: with the controller `cpu`, a group gets CPU time as one unit, whatever runs in it.
    pub fn create(root: &Root, version: Version) -> Reading<Self> {
        let (parent, controllers) = own_directory(root, version, "cpuacct")?;
        if controllers.iter().any(|name| name == "cpu") {
            return Err(scheduled_as_one());
        }
        let parent = root.path(&parent);
        remove_abandoned(&parent);
        let directory = parent.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&directory).map_err(|error| refused("create", &error))?;
        OwnGroup::open(version, &directory).inspect_err(|_| remove_group(&directory))
    }

    fn open(version: Version, directory: &Path) -> Reading<Self> {
        if version == Version::V2 && directory.join("cpu.weight").exists() {
            return Err(scheduled_as_one());
        }
        let open = |name: &str| File::open(directory.join(name)).map_err(|error| refused("read", &error));
        let (usage, entrance) = match version {
            Version::V1 => {
                let entrance = File::options().write(true).open(directory.join("cgroup.procs"));
                (open("cpuacct.usage")?, entrance.map_err(|error| refused("join", &error))?)
            }
            Version::V2 => (open("cpu.stat")?, open(".")?),
        };
        let group = OwnGroup { version, directory: directory.to_owned(), usage, entrance };
        group.cpu_time().map_err(|error| refused("read", &error))?;
        Ok(group)
    }

    /// Path of the group's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// How a child joins the group.
    pub fn joining(&self) -> Joining<'_> {
        match self.version {
            Version::V1 => Joining::ByWriting(self.entrance.as_fd()),
            Version::V2 => Joining::AtBirth(self.entrance.as_fd()),
        }
    }

    /// CPU time of all processes that were ever in this group or in groups below it. The time of a process that runs
    /// now is as of the last tick of its CPU. The sum is exact when no process runs any more.
    ///
    /// # Errors
    /// The error of read(2).
    pub fn cpu_time(&self) -> io::Result<Nanos> {
        let mut bytes = [0_u8; 256];
        let length = self.usage.read_at(&mut bytes, 0)?;
        let text = String::from_utf8_lossy(&bytes[..length]);
        let read = match self.version {
            Version::V1 => number(Some(&text), "cpuacct.usage").map(Nanos),
            Version::V2 => parse_usage(&text),
        };
        read.map_err(|absent| io::Error::other(absent.0))
    }

    /// Ids of the threads that are now in this group and in groups below it.
    pub fn threads(&self) -> Vec<i32> {
        let file = if self.version == Version::V1 { "tasks" } else { "cgroup.threads" };
        let mut found = Vec::new();
        members(&self.directory, file, &mut found);
        found
    }

    /// Ids of the processes that are now in this group and in groups below it.
    pub fn processes(&self) -> Vec<i32> {
        let mut found = Vec::new();
        members(&self.directory, "cgroup.procs", &mut found);
        found
    }

    /// Kills all processes of the group with one write, if the kernel supports that (version 2, Linux 5.14). Returns
    /// whether it does.
    pub fn kill(&self) -> bool {
        self.version == Version::V2 && fs::write(self.directory.join("cgroup.kill"), "1").is_ok()
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        remove_group(&self.directory);
    }
}

/// Parses the CPU time in the text of a group's `cpu.stat`: the line `usage_usec`.
pub(super) fn parse_usage(text: &str) -> Reading<Nanos> {
    let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "));
    number(line, "usage_usec in cpu.stat").map(|micros: u64| Nanos(micros.saturating_mul(1_000)))
}

/// Adds the ids that `file` lists in a group and in the groups below it. Groups that do not exist any more have none.
fn members(directory: &Path, file: &str, found: &mut Vec<i32>) {
    let text = fs::read_to_string(directory.join(file)).unwrap_or_default();
    found.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|&number| number > 0));
    below(directory).iter().for_each(|group| members(group, file, found));
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

/// Removes a group and those below it after their last processes have ended. A group that cannot be removed is left.
pub fn remove_group(directory: &Path) {
    below(directory).iter().for_each(|group| remove_group(group));
    for _ in 0..REMOVALS {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => std::thread::sleep(REMOVAL_STEP),
            _ => return,
        }
    }
}

/// Removes empty groups of processes that ended without removing them.
fn remove_abandoned(parent: &Path) {
    for group in below(parent) {
        let owner = group.file_name().and_then(|name| name.to_str()?.strip_prefix(NAME)?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            // A group that still has processes cannot be removed.
            let _ = fs::remove_dir(group);
        }
    }
}

fn scheduled_as_one() -> Absent {
    Absent::because("with the controller cpu, a control group would get CPU time as one unit and change the scheduling")
}

fn refused(what: &str, error: &io::Error) -> Absent {
    Absent::because(format!("cannot {what} a control group for the command: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    #[test]
    fn usage_is_parsed_by_name() {
        assert_eq!(parse_usage("usage_usec 34136013408\nuser_usec 1\n"), Ok(Nanos(34_136_013_408_000)));
        for broken in ["", "usage_usec", "usage_usec x", "user_usec 7\n"] {
            assert!(parse_usage(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn no_group_is_created_with_the_cpu_controller() {
        assert!(OwnGroup::create(&tree("cgroup-v1"), Version::V1).unwrap_err().0.contains("controller cpu"));
        for unsound in UNSOUND {
            for version in [Version::V1, Version::V2] {
                assert!(OwnGroup::create(&tree(unsound), version).is_err(), "{unsound}");
            }
        }
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn a_group_is_created_and_removed() {
        for version in [Version::V2, Version::V1] {
            match OwnGroup::create(&Root::default(), version) {
                Err(absent) => eprintln!("skipped: a_group_is_created_and_removed: {absent}"),
                Ok(group) => {
                    let directory = group.directory().to_owned();
                    assert_eq!(group.cpu_time().unwrap(), Nanos::ZERO, "nothing ran in it");
                    assert!(group.threads().is_empty() && group.processes().is_empty());
                    drop(group);
                    assert!(!directory.exists());
                }
            }
        }
    }
}
