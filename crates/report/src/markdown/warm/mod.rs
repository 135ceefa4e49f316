//! Programs kept warm, as Markdown.

mod status;

pub use status::warm_status_markdown;
