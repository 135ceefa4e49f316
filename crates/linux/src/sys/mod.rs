//! System calls without a safe interface: the only `unsafe` code of this crate.
#![allow(unsafe_code)]

mod attached;
mod datagrams;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub(crate) mod debuggee;
mod detached;
mod own;
mod perf;
mod ptrace;
mod schedule;
pub(crate) mod signals;
mod spawn;
mod wait;

pub use attached::{Attached, Begun, Joining, NotStarted};
pub(crate) use datagrams::{dropped_messages, receive};
pub(crate) use detached::{close_all, fork};
pub use detached::{execute, start_detached};
pub(crate) use own::{drop_clean_file_pages, sigpipe_was_ignored};
pub use own::{fix_addresses, inherited_descriptor, stdout_was_closed};
pub(crate) use perf::{Counted, filter_counter, open_counter};
pub(crate) use ptrace::{End, GoOn, Stop, await_change, entered_call, event_task, go_on, next_end, next_stop, seize};
pub use schedule::Schedule;
pub(crate) use schedule::{give_way, process_cpu_time, wake_soon};
pub use spawn::{Child, Program, Stdio};
pub(crate) use wait::reap;
pub use wait::{
    Change, ChildUsage, Reaped, Status, children_usage, next_change, own_usage, thread_usage, wait_any, wait_for,
};
