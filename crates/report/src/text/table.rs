//! A table of quantities by command that fits the page: commands side by side, or below one another.

use super::{Page, Paint};
use crate::words::{cut, width};

/// One quantity of every command.
pub(crate) struct Quantity {
    /// What it is called at the start of a line.
    pub(crate) label: &'static str,
    /// What it is called at the head of a column.
    pub(crate) short: &'static str,
    /// Its value for each command.
    pub(crate) cells: Vec<String>,
}

/// Quantities by command.
pub(crate) struct Table {
    /// What each command is called.
    pub(crate) names: Vec<String>,
    /// The quantities.
    pub(crate) quantities: Vec<Quantity>,
}

/// More commands than this are set below one another, fit or not.
const SIDE_BY_SIDE: usize = 3;
/// Between two columns.
const GAP: usize = 2;
/// Before every line.
const INDENT: usize = 2;
impl Table {
    /// Sets the table.
    pub(super) fn write(&self, page: &mut Page) {
        let labels = self.quantities.iter().map(|quantity| width(quantity.label)).max().unwrap_or(0);
        let each = (page.width() - INDENT).saturating_sub(labels) / self.names.len().max(1);
        let widest = self.quantities.iter().flat_map(|quantity| &quantity.cells).map(|cell| width(cell)).max();
        if self.names.len() <= SIDE_BY_SIDE && widest.unwrap_or(0) + GAP <= each {
            self.side_by_side(page, labels, each - GAP, widest.unwrap_or(0));
        } else {
            self.below(page);
        }
    }

    /// A column per command, each as wide as its cells and, where there is room, its name.
    fn side_by_side(&self, page: &mut Page, labels: usize, room: usize, widest: usize) {
        let names: Vec<String> = self.names.iter().map(|name| cut(name, room)).collect();
        let column = names.iter().map(|name| width(name)).max().unwrap_or(0).max(widest);
        let mut head = vec![(Paint::Plain, " ".repeat(INDENT + labels))];
        head.extend(names.iter().map(|name| (Paint::Heading, gap(name, column))));
        page.line(&head);
        for quantity in &self.quantities {
            let mut line = " ".repeat(INDENT) + &padded(quantity.label, labels);
            quantity.cells.iter().for_each(|cell| line.push_str(&gap(cell, column)));
            page.line(&[(Paint::Plain, line)]);
        }
    }

    /// A row per command, after a list of their names: beside its number alone a row has room for more. Quantities
    /// that do not fit beside one another go into a further part.
    fn below(&self, page: &mut Page) {
        for name in &self.names {
            page.line(&[(Paint::Plain, " ".repeat(INDENT) + &cut(name, page.width() - INDENT))]);
        }
        let number = self.names.len().to_string().len();
        let mut rest = self.quantities.as_slice();
        while !rest.is_empty() {
            let part = rest.split_at(fitting(rest, page.width() - INDENT - number));
            self.part(page, part.0, number);
            rest = part.1;
        }
    }

    /// Some of the quantities of all commands.
    fn part(&self, page: &mut Page, part: &[Quantity], number: usize) {
        page.blank();
        let mut head = " ".repeat(INDENT + number);
        part.iter().for_each(|quantity| head.push_str(&gap(quantity.short, column(quantity))));
        page.line(&[(Paint::Heading, head)]);
        for index in 0..self.names.len() {
            let mut line = " ".repeat(INDENT) + &format!("{:>number$}", index + 1);
            for quantity in part {
                let cell = quantity.cells.get(index).map_or("", String::as_str);
                line.push_str(&gap(cell, column(quantity)));
            }
            page.line(&[(Paint::Plain, line)]);
        }
    }
}

/// How many of the first quantities fit into `room` beside one another; at least one.
fn fitting(quantities: &[Quantity], room: usize) -> usize {
    let ends = quantities.iter().scan(0, |used, quantity| {
        *used += GAP + column(quantity);
        Some(*used)
    });
    ends.take_while(|end| *end <= room).count().max(1)
}

/// The columns that a quantity takes where commands are rows.
fn column(quantity: &Quantity) -> usize {
    quantity.cells.iter().map(|cell| width(cell)).max().unwrap_or(0).max(width(quantity.short))
}

/// `text`, filled up with spaces.
fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The same, with the gap before it.
fn gap(text: &str, columns: usize) -> String {
    format!("{}{}", " ".repeat(GAP), padded(text, columns))
}
