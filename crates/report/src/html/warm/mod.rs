//! Programs kept warm, as a page.

mod status;

pub use status::warm_status_html;
