//! The reports of `steady warm`: of its store, and of its bench.

mod bench;
mod status;
