//! Programs kept warm, as a page.

mod bench;
mod status;

pub use bench::warm_bench_html;
pub use status::warm_status_html;
