//! Tables as comma-separated values, for spreadsheets and data frames.
//!
//! Fields are quoted as RFC 4180 requires. Lines end with a line feed alone, as Unix tools expect.

use std::borrow::Cow;
use std::fmt::Display;

use steady_model::{Nanos, Outcome, Reading};

use crate::letters::harmless;

/// A row: fields with the names of their columns. The field of a reading that is not available is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    fields: Vec<(Cow<'static, str>, String)>,
}

impl Row {
    /// Returns a row without fields.
    pub fn new() -> Self {
        Row::default()
    }

    /// Appends a field, quoted if necessary.
    #[must_use]
    pub fn with(mut self, column: impl Into<Cow<'static, str>>, value: impl Display) -> Self {
        self.fields.push((column.into(), quoted(&value.to_string())));
        self
    }

    /// Appends the text of a reading, or an empty field if the reading is not available.
    #[must_use]
    pub fn with_reading<T>(
        self,
        column: impl Into<Cow<'static, str>>,
        reading: &Reading<T>,
        text: impl Fn(&T) -> String,
    ) -> Self {
        self.with(column, reading.as_ref().map_or_else(|_| String::new(), text))
    }
}

/// Returns the header line of a table with the columns of this row.
pub fn header(row: &Row) -> String {
    row.fields.iter().map(|(name, _)| quoted(name)).collect::<Vec<_>>().join(",") + "\n"
}

/// Returns the rows, of which there must be one, below a header line. All rows must have the columns of the first.
pub fn text(rows: &[Row]) -> String {
    let mut out = rows.first().map(header).unwrap_or_default();
    for row in rows {
        out += &row.fields.iter().map(|(_, field)| field.as_str()).collect::<Vec<_>>().join(",");
        out.push('\n');
    }
    out
}

/// A column: its name, and a function that returns its field of an item.
pub type Column<T> = (&'static str, fn(&T) -> String);

/// Returns one row for each item below a header line. The header is there even without items.
pub fn table<T>(columns: &[Column<T>], items: &[T]) -> String {
    let names = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",");
    let row = |item: &T| columns.iter().map(|(_, field)| quoted(&field(item))).collect::<Vec<_>>().join(",");
    std::iter::once(names).chain(items.iter().map(row)).map(|line| line + "\n").collect()
}

/// Formats a time in seconds with all of its digits. It avoids floating point, which would round.
pub fn seconds(time: Nanos) -> String {
    let (whole, rest) = (time.0 / 1_000_000_000, time.0 % 1_000_000_000);
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats how a run ended: `exit 1`, `signal 9` or `timed out`.
pub fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Exited(status) => format!("exit {status}"),
        Outcome::Signalled(signal) => format!("signal {signal}"),
        Outcome::TimedOut => "timed out".to_owned(),
    }
}

/// Quotes a field if it contains separators, quotes, line breaks or outer spaces, and escapes control characters.
pub fn quoted(text: &str) -> String {
    let text = harmless(text.to_owned());
    if text.contains([',', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_every_digit() {
        assert_eq!(seconds(Nanos(1_500_000_000)), "1.5");
        assert_eq!(seconds(Nanos(1)), "0.000000001");
        assert_eq!(seconds(Nanos(0)), "0");
        assert_eq!(seconds(Nanos(10_000_000_000)), "10");
        assert_eq!(seconds(Nanos((1 << 53) - 1)), "9007199.254740991");
    }

    #[test]
    fn text_with_separators_or_control_characters_is_quoted_or_escaped() {
        assert_eq!(quoted("sort f"), "sort f");
        assert_eq!(quoted("awk '{print $1,\"x\"}'"), "\"awk '{print $1,\"\"x\"\"}'\"");
        assert_eq!(quoted("a\u{1b}[31m\rb"), "a\\u{1b}[31m\\rb");
        assert_eq!(quoted("a\nb"), "\"a\nb\"");
        assert_eq!(text(&[Row::new().with("rate_1,000/s", 5)]), "\"rate_1,000/s\"\n5\n");
    }

    #[test]
    fn a_table_without_items_has_its_columns() {
        let columns: [Column<&str>; 2] =
            [("name", |text| (*text).to_owned()), ("length", |text| text.len().to_string())];
        assert_eq!(table(&columns, &[]), "name,length\n");
        assert_eq!(table(&columns, &["a,b"]), "name,length\n\"a,b\",3\n");
    }

    #[test]
    fn fields_with_separators_are_quoted() {
        assert_eq!(quoted("sort f"), "sort f");
        assert_eq!(quoted("awk '{print $1,\"x\"}'"), "\"awk '{print $1,\"\"x\"\"}'\"");
        assert_eq!(quoted("a\nb"), "\"a\nb\"");
    }
}
