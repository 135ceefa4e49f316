//! Trees of quantities as tables.

use super::row;
use crate::text::tree::Tree;
use crate::units::TIE;
use steady_render::markdown::plain;

/// A row per line, its depth told by an indent.
pub(super) fn tree(tree: &Tree, heads: &[&str], out: &mut String) {
    row(out, heads.iter().map(|head| plain(head)));
    let sides = heads.iter().enumerate().map(|(at, _)| if at == 0 || at + 1 == heads.len() { "---" } else { "---:" });
    row(out, sides.map(str::to_owned));
    for branch in &tree.branches {
        let label = format!("{}{}", TIE.repeat(4 * branch.depth), plain(&branch.label));
        let cells = (0..heads.len() - 2).map(|at| branch.cells.get(at).map_or_else(String::new, |cell| plain(cell)));
        let remark = plain(&branch.remark);
        row(out, std::iter::once(label).chain(cells).chain(std::iter::once(remark)));
    }
    out.push('\n');
}
