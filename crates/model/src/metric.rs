//! Metrics: the quantities by which commands are compared.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use arrayvec::ArrayString;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The cost that a verdict is about. In JSON it is its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// User and system time of the whole process tree, from wait4(2).
    Cpu,
    /// Wall time minus time waiting for a CPU; only for single-threaded commands.
    Elapsed,
    /// Wall time from start to exit.
    Wall,
    /// Peak resident memory of the largest process in the tree.
    Memory,
    /// Instructions retired by the whole process tree, from the CPU's counters.
    Instructions,
    /// Page faults of the whole process tree, with and without reading from storage.
    Faults,
    /// Voluntary context switches of the whole process tree: it gave up its CPU to wait. Involuntary ones are left out,
    /// because load causes them.
    Switches,
    /// Energy of the CPU packages of the whole machine during a run, from their counters.
    Energy,
    /// A number that the commands report themselves.
    Custom(CustomMetric),
}

impl Metric {
    /// The metrics that every comparison has, if they can be measured, in the order in which reports list them.
    pub const USUAL: [Metric; 5] = [Metric::Cpu, Metric::Elapsed, Metric::Wall, Metric::Memory, Metric::Instructions];
    /// The metrics that a comparison has only if the user asks for them.
    pub const OPTIONAL: [Metric; 3] = [Metric::Faults, Metric::Switches, Metric::Energy];

    /// Returns every metric that is not a custom one.
    pub fn built_in() -> impl Iterator<Item = Metric> {
        Metric::USUAL.into_iter().chain(Metric::OPTIONAL)
    }

    /// Returns the name in options and in JSON.
    pub fn name(&self) -> &str {
        match self {
            Metric::Cpu => "cpu",
            Metric::Elapsed => "elapsed",
            Metric::Wall => "wall",
            Metric::Memory => "memory",
            Metric::Instructions => "instructions",
            Metric::Faults => "faults",
            Metric::Switches => "switches",
            Metric::Energy => "energy",
            Metric::Custom(custom) => &custom.name,
        }
    }

    /// Returns the metric that is called `name`. A name that is not built in belongs to a custom metric, of which only
    /// the name is known then. `None` if no metric can have this name.
    pub fn named(name: &str) -> Option<Metric> {
        let built_in = Metric::built_in().find(|metric| metric.name() == name);
        built_in.or_else(|| Some(Metric::Custom(CustomMetric::named(name)?)))
    }

    /// Returns whether a command with a larger value is better. All built-in metrics are costs.
    pub fn is_more_better(&self) -> bool {
        matches!(self, Metric::Custom(custom) if custom.more_is_better)
    }

    /// Returns whether the metric is a number of events, which may be zero.
    pub fn is_count(&self) -> bool {
        matches!(self, Metric::Instructions | Metric::Faults | Metric::Switches | Metric::Custom(_))
    }

    /// Returns whether runs next to each other change each other's value, so that only turns measure the metric: wall
    /// time, the energy of the machine, and custom metrics, because what they measure is not known.
    pub fn needs_turns(&self) -> bool {
        matches!(self, Metric::Wall | Metric::Elapsed | Metric::Energy | Metric::Custom(_))
    }

    /// Returns the unit of the values that are not times, sizes or counts; empty if there is none.
    pub fn unit(&self) -> &str {
        match self {
            Metric::Energy => "J",
            Metric::Custom(custom) => custom.unit(),
            _ => "",
        }
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        Metric::named(&name).ok_or_else(|| serde::de::Error::custom(format!("'{name}' is not a metric")))
    }
}

impl JsonSchema for Metric {
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Metric::built_in().map(|metric| metric.name().to_owned()).collect::<Vec<_>>().join(", ");
        json_schema!({
            "type": "string",
            "description": format!("The cost that a verdict is about: {names}, or the name of a custom metric."),
        })
    }
}

