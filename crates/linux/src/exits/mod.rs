//! Exit records: the kernel reports what each task of the host used, when the task ends (taskstats over generic
//! netlink).
//!
//! Each thread has its own record. The times and counts of a process tree are sums over the records that [`tree_of`]
//! returns. The kernel writes a record when the task begins to exit. CPU time that the task needs to free its memory is
//! therefore in the result of wait4(2), but not in its record.
//!
//! Sources: `Documentation/accounting/taskstats.rst`, `include/uapi/linux/taskstats.h`, `kernel/taskstats.c`.

mod listener;
mod message;
mod record;
mod tree;

pub use listener::Listener;
pub use record::{TaskExit, parse_task};
pub use tree::tree_of;
