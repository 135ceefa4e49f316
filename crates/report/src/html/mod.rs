//! The report as one page of HTML that needs nothing besides itself: no script, no font, no picture from elsewhere.

mod explain;
mod facts;
mod grid;
mod release;
mod warm;

use maud::Markup;
use steady_render::html::{page as styled, sentence as spans};

pub use explain::{explain_html, explain_pair_html};
pub(crate) use steady_render::html::plot as svg;
pub(crate) use steady_render::scale;

pub use release::release_html;
pub use warm::{warm_bench_html, warm_status_html};

/// A page, around what stands in it.
fn page(title: &str, header: &Markup, main: &Markup) -> String {
    styled(title, "", header, main)
}
