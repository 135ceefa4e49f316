//! Programs kept warm, as Markdown.

mod bench;
mod status;

pub use bench::warm_bench_markdown;
pub use status::warm_status_markdown;
