//! Finds the values of custom metrics in what a run printed.

use regex::bytes::{Captures, Regex};
use serde_json::Value;
use steady_model::{MetricSource, Pattern};

/// The maximum number of bytes that are kept of what a run prints: the last ones count.
pub(crate) const OUTPUT_MAX: usize = 16 << 20;

/// The maximum value. Sums of values are finite.
const VALUE_MAX: f64 = 1e300;

/// Why an expression has no value.
const NO_MATCH: &str = "the expression matches nothing";

/// The name of the group of an expression that matches the unit.
const UNIT: &str = "unit";

/// The beginning of a line with the value of a metric.
const LINE: &[u8] = b"steady:";

/// Finds the values of one metric.
#[derive(Debug)]
pub struct Extractor {
    name: String,
    unit: String,
    more_is_better: bool,
    pattern: Compiled,
}

#[derive(Debug)]
enum Compiled {
    Line,
    Regex(Regex),
    Least(Regex),
    Json(String),
}

impl Extractor {
    /// Prepares the search for the values of a metric.
    ///
    /// # Errors
    /// A regular expression that is invalid or has not exactly one group, or an invalid JSON pointer: the message for
    /// the user.
    pub fn new(source: &MetricSource) -> Result<Self, String> {
        let pattern = match &source.pattern {
            Pattern::Line => Compiled::Line,
            Pattern::Regex(text) | Pattern::Least(text) => {
                let expression = Regex::new(text).map_err(|error| error.to_string())?;
                let has_unit = expression.capture_names().flatten().any(|name| name == UNIT);
                match expression.captures_len() - 1 - usize::from(has_unit) {
                    1 if matches!(source.pattern, Pattern::Least(_)) => Compiled::Least(expression),
                    1 => Compiled::Regex(expression),
                    0 => return Err(format!("'{text}' has no group (...) around the value")),
                    groups => {
                        return Err(format!(
                            "'{text}' has {groups} groups: only the value may be in (...), write (?:...) for others"
                        ));
                    }
                }
            }
            Pattern::Json(pointer) if pointer.is_empty() || pointer.starts_with('/') => Compiled::Json(pointer.clone()),
            Pattern::Json(pointer) => {
                return Err(format!("'{pointer}' is not a JSON pointer: it begins with '/', as in /results/0/mean"));
            }
        };
        let MetricSource { name, unit, more_is_better, .. } = source.clone();
        Ok(Extractor { name, unit, more_is_better, pattern })
    }

    /// Returns the value of the metric in what a run printed, in the unit of the metric.
    ///
    /// # Errors
    /// Why there is no valid value, as a clause.
    pub fn value(&self, printed: &[u8]) -> Result<f64, String> {
        let value = match &self.pattern {
            Compiled::Line => self.of_lines(printed)?,
            Compiled::Regex(expression) => {
                let last = expression.captures_iter(printed).last().ok_or(NO_MATCH)?;
                self.of_match(&last)?
            }
            Compiled::Least(expression) => {
                let values = expression.captures_iter(printed).map(|found| self.of_match(&found));
                values.collect::<Result<Vec<_>, _>>()?.into_iter().reduce(f64::min).ok_or(NO_MATCH)?
            }
            Compiled::Json(pointer) => of_json(pointer, printed)?,
        };
        match value {
            _ if !value.is_finite() || value > VALUE_MAX => Err(format!("the value {value} is too large")),
            // A change in per cent of a negative value has no meaning.
            _ if value < 0.0 => Err(format!("the value {value} is negative, and a relative change needs 0 or more")),
            _ => Ok(value),
        }
    }

    /// The value in a match of an expression. A group named `unit` has its unit.
    fn of_match(&self, found: &Captures<'_>) -> Result<f64, String> {
        let unit = found.name(UNIT);
        let mut groups = found.iter().skip(1).flatten().filter(|group| unit != Some(*group));
        let value = groups.next().ok_or("the group of the value matches nothing")?;
        let value = number(&String::from_utf8_lossy(value.as_bytes()))?;
        let Some(unit) = unit else { return Ok(value) };
        let unit = String::from_utf8_lossy(unit.as_bytes());
        let factor = conversion(&unit, &self.unit)
            .ok_or_else(|| format!("there is a value in '{unit}', which cannot be converted to '{}'", self.unit))?;
        Ok(value * factor)
    }

