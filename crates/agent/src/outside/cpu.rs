//! CPU time of what cannot be touched.

use std::path::PathBuf;

use steady_linux::cgroup::GroupUsage;
use steady_linux::{Root, procfs, tree};

/// Whose CPU time is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuOf {
    /// The control group in this folder, those below it with it.
    Group(PathBuf),
    /// This process and all below it, and what they waited for.
    Tree(i32),
}

/// Reads it.
pub(super) enum CpuReader {
    Group(GroupUsage),
    Tree(Root, i32),
}

impl CpuReader {
    /// A reader, or why there is nothing to read.
    pub(super) fn new(of: &CpuOf) -> Result<Self, String> {
        let reader = match of {
            CpuOf::Group(folder) => CpuReader::Group(GroupUsage::open(folder).map_err(|absent| absent.0)?),
            CpuOf::Tree(pid) => CpuReader::Tree(Root::default(), *pid),
        };
        reader.read().map(|_| reader)
    }

    /// Nanoseconds so far.
    pub(super) fn read(&self) -> Result<u64, String> {
        match self {
            CpuReader::Group(usage) => usage.cpu_time().map(|time| time.0).map_err(|error| error.to_string()),
            CpuReader::Tree(root, pid) => {
                if tree::own_cpu_time(*pid).is_err() {
                    return Err(format!("there is no process {pid}"));
                }
                let mut processes = procfs::descendants(root, *pid).map_err(|absent| absent.0)?;
                processes.push(*pid);
                Ok(tree::cpu_time(root, &processes).0)
            }
        }
    }
}
