//! The two formats that metrics are written in: the classic one of Prometheus, and OpenMetrics. They differ in what a
//! counter's family is called, in units and in their end; lines of samples are the same.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::Arc;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Version 0.0.4 of the text format of Prometheus.
    Classic,
    /// Version 1.0.0 of OpenMetrics.
    OpenMetrics,
}

impl Dialect {
    /// The type of its pages.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Dialect::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Dialect::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The kind of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
    /// A gauge of 1 whose labels are what it tells.
    Info,
}

impl Kind {
    /// What a sample of a family with one each is called beyond the family.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        }
    }
}

/// What a family is called, without the suffix that its kind gives to its samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What it is, in a sentence with nothing that would have to be escaped.
    pub(super) help: &'static str,
}

/// The value of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Whole(u64),
    Real(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Whole(value) => value.fmt(formatter),
            Value::Real(value) => value.fmt(formatter),
        }
    }
}

/// Lines are gathered to so many bytes before they are written on.
const GATHERED: usize = 16 << 10;

/// A page that is being written.
pub(super) struct Text<W> {
    dialect: Dialect,
    out: W,
    lines: String,
    /// The family that no sample has been written of yet.
    head: Option<Head>,
}

impl<W: Write> Text<W> {
    pub(super) fn new(dialect: Dialect, out: W) -> Text<W> {
        Text { dialect, out, lines: String::with_capacity(GATHERED + (GATHERED >> 2)), head: None }
    }

    /// Samples of this family follow. One without any is not there.
    pub(super) fn family(&mut self, head: Head) {
        self.head = Some(head);
    }

    /// Writes a sample: its family's name and what is added to that, labels whose values are escaped, and the value.
    pub(super) fn sample(&mut self, name: &str, suffix: &str, labels: &[(&str, &str)], value: Value) -> io::Result<()> {
        if let Some(head) = self.head.take() {
            self.heading(head);
        }
        self.lines.push_str(name);
        self.lines.push_str(suffix);
        for (place, (name, value)) in labels.iter().enumerate() {
            self.lines.push(if place == 0 { '{' } else { ',' });
            self.lines.push_str(name);
            self.lines.push_str("=\"");
            self.lines.push_str(value);
            self.lines.push('"');
        }
        self.lines.push_str(if labels.is_empty() { " " } else { "} " });
        // Writing to a text cannot fail.
        let _ = writeln!(self.lines, "{value}");
        if self.lines.len() >= GATHERED { self.pass_on() } else { Ok(()) }
    }

    fn heading(&mut self, Head { name, kind, help }: Head) {
        let is_classic = self.dialect == Dialect::Classic;
        let suffix = if is_classic { kind.suffix() } else { "" };
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Info if is_classic => "gauge",
            Kind::Info => "info",
        };
        let _ = writeln!(self.lines, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}");
        if !is_classic && name.ends_with("_seconds") {
            let _ = writeln!(self.lines, "# UNIT {name} seconds");
        }
    }

    fn pass_on(&mut self) -> io::Result<()> {
        self.out.write_all(self.lines.as_bytes())?;
        self.lines.clear();
        Ok(())
    }

    /// The page is whole.
    pub(super) fn finish(mut self) -> io::Result<W> {
        if self.dialect == Dialect::OpenMetrics {
            self.lines.push_str("# EOF\n");
        }
        self.pass_on()?;
        Ok(self.out)
    }
}

/// A value as it stands between its quotes, in both formats the same.
pub(super) type Label = Arc<str>;

/// The label of a text. Parsers of the formats take a NUL for the end, and there is no way to write one: it becomes
/// what stands for letters that cannot be had.
pub(super) fn label(text: &str) -> Label {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => written.push_str("\\\\"),
            '"' => written.push_str("\\\""),
            '\n' => written.push_str("\\n"),
            '\0' => written.push(char::REPLACEMENT_CHARACTER),
            other => written.push(other),
        }
    }
    written.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_label_is_escaped() {
        assert_eq!(&*label("/a\\b\"c\nd\0\r\u{1f40c}"), "/a\\\\b\\\"c\\nd\u{fffd}\r\u{1f40c}");
    }
}
