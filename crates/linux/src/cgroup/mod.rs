//! Control groups: the CPU quota and throttling of this process's group, and groups that this process creates.
//!
//! Sources: cgroups(7), cgroup_namespaces(7), the kernel's `Documentation/admin-guide/cgroup-v2.rst` and
//! `Documentation/scheduler/sched-bwc.rst`.

mod find;
mod own;
mod quota;

pub use find::{CpuGroup, Membership, Mount, Version, cpu_group, parse_memberships, parse_mounts};
pub use own::{OwnGroup, remove_group};
pub use quota::{GroupUsage, Throttling, cpu_quota, parse_cpu_max, parse_throttling, throttled};
