//! Requests that were recorded or simulated, and rows made of them under other labels.
#![allow(dead_code, reason = "each user takes what it needs")]

pub(crate) mod compact;
pub(crate) mod fleet;
pub(crate) mod made;
pub(crate) mod means;
pub(crate) mod mixtures;
pub(crate) mod recording;
pub(crate) mod simulated;
pub(crate) mod trials;
