//! Tables as data: columns of typed cells. Each format shows as many rows as it has room for.

use steady_model::Reading;

use crate::letters::{count, one_line};
use crate::sentence::Emphasis;

/// Columns beside one another; the first names the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What it lists, for those who do not see the page: `Locks`.
    pub label: String,
    /// What one row is and what several are: `("lock", "locks")`.
    pub rows: (&'static str, &'static str),
    /// The columns, each with a cell for every row.
    pub columns: Vec<Column>,
}

/// A column: its head, and a cell for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The words at its head. On a terminal they may be broken into lines.
    pub head: String,
    /// What its cells are.
    pub align: Align,
    /// A cell for each row.
    pub cells: Vec<Cell>,
}

/// What the cells of a column are, and so at which side they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words, at the left. Where a table is too wide, they are broken into lines.
    Words,
    /// Numbers, at the right, always on one line.
    Numbers,
}

/// What stands in a row below a head.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words, or a number with its unit.
    Text(Emphasis, String),
    /// A reading that is absent, and why. The reason stands below the table.
    Absent(String),
    /// There is nothing to read: a dash.
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
    /// A reading: its value in words, or why it is absent.
    pub fn reading<T>(reading: &Reading<T>, words: impl Fn(&T) -> String) -> Self {
        match reading {
            Ok(value) => words(value).into(),
            Err(absent) => Cell::Absent(absent.0.clone()),
        }
    }
}

impl Column {
    /// A column of words: one of each item.
    pub fn words<T, C: Into<Cell>>(head: &str, items: &[T], cell: impl Fn(&T) -> C) -> Self {
        Column {
            head: head.to_owned(),
            align: Align::Words,
            cells: items.iter().map(|item| cell(item).into()).collect(),
        }
    }

    /// A column of numbers: one of each item.
    pub fn numbers<T, C: Into<Cell>>(head: &str, items: &[T], cell: impl Fn(&T) -> C) -> Self {
        Column { align: Align::Numbers, ..Column::words(head, items, cell) }
    }
}

impl Table {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `most` rows with the reasons of what is absent there, and what to say of the others.
    pub(crate) fn shown(&self, most: usize) -> Shown<'_> {
        let rows = self.len().min(most);
        let mut reasons: Vec<&str> = Vec::new();
        for cell in (0..rows).flat_map(|row| self.columns.iter().filter_map(move |column| column.cells.get(row))) {
            if let Cell::Absent(reason) = cell
                && !reasons.contains(&reason.as_str())
            {
                reasons.push(reason);
            }
        }
        Shown { table: self, rows, reasons }
    }
}

/// The rows that a format has room for.
pub(crate) struct Shown<'a> {
    pub(crate) table: &'a Table,
    /// How many rows are shown.
    pub(crate) rows: usize,
    /// Why readings are absent, each reason once.
    reasons: Vec<&'a str>,
}

impl Shown<'_> {
    /// A cell as text and with its emphasis; an absent one as the mark of its reason.
    pub(crate) fn cell(&self, column: &Column, row: usize) -> (Emphasis, String) {
        match column.cells.get(row) {
            Some(Cell::Text(emphasis, text)) => (*emphasis, one_line(text)),
            Some(Cell::Absent(reason)) => {
                let place = self.reasons.iter().position(|one| one == reason).unwrap_or(0);
                (Emphasis::Plain, format!("[{}]", place + 1))
            }
            Some(Cell::Nothing) | None => (Emphasis::Plain, "–".to_owned()),
        }
    }

    /// What stands below the table: the reasons behind their marks, and how many rows are not shown.
    pub(crate) fn notes(&self) -> Vec<String> {
        let reason = |(place, reason): (usize, &&str)| format!("[{}]\u{a0}absent: {}", place + 1, one_line(reason));
        let mut notes: Vec<String> = self.reasons.iter().enumerate().map(reason).collect();
        let (one, many) = self.table.rows;
        match self.table.len() - self.rows {
            0 => {}
            1 => notes.push(format!("{} is not shown; JSON has it.", count(1, one, many))),
            rest => notes.push(format!("{} are not shown; JSON has each.", count(rest, one, many))),
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
        None => Cell::Absent("nobody\u{1b} looked".to_owned()),
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
    fn a_reason_stands_below_the_table_once_and_only_if_its_row_is_shown() {
        let table = sample();
        let shown = table.shown(2);
        assert_eq!(shown.cell(&table.columns[1], 1), (Emphasis::Plain, "[1]".to_owned()));
        assert_eq!(shown.notes(), ["[1]\u{a0}absent: nobody\\u{1b} looked", "1\u{a0}lock is not shown; JSON has it."]);
        assert_eq!(table.shown(1).notes(), ["2\u{a0}locks are not shown; JSON has each."]);
        assert_eq!(table.shown(9).notes().len(), 1);
    }
}
