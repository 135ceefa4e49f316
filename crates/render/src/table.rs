//! Tables as data: columns of typed cells. Each format decides how many rows it shows.

use steady_model::Reading;

use crate::letters::{count, cut, one_line, width};
use crate::sentence::Emphasis;

/// Columns of equal length. The first column names the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the table lists, for screen readers: `Locks`.
    pub label: String,
    /// The singular and plural of what a row is: `("lock", "locks")`.
    pub rows: (&'static str, &'static str),
    /// The columns, from left to right.
    pub columns: Vec<Column>,
}

/// A column: its heading, and a cell for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The heading. Markdown shows all of it; a terminal breaks it into lines, and terminals and pages cut it if it is long.
    pub head: String,
    /// The type of its cells.
    pub align: Align,
    /// The cells, from top to bottom.
    pub cells: Vec<Cell>,
}

/// The type of a column's cells, which decides their alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words, left-aligned. If a table is too wide, they are broken into lines.
    Words,
    /// Numbers, right-aligned and never broken.
    Numbers,
}

/// The content of one cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words, or a number with its unit.
    Text(Emphasis, String),
    /// Words, or a number with its unit, and a note that is printed below the table.
    Noted(String, String),
    /// A reading that is not available, with the reason. The reason is printed below the table.
    Absent(String),
    /// The row has no such value. The cell shows a dash.
    Nothing,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(Emphasis::Plain, text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::from(text.to_owned())
    }
}

impl Cell {
    /// Returns a cell for a reading: its value as text, or the reason why it is not available.
    pub fn reading<T>(reading: &Reading<T>, words: impl Fn(&T) -> String) -> Self {
        match reading {
            Ok(value) => words(value).into(),
            Err(absent) => Cell::Absent(absent.0.clone()),
        }
    }

    /// Returns the note to print below the table, if the cell has one.
    fn note(&self) -> Option<String> {
        match self {
            Cell::Noted(_, note) => Some(one_line(note)),
            Cell::Absent(reason) => Some(format!("not measured: {}", one_line(reason))),
            Cell::Text(..) | Cell::Nothing => None,
        }
    }
}

impl Column {
    /// Returns a column of words, with a cell for each item.
    pub fn words<T, C: Into<Cell>>(head: &str, items: &[T], cell: impl Fn(&T) -> C) -> Self {
        Column {
            head: head.to_owned(),
            align: Align::Words,
            cells: items.iter().map(|item| cell(item).into()).collect(),
        }
    }

    /// Returns a column of numbers, with a cell for each item.
    pub fn numbers<T, C: Into<Cell>>(head: &str, items: &[T], cell: impl Fn(&T) -> C) -> Self {
        Column { align: Align::Numbers, ..Column::words(head, items, cell) }
    }

    /// Returns the heading with long words as they are.
    pub(crate) fn whole_head(&self) -> String {
        const HEAD: usize = 60;
        cut(&self.head, HEAD)
    }

    /// Returns the heading where lines are not broken everywhere, as on pages for wide screens: names of commands, and
    /// their words, are cut if they are long.
    pub(crate) fn short_head(&self) -> String {
        const WORD: usize = 18;
        self.whole_head().split(' ').map(|word| cut(word, WORD)).collect::<Vec<_>>().join(" ")
    }
}

impl Table {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Returns whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a view of the first `most` rows, with the notes of their cells.
    pub(crate) fn shown(&self, most: usize) -> Shown<'_> {
        let rows = self.len().min(most);
        let mut marked: Vec<String> = Vec::new();
        for cell in (0..rows).flat_map(|row| self.columns.iter().filter_map(move |column| column.cells.get(row))) {
            if let Some(note) = cell.note()
                && !marked.contains(&note)
            {
                marked.push(note);
            }
        }
        Shown { table: self, rows, marked }
    }
}

/// The rows of a table that a format shows.
pub(crate) struct Shown<'a> {
    pub(crate) table: &'a Table,
    /// The number of rows shown.
    pub(crate) rows: usize,
    /// The notes of cells, each once, in the order of their marks.
    marked: Vec<String>,
}

