//! What is kept of programs, and what keeping them warm gains, as documents.

mod bench;
mod status;

pub(crate) use bench::{bench_document, bench_summary};
pub(crate) use status::status_document;
