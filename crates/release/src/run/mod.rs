//! `steady release compare`: where rows come from, which of them are judged, and a release that is followed live.

mod compare;
mod follow;
mod merge;
mod service;
mod source;

pub(crate) use compare::{run as compare, status};
pub use merge::merged;
pub(crate) use service::Service;
pub(crate) use source::Store;
