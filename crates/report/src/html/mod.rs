//! The report as one page of HTML that needs nothing besides itself: no script, no font, no picture from elsewhere.

mod facts;
mod release;
mod tree;

use maud::Markup;
use steady_render::html::{page as styled, sentence as spans};

pub(crate) use steady_render::html::plot as svg;
pub(crate) use steady_render::scale;

pub use release::release_html;

/// A page, around what stands in it.
fn page(title: &str, header: &Markup, main: &Markup) -> String {
    styled(title, "", header, main)
}