/// What reports need to know about a metric whose values the commands report themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CustomMetric {
    name: ArrayString<NAME_MAX>,
    unit: ArrayString<UNIT_MAX>,
    more_is_better: bool,
    /// The index among the custom metrics of the plan.
    index: u8,
}

/// The maximum length of the name of a custom metric, in bytes.
const NAME_MAX: usize = 32;
/// The maximum length of the unit of a custom metric, in bytes.
const UNIT_MAX: usize = 16;
/// The maximum number of custom metrics of a comparison.
pub const CUSTOM_METRICS_MAX: usize = 16;

impl CustomMetric {
    /// Returns the metric that `source` describes, which is the source with this index in the plan. `None` if it has no
    /// valid name or unit.
    fn of(source: &MetricSource, index: usize) -> Option<Self> {
        let metric = CustomMetric::named(&source.name)?;
        let unit = Some(&source.unit).filter(|unit| is_unit(unit))?;
        Some(CustomMetric {
            unit: ArrayString::from(unit).ok()?,
            more_is_better: source.more_is_better,
            index: u8::try_from(index).ok()?,
            ..metric
        })
    }

    fn named(name: &str) -> Option<Self> {
        let name = ArrayString::from(name).ok().filter(|name| is_name(name))?;
        Some(CustomMetric { name, unit: ArrayString::new(), more_is_better: false, index: u8::MAX })
    }

    /// Returns the name that the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the unit of its values; empty if they have none.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Returns its index in [`Plan::metrics`](crate::Plan::metrics).
    pub fn index(&self) -> usize {
        usize::from(self.index)
    }
}

/// Returns whether a custom metric can have this name: it begins with a letter, and letters, digits, `_`, `.` and `-`
/// follow. It must not be that of a built-in metric, nor `auto`.
fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && characters.all(|next| next.is_ascii_alphanumeric() || "_.-".contains(next))
        && name.len() <= NAME_MAX
        && name != "auto"
        && Metric::built_in().all(|known| known.name() != name)
}

/// Returns whether values can have this unit. It may be empty.
fn is_unit(unit: &str) -> bool {
    unit.len() <= UNIT_MAX && unit.chars().all(|c| !c.is_control() && !c.is_whitespace() && !"[],=\"".contains(c))
}

/// A custom metric as the user defined it: what its values are, and how they are found in what a run prints or writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricSource {
    /// The name of the metric.
    pub name: String,
    /// The unit of its values; empty if they have none.
    pub unit: String,
    /// Whether a command with a larger value is better.
    pub more_is_better: bool,
    /// How a value is found in what a run prints.
    pub pattern: Pattern,
}

/// How the value of a custom metric is found in what a run prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// In the last line `steady: NAME VALUE UNIT`.
    Line,
    /// In the only group of the last match of this regular expression. A further group named `unit` may have its unit.
    Regex(String),
    /// The least value in all matches of this regular expression, which is as for `regex`.
    Least(String),
    /// At this JSON pointer (RFC 6901) into the output, or into its last line if the whole is not one JSON value.
    Json(String),
}

/// What the values of the custom metrics are found in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricInput {
    /// In the standard output of a run.
    #[default]
    Stdout,
    /// In the standard error of a run.
    Stderr,
    /// In a file that each run writes.
    File(
        #[serde(with = "crate::path")]
        #[schemars(with = "crate::path::Form")]
        PathBuf,
    ),
}

impl MetricInput {
    /// Returns whether this is the default.
    pub(crate) fn is_stdout(&self) -> bool {
        *self == MetricInput::Stdout
    }
}

impl fmt::Display for MetricInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetricInput::Stdout => formatter.write_str("standard output"),
            MetricInput::Stderr => formatter.write_str("standard error"),
            MetricInput::File(path) => write!(formatter, "'{}'", path.display()),
        }
    }
}

