//! Trees of quantities as tables.

use maud::{Markup, html};

use crate::text::tree::Tree;

/// A row per line, indented by its depth.
pub(super) fn tree(tree: &Tree, heads: &[&str], last: &str) -> Markup {
    html! {
        div.scroll role="region" aria-label="Table of times" tabindex="0" { table.tree {
            thead { tr {
                td {}
                @for head in heads { th scope="col" { (head) } }
                th scope="col" { (last) }
            } }
            tbody { @for branch in &tree.branches { tr {
                @if branch.cells.is_empty() { td.note colspan=(heads.len() + 2) { (branch.label) } }
                @else {
                    th scope="row" class=(format!("depth-{}", branch.depth.min(2))) { (branch.label) }
                    @for cell in &branch.cells { td.number { (cell) } }
                    td { (branch.remark) }
                }
            } } }
        } }
    }
}
