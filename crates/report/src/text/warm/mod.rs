//! Programs kept warm, as text.

mod bench;
mod status;

pub use bench::warm_bench_text;
pub use status::warm_status_text;
