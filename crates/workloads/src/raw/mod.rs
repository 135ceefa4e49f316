//! What only a CPU's own instructions can do: the only `unsafe` code of this crate.
#![allow(unsafe_code)]

mod flush;

pub(crate) use flush::{CAN_FLUSH, flush};
