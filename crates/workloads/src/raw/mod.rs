//! The only `unsafe` code of this crate: CPU instructions and system calls without safe wrappers.
#![allow(unsafe_code)]

pub(crate) mod calls;
mod clock;
mod fork;
#[cfg(target_arch = "x86_64")]
pub(crate) mod lanes;
mod memory;
mod monitor;
mod opaque;
mod shared;
mod signal;

pub(crate) use clock::{Clock, Moment};
pub(crate) use fork::{Image, Stack, fork_and_exit, fork_and_run, start_and_join, vfork_and_exit};
pub(crate) use memory::{CAN_FLUSH, Guarded, Map, flush};
pub(crate) use monitor::{Condition, Monitor};
pub(crate) use opaque::{Function, opaque, opaque_function};
pub(crate) use shared::{ROW, Shared, Taken};
pub(crate) use signal::Handled;
