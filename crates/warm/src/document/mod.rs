//! What is kept of programs, and what keeping them warm gains, as documents.

mod bench;
mod status;
