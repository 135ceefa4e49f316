//! Reports as text for a terminal.

mod history;

pub use history::{other_run_text, runs_text, said_run_text, summary};
use steady_render::terminal::Page;
pub(crate) use steady_render::{Emphasis as Paint, Style};
