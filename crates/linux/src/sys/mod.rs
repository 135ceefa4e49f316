//! The system calls that have no safe form: the only `unsafe` code of this crate.
#![allow(unsafe_code)]

mod memory;
mod perf;
mod spawn;
mod wait;

pub(crate) use memory::drop_clean_file_pages;
pub(crate) use perf::{Counted, open_counter};
pub use spawn::{Child, Program, Stdio};
pub use wait::{ChildUsage, Reaped, Status, own_usage, wait_any, wait_for};
