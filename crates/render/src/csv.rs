//! Tables as comma-separated values, for spreadsheets and data frames.
//!
//! Fields are quoted as RFC 4180 has it. Lines end with a line feed alone, as the tools of Unix expect.

use std::borrow::Cow;
use std::fmt::Display;

use steady_model::{Nanos, Outcome, Reading};

use crate::letters::harmless;

/// A line: its fields, each under the name of its column. A field is empty where there is no such reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    fields: Vec<(Cow<'static, str>, String)>,
}

impl Row {
    /// A line without fields.
    pub fn new() -> Self {
        Row::default()
    }

    /// The line with a further field, which is quoted where it has to be.
    #[must_use]
    pub fn with(mut self, column: impl Into<Cow<'static, str>>, value: impl Display) -> Self {
        self.fields.push((column.into(), quoted(&value.to_string())));
        self
    }

    /// The same with a reading.
    #[must_use]
    pub fn with_reading<T>(self, column: &'static str, reading: &Reading<T>, text: impl Fn(&T) -> String) -> Self {
        self.with(column, reading.as_ref().map_or_else(|_| String::new(), text))
    }
}

/// Rows of the same columns below a line of the columns' names.
pub fn text(rows: &[Row]) -> String {
    let names = rows.first().map(|row| row.fields.iter().map(|(name, _)| name.as_ref()).collect::<Vec<_>>());
    let mut out = names.unwrap_or_default().join(",") + "\n";
    for row in rows {
        out += &row.fields.iter().map(|(_, field)| field.as_str()).collect::<Vec<_>>().join(",");
        out.push('\n');
    }
    out
}

/// A column: its name, and its field of an item.
pub type Column<T> = (&'static str, fn(&T) -> String);

/// Items as rows below a line of the columns' names, which stands there without items too.
pub fn table<T>(columns: &[Column<T>], items: &[T]) -> String {
    let names = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",");
    let row = |item: &T| columns.iter().map(|(_, field)| quoted(&field(item))).collect::<Vec<_>>().join(",");
    std::iter::once(names).chain(items.iter().map(row)).map(|line| line + "\n").collect()
}

/// A time in seconds with all of its digits: no double stands between.
pub fn seconds(time: Nanos) -> String {
    let (whole, rest) = (time.0 / 1_000_000_000, time.0 % 1_000_000_000);
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// How a run ended, in two words.
pub fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Exited(status) => format!("exit {status}"),
        Outcome::Signalled(signal) => format!("signal {signal}"),
        Outcome::TimedOut => "timed out".to_owned(),
    }
}

/// A text between quotes where it holds what would end its field, and what would move the cursor spelled out.
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
    fn a_table_without_items_has_its_columns() {
        let columns: [Column<&str>; 2] =
            [("name", |text| (*text).to_owned()), ("length", |text| text.len().to_string())];
        assert_eq!(table(&columns, &[]), "name,length\n");
        assert_eq!(table(&columns, &["a,b"]), "name,length\n\"a,b\",3\n");
    }

    #[test]
    fn what_would_end_a_field_is_quoted() {
        assert_eq!(quoted("sort f"), "sort f");
        assert_eq!(quoted("awk '{print $1,\"x\"}'"), "\"awk '{print $1,\"\"x\"\"}'\"");
        assert_eq!(quoted("a\nb"), "\"a\nb\"");
    }
}