    fn of_lines(&self, printed: &[u8]) -> Result<f64, String> {
        let lines = printed.rsplit(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(LINE));
        let mut named = lines.filter_map(|line| {
            let line = String::from_utf8_lossy(line);
            let (name, rest) = line.trim().split_once(char::is_whitespace)?;
            (name == self.name).then(|| rest.trim().to_owned())
        });
        let rest = named.next().ok_or_else(|| {
            let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
            format!("there is no line 'steady: {} VALUE{unit}'", self.name)
        })?;
        let (value, unit) = rest.split_once(char::is_whitespace).unwrap_or((&rest, ""));
        let (value, unit) = (number(value)?, unit.trim());
        let factor = conversion(unit, &self.unit).ok_or_else(|| match (unit, self.unit.as_str()) {
            ("", own) => format!("the value has no unit instead of '{own}'"),
            (unit, _) => {
                let more = if self.more_is_better { ",more" } else { "" };
                format!("there is a value, but in '{unit}': write --metric-from '{}[{unit}{more}]'", self.name)
            }
        })?;
        Ok(value * factor)
    }
}

fn of_json(pointer: &str, printed: &[u8]) -> Result<f64, String> {
    let last_line = || printed.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let whole = serde_json::from_slice::<Value>(printed).or_else(|_| serde_json::from_slice(last_line()));
    let whole = whole.map_err(|error| format!("neither the whole nor its last line is JSON ({error})"))?;
    match whole.pointer(pointer) {
        Some(Value::Number(number)) => Ok(number.as_f64().unwrap_or(f64::NAN)),
        Some(Value::String(text)) => number(text),
        Some(_) => Err(format!("what is at {pointer} is not a number")),
        None => Err(format!("nothing is at {pointer}")),
    }
}

/// Parses a number, which may have separators of thousands: `1,234,567.8`.
fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let whole = text.split('.').next().unwrap_or_default();
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let are_digits = |group: &str| group.bytes().all(|digit| digit.is_ascii_digit());
    // After a zero, as in `0,123`, the comma begins the decimals in the languages that write it so.
    let is_first = (1..=3).contains(&first.len()) && are_digits(first) && !first.starts_with('0');
    let has_separators = whole.contains(',') && is_first && groups.all(|group| group.len() == 3 && are_digits(group));
    let parsed = if has_separators { text.replace(',', "").parse() } else { text.parse() };
    parsed.map_err(|_| format!("'{text}' is not a number"))
}

/// Returns the factor that converts a value from one unit to another; `None` if that is not known to be possible.
fn conversion(from: &str, to: &str) -> Option<f64> {
    const TIMES: &[(&str, f64)] = &[
        ("ps", 1e-12),
        ("ns", 1e-9),
        ("us", 1e-6),
        ("μs", 1e-6),
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("h", 3600.0),
    ];
    const SIZES: &[(&str, f64)] = &[
        ("B", 1.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1048576.0),
        ("GiB", 1073741824.0),
    ];
    if from == to {
        return Some(1.0);
    }
    let size = |units: &[(&str, f64)], unit: &str| units.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size);
    [TIMES, SIZES].iter().find_map(|units| Some(size(units, from)? / size(units, to)?))
}

