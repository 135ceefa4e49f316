//! Reports as text for a terminal.

mod absent;
mod agent;
mod explain;
pub(crate) mod grid;
mod history;
mod release;
pub(crate) mod table;
pub(crate) mod tree;
mod warm;

pub use agent::agent_text;
pub use explain::{explain_pair_text, explain_text};
pub use history::{other_run_text, runs_text, said_run_text, summary};
pub use release::{release_answer_text, release_text};
pub use warm::{warm_bench_text, warm_status_text};

pub(crate) use absent::Footnotes;
use steady_render::terminal::Page;
pub(crate) use steady_render::{Emphasis as Paint, Span, Style};
