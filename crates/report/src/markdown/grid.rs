//! Tables of numbers.

use super::row;
use crate::text::Footnotes;
use crate::text::grid::Grid;
use steady_render::markdown::plain;

/// A column of numbers each, and the reasons of what is absent below.
pub(super) fn table((grid, notes): (Grid, Footnotes), out: &mut String) {
    row(out, grid.0.iter().map(|column| plain(&column.head)));
    row(out, grid.0.iter().map(|_| "---:".to_owned()));
    for index in 0..grid.rows() {
        row(out, grid.0.iter().map(|column| column.cells.get(index).map_or_else(String::new, |cell| plain(cell))));
    }
    let notes: Vec<String> = notes.lines().map(|line| plain(&line)).collect();
    if !notes.is_empty() {
        out.push_str(&format!("\n{}\n", notes.join("<br>\n")));
    }
}
