//! The agent: listens to the services of a host, keeps rows of their requests, and reads them back.
#![forbid(unsafe_code)]

pub mod line;
pub mod store;