/// Returns the last lines of what a run printed, for a message. Empty if it printed nothing.
pub(crate) fn excerpt(printed: &[u8]) -> String {
    /// The maximum number of bytes and lines.
    const BYTES: usize = 600;
    const LINES: usize = 8;
    let end = &printed[printed.len().saturating_sub(BYTES)..];
    let text = String::from_utf8_lossy(end);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(spec: &str, printed: &str) -> Result<f64, String> {
        Extractor::new(&spec.parse().unwrap()).unwrap().value(printed.as_bytes())
    }

    #[test]
    fn the_last_line_of_a_metric_counts_and_units_are_converted() {
        let printed = "x\nsteady: latency 3 ms\nsteady: other 9\nsteady:  latency  2500 us \nend\n";
        assert_eq!(value("latency[ms]", printed), Ok(2.5));
        assert_eq!(value("other", printed), Ok(9.0));
        assert_eq!(value("size[KiB]", "steady: size 2 MiB"), Ok(2048.0));
        assert!(value("other[ms]", printed).unwrap_err().contains("no unit"));
        assert!(value("latency", printed).unwrap_err().contains("'latency[us]'"));
        assert!(value("lat[ms]", printed).unwrap_err().contains("'steady: lat VALUE ms'"));
        assert!(value("latency[B]", printed).is_err());
    }

    #[test]
    fn the_group_of_the_last_match_counts() {
        assert_eq!(value("t[ms]=regex:took ([0-9.]+) ms", "took 1.5 ms\ntook 2.5 ms\n"), Ok(2.5));
        assert_eq!(value("t=regex:(?m)^n=(.*)$", "n=1e3\nn= 7 \n"), Ok(7.0));
        assert!(value("t=regex:n=(.*)", "n=x").unwrap_err().contains("'x'"));
        assert!(value("t=regex:n=(.*)", "m=1").unwrap_err().contains("matches nothing"));
        assert!(Extractor::new(&"t=regex:n".parse().unwrap()).unwrap_err().contains("no group"));
        assert!(Extractor::new(&"t=regex:(a)(b)".parse().unwrap()).unwrap_err().contains("2 groups"));
        assert!(Extractor::new(&"t=regex:(a".parse().unwrap()).is_err());
    }

    #[test]
    fn a_group_named_unit_is_converted() {
        let spec = r"t[s]=regex:time: +\[\S+ \S+ (\S+) (?<unit>\S+) ";
        assert_eq!(value(spec, "time:   [26.0 \u{b5}s 25.0 ms 25.5 ms]"), Ok(0.025));
        let error = value(spec, "time: [1 x 2 x 3 x]").unwrap_err();
        assert!(error.contains("'x'") && error.contains("'s'"), "{error}");
        assert_eq!(value(r"t[ms]=regex:(?<unit>\w+)=([0-9]+)", "us=1500"), Ok(1.5));
        assert!(Extractor::new(&"t=regex:(?<unit>a)".parse().unwrap()).unwrap_err().contains("no group"));
        assert!(value("t[s]=regex:x(1)?(?<unit>s)?", "x").unwrap_err().contains("matches nothing"));
    }

    #[test]
    fn the_least_of_all_matches() {
        let spec = r"t[s]=least:took (\S+) (?<unit>\w+)";
        assert_eq!(value(spec, "took 3 s\ntook 1000 ms\ntook 9 s\n"), Ok(1.0));
        assert!(value(spec, "").unwrap_err().contains("matches nothing"));
        assert!(value(spec, "took 3 s\ntook x s\n").unwrap_err().contains("'x'"));
    }

    #[test]
    fn thousands_may_be_separated() {
        for (text, expected) in [("1,234", 1234.0), ("1,234,567.25", 1_234_567.25), ("12.5", 12.5), ("0.5", 0.5)] {
            assert_eq!(value("t=regex:n=(.*)", &format!("n={text}")), Ok(expected));
        }
        for wrong in ["1,5", "1,23,456", ",123", "1234,567", "1.5,000", "0,123", "-0,123", "a,123"] {
            assert!(value("t=regex:n=(.*)", &format!("n={wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn json_is_the_whole_output_or_its_last_line() {
        assert_eq!(value("t=json:/a/1", "{\"a\": [1,\n 2]}\n"), Ok(2.0));
        assert_eq!(value("t=json:/a", "starting...\n{\"a\": \"4.5\"}\n\n"), Ok(4.5));
        assert_eq!(value("t=json:", "17\n"), Ok(17.0));
        assert!(value("t=json:/b", "{\"a\": 1}").unwrap_err().contains("/b"));
        assert!(value("t=json:/a", "{\"a\": []}").unwrap_err().contains("not a number"));
        assert!(value("t=json:/a", "oops").unwrap_err().contains("is JSON"));
        assert!(Extractor::new(&"t=json:a.b".parse().unwrap()).is_err());
    }

    #[test]
    fn negative_and_infinite_values_are_refused() {
        assert!(value("t", "steady: t -3").unwrap_err().contains("negative"));
        assert!(value("t", "steady: t inf").unwrap_err().contains("too large"));
        assert!(value("t", "steady: t nan").unwrap_err().contains("too large"));
        assert_eq!(value("t", "steady: t 0"), Ok(0.0));
    }

    proptest::proptest! {
        #[test]
        fn any_output_has_a_valid_value_or_none(
            printed in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
            text in "(steady: t [-+0-9.einfa]{1,6}( ms| s)?\n|\\{\"a\": [-0-9.e]{1,5}\\}\n|.|\n){0,6}",
            cut in 0..40usize,
        ) {
            for source in ["t[ms]", "t=json:/a", "t=json:", "t=regex:t (.*) ?", "t=regex:(?s)(.*)"] {
                let extractor = Extractor::new(&source.parse().unwrap()).unwrap();
                let cut = &text.as_bytes()[..text.len().min(cut)];
                for bytes in [&printed[..], text.as_bytes(), cut] {
                    if let Ok(value) = extractor.value(bytes) {
                        proptest::prop_assert!((0.0..=VALUE_MAX).contains(&value), "{value}");
                    }
                    proptest::prop_assert!(excerpt(bytes).len() <= 3 * 600);
                }
            }
        }
    }

    #[test]
    fn excerpts_are_the_last_lines() {
        assert_eq!(excerpt(b""), "");
        assert_eq!(excerpt(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n\n"), "2\n3\n4\n5\n6\n7\n8\n9");
        assert!(excerpt(&[b'x'; 5000]).len() <= 600);
    }
}