impl MetricSource {
    /// Returns the metric with its index in the plan, or `None` if it has no valid name or unit.
    pub fn metric(&self, index: usize) -> Option<Metric> {
        CustomMetric::of(self, index).map(Metric::Custom)
    }
}

/// Parses `NAME[UNIT]`, `NAME[UNIT,more]`, `NAME[UNIT]=regex:EXPRESSION`, `NAME[UNIT]=least:EXPRESSION` or
/// `NAME[UNIT]=json:POINTER`. The brackets may be left out. Regular expressions are not checked.
impl FromStr for MetricSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, pattern) = match text.split_once('=') {
            None => (text, Pattern::Line),
            Some((what, pattern)) => match text_pattern(pattern) {
                Some(pattern) => (what, pattern),
                None if described(what).is_some_and(|(name, ..)| is_name(name)) => {
                    return Err(format!(
                        "'{pattern}' must begin with regex:, least: or json:, as in '{what}=regex:{pattern}'"
                    ));
                }
                None => return Err(usage(text)),
            },
        };
        let (name, unit, more_is_better) = described(what).ok_or_else(|| usage(text))?;
        if unit == "more" {
            return Err(format!("'{text}': write '{name}[,more]' if a larger value is better"));
        }
        let source = MetricSource { name: name.to_owned(), unit: unit.to_owned(), more_is_better, pattern };
        match source.metric(0) {
            Some(_) => Ok(source),
            None if Metric::named(name).is_some_and(|metric| matches!(metric, Metric::Custom(_))) => {
                Err(format!("'{unit}' is not a unit: it has at most {UNIT_MAX} bytes and no blanks"))
            }
            None if Metric::named(name).is_some() || name == "auto" => {
                Err(format!("the name '{name}' has another meaning: choose another one"))
            }
            None if text.contains('=') && !text.starts_with(['=', '[']) && pattern_begins(text) => Err(format!(
                "'{name}' is not a name: it has letters, digits, '_', '.' and '-', and begins with a letter"
            )),
            None => Err(usage(text)),
        }
    }
}

/// Returns whether what follows the first `=` is a pattern, so that the name must be at fault.
fn pattern_begins(text: &str) -> bool {
    text.split_once('=').is_some_and(|(_, pattern)| text_pattern(pattern).is_some())
}

/// The form that [`FromStr`] parses.
impl fmt::Display for MetricSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        match (self.unit.as_str(), self.more_is_better) {
            ("", false) => {}
            (unit, false) => write!(formatter, "[{unit}]")?,
            (unit, true) => write!(formatter, "[{unit},more]")?,
        }
        match &self.pattern {
            Pattern::Line => Ok(()),
            Pattern::Regex(expression) => write!(formatter, "=regex:{expression}"),
            Pattern::Least(expression) => write!(formatter, "=least:{expression}"),
            Pattern::Json(pointer) => write!(formatter, "=json:{pointer}"),
        }
    }
}

fn text_pattern(text: &str) -> Option<Pattern> {
    if let Some(expression) = text.strip_prefix("regex:") {
        return Some(Pattern::Regex(expression.to_owned()));
    }
    if let Some(expression) = text.strip_prefix("least:") {
        return Some(Pattern::Least(expression.to_owned()));
    }
    text.strip_prefix("json:").map(|pointer| Pattern::Json(pointer.to_owned()))
}

/// Returns the name, the unit and whether more is better.
fn described(text: &str) -> Option<(&str, &str, bool)> {
    let Some((name, rest)) = text.split_once('[') else { return Some((text, "", false)) };
    match rest.strip_suffix(']')?.split_once(',') {
        None => Some((name, rest.strip_suffix(']')?, false)),
        Some((unit, more)) if more.trim() == "more" => Some((name, unit, true)),
        Some(_) => None,
    }
}

