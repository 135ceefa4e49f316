//! `steady release compare`: where rows come from, which of them are judged, and a release that is followed live.

mod compare;
mod fleet;
mod follow;
mod outcome;
mod service;
mod source;
mod store;
mod window;

pub(crate) use compare::run as compare;
pub(crate) use outcome::status;
pub(crate) use store::Store;
