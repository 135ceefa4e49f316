//! What every task of the host used, told by the kernel at its end: exit records of taskstats over generic netlink.
//!
//! Each thread has a record of its own, so that a tree's times and counts are sums over [`tree_of`] its records. They are
//! written when a task begins to end: what it takes to give its memory back is in the CPU time that wait4(2) tells of it,
//! and not in its record.
//!
//! Sources: `Documentation/accounting/taskstats.rst`, `include/uapi/linux/taskstats.h`, `kernel/taskstats.c`.

mod listener;
mod message;
mod record;
mod tree;

pub use listener::Listener;
pub use record::{TaskExit, parse_task};
pub use tree::tree_of;
