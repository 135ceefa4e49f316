//! Reports as text for a terminal.

mod absent;
mod history;
mod release;
pub(crate) mod table;
pub(crate) mod tree;

pub use history::{other_run_text, runs_text, said_run_text, summary};
pub use release::{release_answer_text, release_text};
use steady_render::terminal::Page;
pub(crate) use steady_render::{Emphasis as Paint, Span, Style};
