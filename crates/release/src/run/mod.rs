//! `steady release compare`: reads rows from stores, selects them, evaluates them once or follows a release live.

mod compare;
mod follow;
mod merge;
mod service;
mod source;

pub(crate) use compare::{run as compare, status};
pub use merge::merged;
pub(crate) use service::Service;
pub(crate) use source::Store;
