//! Programs kept warm, as comma-separated values.

mod bench;
mod status;

pub use bench::warm_bench_csv;
pub use status::warm_status_csv;