impl Shown<'_> {
    /// Returns the text and emphasis of a cell. A cell with a note has its mark, such as `[1]`.
    pub(crate) fn cell(&self, column: &Column, row: usize) -> (Emphasis, String) {
        let cell = column.cells.get(row).unwrap_or(&Cell::Nothing);
        let mark = || {
            let place = cell.note().and_then(|note| self.marked.iter().position(|one| *one == note));
            format!("[{}]", place.unwrap_or(0) + 1)
        };
        match cell {
            Cell::Text(emphasis, text) => (*emphasis, one_line(text)),
            Cell::Noted(text, _) => (Emphasis::Plain, format!("{}\u{a0}{}", one_line(text), mark())),
            Cell::Absent(_) => (Emphasis::Plain, mark()),
            Cell::Nothing => (Emphasis::Plain, "–".to_owned()),
        }
    }

    /// Returns the columns of text that the table needs with headings broken into words, and a gap of two after each
    /// column.
    pub(crate) fn width(&self) -> usize {
        let head = |column: &Column| column.short_head().split(' ').map(width).max().unwrap_or(0);
        let cells = |column: &Column| (0..self.rows).map(|row| width(&self.cell(column, row).1)).max().unwrap_or(0);
        self.table.columns.iter().map(|column| head(column).max(cells(column)) + 2).sum()
    }

    /// Returns the lines below the table: the marks with their notes, and the number of rows not shown.
    pub(crate) fn notes(&self) -> Vec<String> {
        let marked = self.marked.iter().enumerate();
        let mut notes: Vec<String> = marked.map(|(place, note)| format!("[{}]\u{a0}{note}", place + 1)).collect();
        let (one, many) = self.table.rows;
        match self.table.len() - self.rows {
            0 => {}
            1 => notes.push(format!("{} is not shown; the JSON export has it.", count(1, one, many))),
            rest => notes.push(format!("{} are not shown; the JSON export has them.", count(rest, one, many))),
        }
        notes
    }
}

/// A table for the tests of the renderers.
#[cfg(test)]
pub(crate) fn sample() -> Table {
    let rows = [("L1 mutex", Some(1234)), ("L2", None), ("L3", None)];
    let wait = |row: &(&str, Option<u32>)| match row.1 {
        Some(wait) => Cell::from(format!("{wait} s")),
        None => Cell::Absent("not\u{1b} sampled".to_owned()),
    };
    Table {
        label: "Locks".to_owned(),
        rows: ("lock", "locks"),
        columns: vec![
            Column::words("lock", &rows, |row| row.0),
            Column::numbers("median wait", &rows, wait),
            Column::words("at", &rows, |_| Cell::Nothing),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_printed_once_and_only_if_its_row_is_shown() {
        let table = sample();
        let shown = table.shown(2);
        assert_eq!(shown.cell(&table.columns[1], 1), (Emphasis::Plain, "[1]".to_owned()));
        let notes = ["[1]\u{a0}not measured: not\\u{1b} sampled", "1\u{a0}lock is not shown; the JSON export has it."];
        assert_eq!(shown.notes(), notes);
        assert_eq!(table.shown(1).notes(), ["2\u{a0}locks are not shown; the JSON export has them."]);
        assert_eq!(table.shown(9).notes().len(), 1);
        let noted = |text: &str| Cell::Noted(text.to_owned(), "1 run".to_owned());
        let times = Column::numbers("time", &["3 s", "4 s"], |text| noted(text));
        let both = Table { columns: vec![times], ..sample() };
        assert_eq!(both.shown(2).cell(&both.columns[0], 1).1, "4 s\u{a0}[1]");
        assert_eq!(both.shown(2).notes(), ["[1]\u{a0}1 run"]);
        assert_eq!(shown.width(), "L1 mutex".len() + 2 + "1234 s".len() + 2 + "at".len() + 2);
    }
}
