//! Writes the two formats of metrics: the text format of Prometheus, and OpenMetrics. They differ in the names of
//! counters' families, in units and in the end of a page; lines of samples are the same.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::Arc;

/// A format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Version 0.0.4 of the text format of Prometheus.
    Classic,
    /// Version 1.0.0 of OpenMetrics.
    OpenMetrics,
}

impl Dialect {
    /// Returns the content type of a page.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Dialect::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Dialect::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
    /// A gauge of 1 whose labels have the information.
    Info,
}

impl Kind {
    /// Returns the suffix of the names of samples. Samples of histograms have several suffixes, which are not included.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        }
    }
}

/// The metadata of a family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// The name, without the suffix of the samples.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The description: one sentence without characters that must be escaped.
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

/// The size of the buffer of lines, in bytes; it is written when it is full.
const BUFFER: usize = 16 << 10;

/// A page that is being written.
pub(super) struct Text<W> {
    dialect: Dialect,
    out: W,
    lines: String,
    /// The current family, until its first sample is written.
    head: Option<Head>,
}

impl<W: Write> Text<W> {
    pub(super) fn new(dialect: Dialect, out: W) -> Text<W> {
        Text { dialect, out, lines: String::with_capacity(BUFFER + (BUFFER >> 2)), head: None }
    }

    /// Starts a family. A family without samples is left out of the page.
    pub(super) fn family(&mut self, head: Head) {
        self.head = Some(head);
    }

    /// Writes a sample. The name is that of the family with a suffix; the values of labels must be escaped ([`label`]).
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
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.lines, "{value}");
        if self.lines.len() >= BUFFER { self.write_lines() } else { Ok(()) }
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

    fn write_lines(&mut self) -> io::Result<()> {
        self.out.write_all(self.lines.as_bytes())?;
        self.lines.clear();
        Ok(())
    }

    /// Writes the end of the page.
    pub(super) fn finish(mut self) -> io::Result<W> {
        if self.dialect == Dialect::OpenMetrics {
            self.lines.push_str("# EOF\n");
        }
        self.write_lines()?;
        Ok(self.out)
    }
}

/// The escaped value of a label, which is the same in both formats.
pub(super) type Label = Arc<str>;

/// Escapes the value of a label. Some parsers end at a NUL, and neither format has an escape for it, so U+FFFD
/// (replacement character) replaces it.
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
    fn special_characters_in_labels_are_escaped() {
        assert_eq!(&*label("/a\\b\"c\nd\0\r\u{1f40c}"), "/a\\\\b\\\"c\\nd\u{fffd}\r\u{1f40c}");
    }
}