/// Returns an error with the forms, in which `text` is the expression if it may be one.
fn usage(text: &str) -> String {
    let is_pattern = text.contains('(') && !text.contains("regex:") && !text.contains("json:");
    let example = if is_pattern { text } else { "took ([0-9.]+) ms" };
    format!(
        "'{text}' does not say what is measured: write 'latency[ms]' for lines 'steady: latency 12.5 ms', \
         'latency[ms]=regex:{example}' or 'latency[ms]=json:/results/0/mean', with a name of your choice; \
         'rate[1/s,more]' if more is better"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> MetricSource {
        text.parse().unwrap()
    }

    #[test]
    fn sources_have_a_name_a_unit_a_direction_and_a_pattern() {
        let source = |name: &str, unit: &str, more_is_better, pattern| MetricSource {
            name: name.to_owned(),
            unit: unit.to_owned(),
            more_is_better,
            pattern,
        };
        assert_eq!(parsed("latency[ms]"), source("latency", "ms", false, Pattern::Line));
        assert_eq!(parsed("allocations"), source("allocations", "", false, Pattern::Line));
        assert_eq!(parsed("rate[req/s,more]"), source("rate", "req/s", true, Pattern::Line));
        assert_eq!(parsed("score[,more]"), source("score", "", true, Pattern::Line));
        let expression = Pattern::Regex("time=([0-9]+) [a=b]".to_owned());
        assert_eq!(parsed("t[us]=regex:time=([0-9]+) [a=b]"), source("t", "us", false, expression));
        assert_eq!(parsed("p99=json:/a/0"), source("p99", "", false, Pattern::Json("/a/0".to_owned())));
    }

    #[test]
    fn an_expression_without_a_name_is_refused_with_the_right_form() {
        let error = "took ([0-9]+) ms".parse::<MetricSource>().unwrap_err();
        assert!(error.contains("'latency[ms]=regex:took ([0-9]+) ms'"), "{error}");
        // This is no metric called `time`.
        let error = "time=([0-9]+)".parse::<MetricSource>().unwrap_err();
        assert!(error.contains("must begin with regex:, least: or json:"), "{error}");
        let error = "a b[ms]=regex:(x)".parse::<MetricSource>().unwrap_err();
        assert!(error.contains("'a b' is not a name"), "{error}");
        let error = "rate[more]".parse::<MetricSource>().unwrap_err();
        assert!(error.contains("'rate[,more]'"), "{error}");
    }

    #[test]
    fn invalid_names_units_and_directions_are_refused() {
        for wrong in ["", "=regex:(x)", "9x", "a b", "cpu", "auto", "x[a b]", "x[ms", "x[ms,less]", "x[ms,]", "[ms]"] {
            assert!(wrong.parse::<MetricSource>().is_err(), "{wrong}");
        }
        assert!(format!("x[{}]", "u".repeat(17)).parse::<MetricSource>().unwrap_err().contains("not a unit"));
        assert!("x".repeat(33).parse::<MetricSource>().is_err());
        assert!("wall=json:/x".parse::<MetricSource>().unwrap_err().contains("another meaning"));
    }

    #[test]
    fn metrics_are_their_names_in_json() {
        let metric = parsed("rate[req/s,more]").metric(3).unwrap();
        assert_eq!(serde_json::to_string(&metric).unwrap(), "\"rate\"");
        let read: Metric = serde_json::from_str("\"rate\"").unwrap();
        assert_eq!((read.name(), read.is_more_better()), ("rate", false));
        assert_eq!(serde_json::from_str::<Metric>("\"cpu\"").unwrap(), Metric::Cpu);
        assert!(serde_json::from_str::<Metric>("\"a b\"").is_err());
    }

    proptest::proptest! {
        #[test]
        fn sources_parse_any_text_without_panic(text in ".*|[a-z]{1,4}(\\[.*\\])?(=(regex|json):.*)?") {
            if let Ok(source) = text.parse::<MetricSource>() {
                proptest::prop_assert!(source.metric(0).is_some());
                proptest::prop_assert_eq!(source.to_string().parse(), Ok(source));
            }
        }
    }
}
