//! Tables of numbers.

use maud::{Markup, html};

use crate::text::Footnotes;
use crate::text::grid::Grid;

/// A table of numbers, the reasons of what is absent below it.
pub(in crate::html) fn table((grid, notes): (Grid, Footnotes), label: &str) -> Markup {
    html! {
        div.scroll role="region" aria-label=(label) tabindex="0" { table.numbers {
            thead { tr { @for column in &grid.0 { th scope="col" { (column.head) } } } }
            tbody { @for row in 0..grid.rows() { tr {
                @for (index, column) in grid.0.iter().enumerate() {
                    @let cell = column.cells.get(row).map_or("", String::as_str);
                    @if index == 0 { th scope="row" { (cell) } } @else { td.number { (cell) } }
                }
            } } }
        } }
        @for line in notes.lines() { p.note { (line) } }
    }
}
