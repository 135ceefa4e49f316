//! A tree of quantities, a line each, parts indented beneath what they are parts of: cells in columns, a remark.

use super::{Page, Paint};
use crate::words::{cut, width};

/// A line of the tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Branch {
    /// How deep it stands.
    pub(crate) depth: usize,
    /// What it is called; a line without cells is a heading over what follows.
    pub(crate) label: String,
    /// What stands in each column.
    pub(crate) cells: Vec<String>,
    /// What is to be said of it.
    pub(crate) remark: String,
}

/// Lines beneath the heads of their columns; the first column has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tree {
    pub(crate) heads: Vec<String>,
    pub(crate) branches: Vec<Branch>,
}

/// Before every line, and once more for each level of depth.
const INDENT: usize = 2;
/// Between two columns.
const GAP: usize = 2;
/// Longer remarks stand below their lines, whatever room there is.
const SHORT: usize = 36;

/// How the columns are laid out.
struct Columns {
    label: usize,
    cells: Vec<usize>,
    /// The widest remark that stands behind its line.
    beside: usize,
}

impl Tree {
    /// Sets the tree: short remarks behind their lines if all of them fit there, others below; and where not even the cells fit,
    /// each on a line of its own.
    pub(super) fn write(&self, page: &mut Page) {
        let label = self.branches.iter().filter(|one| !one.cells.is_empty()).map(Branch::indented).max().unwrap_or(0);
        let count = self.branches.iter().map(|one| one.cells.len()).max().unwrap_or(0);
        let cell = |index: usize| {
            let cells = self.branches.iter().filter_map(|one| one.cells.get(index)).chain(self.heads.get(index));
            cells.map(|cell| width(cell)).max().unwrap_or(0)
        };
        let cells: Vec<usize> = (0..count).map(cell).collect();
        let end = label + cells.iter().map(|cell| cell + GAP).sum::<usize>();
        if end > page.width() {
            return self.branches.iter().for_each(|branch| self.stacked(page, branch));
        }
        let remarks = self.branches.iter().map(|one| width(&one.remark)).filter(|remark| *remark <= SHORT);
        let remark = remarks.max().unwrap_or(0);
        let beside = if end + GAP + remark <= page.width() { remark } else { 0 };
        let columns = Columns { label, cells, beside };
        self.head(page, &columns);
        for branch in &self.branches {
            branch.write(page, &columns);
        }
    }

    fn head(&self, page: &mut Page, columns: &Columns) {
        if self.heads.iter().any(|head| !head.is_empty()) {
            let mut line = " ".repeat(columns.label);
            for (head, wide) in self.heads.iter().zip(&columns.cells) {
                line.push_str(&right(head, wide + GAP));
            }
            page.line(&[(Paint::Heading, line)]);
        }
    }

    /// A line's cells below its label, each behind the head of its column.
    fn stacked(&self, page: &mut Page, branch: &Branch) {
        let indent = (branch.depth + 1) * INDENT;
        page.paragraph(indent, indent + GAP, &[(Paint::Plain, branch.label.clone())]);
        let named = |(index, cell): (usize, &String)| match self.heads.get(index).filter(|head| !head.is_empty()) {
            Some(head) => format!("{head}: {cell}"),
            None => cell.clone(),
        };
        let cells = branch.cells.iter().enumerate().filter(|(_, cell)| !cell.trim().is_empty()).map(named);
        for text in cells.chain(Some(branch.remark.clone()).filter(|remark| !remark.is_empty())) {
            page.paragraph(indent + GAP, indent + 2 * GAP, &[(Paint::Plain, text)]);
        }
    }
}

impl Columns {
    /// Where the last cell ends.
    fn end(&self) -> usize {
        self.label + self.cells.iter().map(|cell| cell + GAP).sum::<usize>()
    }
}

impl Branch {
    /// The columns that the label takes, with what stands before it.
    fn indented(&self) -> usize {
        (self.depth + 1) * INDENT + width(&self.label)
    }

    fn write(&self, page: &mut Page, columns: &Columns) {
        let indent = (self.depth + 1) * INDENT;
        if self.cells.is_empty() {
            return page.paragraph(indent, indent + GAP, &[(Paint::Plain, self.label.clone())]);
        }
        let label = cut(&self.label, columns.label.saturating_sub(indent));
        let mut line = " ".repeat(indent) + &label;
        line.push_str(&" ".repeat(columns.label.saturating_sub(width(&line))));
        for (cell, wide) in self.cells.iter().zip(&columns.cells) {
            line.push_str(&right(cell, wide + GAP));
        }
        line.push_str(&" ".repeat(columns.end().saturating_sub(width(&line)) + GAP));
        let remark = width(&self.remark);
        if remark > 0 && remark <= columns.beside {
            line.push_str(&self.remark);
        }
        page.line(&[(Paint::Plain, line)]);
        if remark > columns.beside {
            page.paragraph(indent + GAP, indent + GAP, &[(Paint::Plain, self.remark.clone())]);
        }
    }
}

/// `text`, with spaces before it.
fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;

    fn branch(depth: usize, label: &str, cells: &[&str], remark: &str) -> Branch {
        let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
        Branch { depth, label: label.to_owned(), cells, remark: remark.to_owned() }
    }

    fn tree() -> Tree {
        let branches = vec![
            branch(0, "wall time", &["1.20 s", "100 %"], ""),
            branch(1, "CPU time", &["600 ms", "50 %"], "half of all of it"),
            branch(1, "blocked", &["1 ms", "0.1 %"], ""),
        ];
        Tree { heads: vec![], branches }
    }

    fn text(tree: &Tree, width: usize) -> String {
        let mut page = Page::new(Style { width, color: false });
        tree.write(&mut page);
        page.finish()
    }

    #[test]
    fn lines_take_what_room_there_is() {
        let wide = [
            "  wall time   1.20 s  100 %",
            "    CPU time  600 ms   50 %  half of all of it",
            "    blocked     1 ms  0.1 %",
        ];
        assert_eq!(text(&tree(), 80).lines().collect::<Vec<_>>(), wide);
        let narrow = text(&tree(), 40);
        assert!(narrow.contains("\n      half of all of it\n"), "{narrow}");
        let mut crowded = tree();
        crowded.branches[1].cells.push("something that has no room".to_owned());
        assert!(text(&crowded, 40).lines().all(|line| width(line) <= 40), "{}", text(&crowded, 40));
    }
}
