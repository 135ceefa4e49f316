//! Recorded and simulated requests, and rows built from them under other labels.
#![allow(dead_code, reason = "each test and example uses only a part")]

pub(crate) mod compact;
pub(crate) mod fleet;
pub(crate) mod made;
pub(crate) mod means;
pub(crate) mod mixtures;
pub(crate) mod recording;
pub(crate) mod simulated;
pub(crate) mod trials;
