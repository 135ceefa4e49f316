//! A table of quantities by command that fits the page: commands side by side, or below one another.

use super::page::{Page, Paint};
use crate::words::{cut, width};

/// One quantity of every command.
pub(super) struct Quantity {
    /// What it is called at the start of a line.
    pub(super) label: &'static str,
    /// What it is called at the head of a column.
    pub(super) short: &'static str,
    /// Its value for each command.
    pub(super) cells: Vec<String>,
}

/// Quantities by command.
pub(super) struct Table {
    /// What each command is called.
    pub(super) names: Vec<String>,
    /// The quantities.
    pub(super) quantities: Vec<Quantity>,
}

/// More commands than this are set below one another, fit or not.
const SIDE_BY_SIDE: usize = 3;
/// Between two columns.
const GAP: usize = 2;
/// Before every line.
const INDENT: usize = 2;
/// The least of a name that still tells commands apart, and the most that is worth its room.
const NAME: (usize, usize) = (12, 28);

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

    /// A row per command; quantities that do not fit beside one another go into a further part.
    fn below(&self, page: &mut Page) {
        let longest = self.names.iter().map(|name| width(name)).max().unwrap_or(0);
        let name = longest.min(NAME.1).min((page.width() / 4).max(NAME.0));
        let mut rest = self.quantities.as_slice();
        while !rest.is_empty() {
            let mut room = page.width().saturating_sub(INDENT + name);
            let fits = |quantity: &&Quantity| {
                let needed = column(quantity) + GAP;
                let fits = needed <= room;
                room = room.saturating_sub(needed);
                fits
            };
            let (part, others) = rest.split_at(rest.iter().take_while(fits_of(fits)).count().max(1));
            self.part(page, part, name);
            rest = others;
        }
    }

    /// Some of the quantities of all commands.
    fn part(&self, page: &mut Page, part: &[Quantity], name: usize) {
        let mut head = " ".repeat(INDENT + name);
        part.iter().for_each(|quantity| head.push_str(&gap(quantity.short, column(quantity))));
        page.line(&[(Paint::Heading, head)]);
        for (index, full) in self.names.iter().enumerate() {
            let mut line = " ".repeat(INDENT) + &padded(&cut(full, name), name);
            for quantity in part {
                let cell = quantity.cells.get(index).map_or("", String::as_str);
                line.push_str(&gap(cell, column(quantity)));
            }
            page.line(&[(Paint::Plain, line)]);
        }
    }
}

/// Names the type of a predicate that remembers how much room is left.
fn fits_of<'a, F: FnMut(&&'a Quantity) -> bool>(predicate: F) -> F {
    predicate
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
