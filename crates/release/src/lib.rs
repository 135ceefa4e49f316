//! Did this release make requests cheaper? Requests in, rows out ([`Fold`]); rows in, verdict out. Pure: no clock, no entropy,
//! no files.
#![forbid(unsafe_code)]

mod fold;

pub use fold::{Fold, Told, WARMING_REQUESTS};
