//! A table with many rows of numbers: heads of several words are broken into lines, and what does not fit beside one
//! another goes into a further part.

use super::{Page, Paint};
use crate::words::width;

/// A column: what it is called, and its cells.
pub(crate) struct Column {
    /// The words at its head.
    pub(crate) head: String,
    /// A cell for each row.
    pub(crate) cells: Vec<String>,
}

/// Columns beside one another; the first names the rows.
pub(crate) struct Grid(pub(crate) Vec<Column>);

/// Between two columns.
const GAP: usize = 2;
/// Before every line.
const INDENT: usize = 2;
/// The lines that a head may take.
const LINES: std::ops::RangeInclusive<usize> = 2..=4;

impl Grid {
    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.0.first().map_or(0, |column| column.cells.len())
    }

    /// Sets the table, its heads no higher than they must be for it to fit.
    pub(super) fn write(&self, page: &mut Page) {
        let room = page.width() - INDENT;
        let fits = |lines: &usize| self.0.iter().map(|column| column.width(*lines) + GAP).sum::<usize>() - GAP <= room;
        let lines = LINES.into_iter().find(fits).unwrap_or(*LINES.end());
        let Some((first, mut rest)) = self.0.split_first() else { return };
        loop {
            let mut used = first.width(lines);
            let fitting = rest.iter().take_while(|column| {
                used += GAP + column.width(lines);
                used <= room
            });
            let (part, further) = rest.split_at(fitting.count().max(1).min(rest.len()));
            set(page, &std::iter::once(first).chain(part).collect::<Vec<_>>(), lines);
            if further.is_empty() {
                return;
            }
            page.blank();
            rest = further;
        }
    }
}

/// Some columns beside one another, heads at the bottom of their lines, all to the right.
fn set(page: &mut Page, columns: &[&Column], lines: usize) {
    let heads: Vec<Vec<String>> = columns.iter().map(|column| column.broken(column.width(lines))).collect();
    let height = heads.iter().map(Vec::len).max().unwrap_or(0);
    let line = |cells: &dyn Fn(usize) -> String| {
        let all = columns.iter().enumerate().map(|(index, column)| {
            let (cell, wide) = (cells(index), column.width(lines));
            format!("{}{cell}", " ".repeat(wide.saturating_sub(width(&cell))))
        });
        " ".repeat(INDENT) + &all.collect::<Vec<_>>().join(&" ".repeat(GAP))
    };
    for at in 0..height {
        let text = line(&|index| {
            let head = &heads[index];
            (at + head.len()).checked_sub(height).and_then(|at| head.get(at)).cloned().unwrap_or_default()
        });
        page.line(&[(Paint::Heading, text.trim_end().to_owned())]);
    }
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        page.line(&[(Paint::Plain, line(&|index| columns[index].cells.get(row).cloned().unwrap_or_default()))]);
    }
}

impl Column {
    /// The columns of text that it takes with its head in at most so many lines.
    fn width(&self, lines: usize) -> usize {
        let cells = self.cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
        let longest = self.head.split(' ').map(width).max().unwrap_or(0);
        let whole = width(&self.head);
        let head = (longest..=whole).find(|room| self.broken(*room).len() <= lines);
        cells.max(head.unwrap_or(whole))
    }

    /// The head in lines that fit.
    fn broken(&self, room: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in self.head.split(' ') {
            match lines.last_mut() {
                Some(line) if width(line) + 1 + width(word) <= room => line.extend([" ", word]),
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;

    fn column(head: &str, cells: &[&str]) -> Column {
        Column { head: head.to_owned(), cells: cells.iter().map(|cell| (*cell).to_owned()).collect() }
    }

    #[test]
    fn heads_break_and_parts_follow() {
        let grid = Grid(vec![
            column("number of children", &["1", "16"]),
            column("mean wall time (ms)", &["5013", "6017"]),
            column("hashes per wall ms", &["73", "42"]),
        ]);
        let text = |width| {
            let mut page = Page::new(Style { width, color: false });
            grid.write(&mut page);
            page.finish()
        };
        let wide = ["  number of  mean wall  hashes per", "   children  time (ms)     wall ms"];
        assert_eq!(text(80).lines().take(2).collect::<Vec<_>>(), wide);
        assert_eq!(text(80).lines().nth(3), Some("         16       6017          42"));
        let mut many = grid;
        for _ in 0..6 {
            many.0.push(column("anything", &["1234567890", "0"]));
        }
        let mut page = Page::new(Style { width: 40, color: false });
        many.write(&mut page);
        let narrow = page.finish();
        assert!(narrow.lines().all(|line| width(line) <= 40), "{narrow}");
        assert!(narrow.matches("children").count() > 1, "each part names its rows: {narrow}");
    }
}
