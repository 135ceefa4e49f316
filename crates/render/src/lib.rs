//! Documents as text for a terminal, Markdown, HTML and CSV, and records as JSON. Knows no feature by name. Pure functions:
//! no files, no clock, no environment.
#![forbid(unsafe_code)]

mod ascii;
pub mod csv;
pub mod document;
pub mod html;
pub mod json;
pub mod letters;
pub mod markdown;
pub mod path;
pub mod terminal;
pub mod timestamp;
pub mod units;

pub use ascii::ascii;
pub use document::{Block, Document, Emphasis, Fact, Section, Sentence, Shown, Span};
pub use terminal::Style;
