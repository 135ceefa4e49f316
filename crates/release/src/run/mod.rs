//! `steady release compare`: where rows come from, which of them are judged, and a release that is followed live.

mod compare;
mod follow;
mod service;
mod source;
mod window;

pub(crate) use compare::{run as compare, status};
pub(crate) use source::Store;
