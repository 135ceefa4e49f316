//! This process's control group for CPU time, its quota and how often that held it back; and groups of our own making.
//!
//! Sources: cgroups(7), cgroup_namespaces(7), the kernel's `Documentation/admin-guide/cgroup-v2.rst` and
//! `Documentation/scheduler/sched-bwc.rst`.

mod find;
mod own;
mod quota;

pub use find::{CpuGroup, Membership, Mount, Version, cpu_group, parse_memberships, parse_mounts};
pub use own::{OwnGroup, remove_group};
pub use quota::{GroupUsage, Throttling, cpu_quota, parse_cpu_max, parse_throttling, throttled};
