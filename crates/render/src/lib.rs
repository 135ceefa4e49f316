//! Renders documents as text for a terminal, Markdown, AsciiDoc, Org, HTML and CSV, and records as JSON. Pure functions
//! without files, clocks or environment. The crate names no feature.
#![forbid(unsafe_code)]

mod ascii;
pub mod asciidoc;
pub mod chart;
pub mod csv;
pub mod document;
pub mod effect;
pub mod html;
pub mod json;
pub mod letters;
pub mod markdown;
mod markup;
pub mod org;
pub mod scale;
mod sentence;
pub mod shell;
pub mod svg;
pub mod table;
pub mod terminal;
pub mod timestamp;
pub mod units;

pub use ascii::ascii;
pub use chart::{Axis, Bar, Bin, Chart, Height, Look, Marks, Series, Square, Whisker};
pub use document::{Block, Document, Emphasis, Fact, Section, Sentence, Shown, Span};
pub use scale::{Kind, Scale};
pub use table::{Align, Cell, Column, Table};
pub use terminal::Style;
