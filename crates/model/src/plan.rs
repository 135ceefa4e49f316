//! The plan of an experiment: all choices of the user, resolved.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::required;
use crate::{Interval, Layout, Metric, MetricInput, MetricSource, Nanos, Reading, Verdict};

/// A command to measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// The name in reports: the words as typed, unless the user gave a name.
    pub name: String,
    /// The argument vector; never empty.
    pub argv: Vec<String>,
    /// The file to execute: the first word, looked up in `PATH`.
    #[serde(with = "crate::path")]
    #[schemars(with = "crate::path::Form")]
    pub program: PathBuf,
    /// The program that runs that file, if it is a script: the one that its first line names.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::path::optional")]
    #[schemars(with = "Option<crate::path::Form>")]
    pub interpreter: Option<PathBuf>,
    /// The working directory, if it is not that of `steady`.
    #[serde(with = "crate::path::optional")]
    #[schemars(with = "Option<crate::path::Form>")]
    pub directory: Option<PathBuf>,
    /// Variables set for this command only; they override inherited ones.
    #[serde(with = "named")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub environment: Vec<(String, String)>,
    /// The parameters that were substituted in the command, by name.
    #[serde(with = "named")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub parameters: Vec<(String, String)>,
    /// The revision that it was built from: a commit, followed by a note about uncommitted changes.
    #[serde(deserialize_with = "required")]
    pub revision: Option<String>,
}

/// Values by name: an object with its fields in the order of the values. Logs of earlier versions have arrays of pairs
/// instead.
mod named {
    use std::fmt;

    use serde::de::{MapAccess, SeqAccess, Visitor};
    use serde::{Deserializer, Serializer};

    type Named = Vec<(String, String)>;

    pub(super) fn serialize<S: Serializer>(values: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(values.iter().map(|value| (&value.0, &value.1)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Named, D::Error> {
        deserializer.deserialize_any(Fields)
    }

    struct Fields;

    impl<'de> Visitor<'de> for Fields {
        type Value = Named;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object whose values are texts")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Named, A::Error> {
            let mut values = Named::new();
            while let Some(value) = fields.next_entry()? {
                values.push(value);
            }
            Ok(values)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Named, A::Error> {
            let mut values = Named::new();
            while let Some(value) = elements.next_element()? {
                values.push(value);
            }
            Ok(values)
        }
    }
}

/// A value given once for all commands, once for each command, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PerCommand<T>(pub Vec<T>);

impl<T> PerCommand<T> {
    /// No value for any command.
    pub const NONE: PerCommand<T> = PerCommand(Vec::new());

    /// Returns the value for `command`.
    pub fn of(&self, command: usize) -> Option<&T> {
        match self.0.as_slice() {
            [one] => Some(one),
            each => each.get(command),
        }
    }

    /// Returns whether no command has a value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the number of values fits `commands` commands: none, one, or one for each.
    pub fn suits(&self, commands: usize) -> bool {
        self.0.len() <= 1 || self.0.len() == commands
    }
}

/// The time at which a shell command of the user runs between the measured commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// Once per command, before its first run.
    Setup,
    /// Before each run of a command.
    Prepare,
    /// After each run of a command.
    Conclude,
    /// Once per command, after its last run, even if the experiment fails.
    Cleanup,
    /// Before each draw of memory layouts, for each command.
    Relink,
}

impl Hook {
    /// Returns the name of the option without its dashes.
    pub fn name(self) -> &'static str {
        match self {
            Hook::Setup => "setup",
            Hook::Prepare => "prepare",
            Hook::Conclude => "conclude",
            Hook::Cleanup => "cleanup",
            Hook::Relink => "relink",
        }
    }
}

/// The limit on how much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// The maximum duration with warm-up. Measuring stops early when all verdicts are decided.
    #[serde(rename = "budget_seconds", alias = "budget")]
    Budget(Nanos),
    /// The maximum number of pairs.
    Pairs(u64),
}

/// The treatment of runs with a non-zero exit status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureRule {
    /// The experiment ends with an error.
    Abort,
    /// Every exit status counts as success.
    IgnoreAll,
    /// These exit statuses count as success.
    IgnoreCodes(Vec<i32>),
}

impl FailureRule {
    /// Returns whether an exit status of `code` counts as success.
    pub fn accepts(&self, code: i32) -> bool {
        match self {
            FailureRule::Abort => code == 0,
            FailureRule::IgnoreAll => true,
            FailureRule::IgnoreCodes(codes) => code == 0 || codes.contains(&code),
        }
    }
}

/// A verdict for which the command line exits with a failure: `slower>1%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailIf {
    /// The verdict: [`Verdict::Slower`] or [`Verdict::Faster`].
    pub verdict: Verdict,
    /// The relative change beyond which the whole interval must lie; at least 0.
    pub beyond: f64,
}

impl FailIf {
    /// Returns the limit as a signed relative change (NEW / OLD - 1): `faster>2%` is -0.02, unless more is better.
    pub fn limit(&self, metric: Metric) -> f64 {
        let is_above = (self.verdict == Verdict::Slower) != metric.is_more_better();
        if is_above { self.beyond } else { -self.beyond }
    }

    /// Refuses a condition that can never hold: such a gate would always pass.
    ///
    /// # Errors
    /// It is such a condition. The error is for the user.
    pub fn check(&self, metric: Metric) -> Result<(), String> {
        match self.limit(metric) <= -1.0 {
            true => Err(format!("--fail-if '{self}' can never hold: nothing falls by 100 % or more")),
            false => Ok(()),
        }
    }

    /// Returns whether the condition holds, from a verdict by `metric` and the interval of the relative change.
    pub fn evaluate(&self, metric: Metric, verdict: Verdict, interval: &Reading<Interval>) -> GateState {
        let limit = self.limit(metric);
        let Ok(interval) = interval else { return GateState::Open };
        let (beyond, short) = match (self.verdict == Verdict::Slower) != metric.is_more_better() {
            true => (interval.low > limit, interval.high <= limit),
            false => (interval.high < limit, interval.low >= limit),
        };
        match (verdict == self.verdict && beyond, short) {
            (true, _) => GateState::Holds,
            (false, true) => GateState::DoesNotHold,
            (false, false) => GateState::Open,
        }
    }
}

/// Whether the condition of `--fail-if` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    /// The verdict is that of the condition, and the whole interval lies beyond the limit.
    Holds,
    /// The whole interval lies on the other side of the limit.
    DoesNotHold,
    /// The data do not decide it, or there is no interval.
    Open,
}

impl FromStr for FailIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || {
            let quotes = if text.contains('>') { "" } else { ", in quotes, because '>' has a meaning in a shell" };
            format!("'{text}' is not a condition; write 'slower>1%' or 'faster>2%'{quotes}")
        };
        let (word, limit) = text.split_once('>').ok_or_else(usage)?;
        let verdict = match word.trim() {
            "slower" => Verdict::Slower,
            "faster" => Verdict::Faster,
            _ => return Err(usage()),
        };
        let beyond = parse_percent(limit.trim()).map_err(|error| match error.0 {
            Some(advice) => format!("'{}' has no % sign: write {advice}", limit.trim()),
            None => usage(),
        })?;
        Ok(FailIf { verdict, beyond })
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}>{}%", self.verdict.name(), in_percent(self.beyond))
    }
}

/// Returns a share in per cent, without the rounding error of the multiplication: `0.07 * 100.0` is not 7.
fn in_percent(share: f64) -> f64 {
    /// Of the 17 digits that distinguish all numbers, the last ones may be wrong.
    const DIGITS: usize = 15;
    let percent = share * 100.0;
    format!("{percent:.*e}", DIGITS - 1).parse().unwrap_or(percent)
}

/// Parses a share with its sign: `1%`, `0.5 %`. It must be finite and at least 0.
///
/// # Errors
/// The text is not such a share. A number without `%` has advice of its own, because `0.5` may mean 0.5 % or 50 %.
pub fn parse_percent(text: &str) -> Result<f64, NotPercent> {
    let (number, has_sign) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (text, false),
    };
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    match number {
        Some(number) if has_sign => Ok(number / 100.0),
        Some(number) if 0.0 < number && number < 1.0 => {
            Err(NotPercent(Some(format!("{number}% or {}%", in_percent(number)))))
        }
        Some(number) => Err(NotPercent(Some(format!("{number}%")))),
        None => Err(NotPercent(None)),
    }
}

/// The error of [`parse_percent`]: what to write for a number without `%`, if the text is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotPercent(pub Option<String>);

/// The seed of all random draws of an experiment, written in decimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
pub struct Seed(#[schemars(with = "String")] pub u64);

impl Seed {
    fn is_default(&self) -> bool {
        *self == Seed::default()
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// Written as text, because many JSON readers round numbers above 2^53.
impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Seed).map_err(serde::de::Error::custom)
    }
}

/// The destination of a measured command's standard output. Standard error goes to `/dev/null`, except for `Stderr` and
/// `Inherit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// To `/dev/null`, the default.
    #[default]
    Null,
    /// Standard output and standard error go to the standard error of `steady`.
    Stderr,
    /// To a pipe whose content is read and discarded.
    Pipe,
    /// To the standard output of `steady`, and standard error to its standard error.
    Inherit,
    /// To a file, which is truncated before each run.
    File(
        #[serde(with = "crate::path")]
        #[schemars(with = "crate::path::Form")]
        PathBuf,
    ),
}

/// The plan of a comparison. In exports, the commands and the seed are outside of it, next to the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The commands; each is compared with the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Command>,
    /// The seed of all random draws.
    #[serde(default, skip_serializing_if = "Seed::is_default")]
    pub seed: Seed,
    /// The budget or the number of pairs.
    pub effort: Effort,
    /// The least number of pairs, even if there is a verdict or the budget is spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs_min: Option<u64>,
    /// The time within which `pairs_min` must be possible, and after twice of which it no longer counts. Without it, they
    /// may take any time.
    #[serde(skip)]
    pub pairs_min_within: Option<Nanos>,
    /// The largest number of pairs, even if the budget is not spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs_max: Option<u64>,
    /// The smallest relative change that matters to the user.
    #[serde(rename = "resolution_ratio", alias = "resolution")]
    pub resolution: f64,
    /// One minus the error rate of the verdicts.
    pub confidence: f64,
    /// The primary metric, or `None` if the warm-up chooses it.
    #[serde(deserialize_with = "required")]
    pub metric: Option<Metric>,
    /// Further metrics of the report, of those that not every comparison has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_metrics: Vec<Metric>,
    /// The custom metrics, whose values the commands report themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSource>,
    /// What the values of the custom metrics are found in.
    #[serde(default, skip_serializing_if = "MetricInput::is_stdout")]
    pub metric_input: MetricInput,
    /// The layout, or `None` to use all layouts that are possible.
    #[serde(deserialize_with = "required")]
    pub layout: Option<Layout>,
    /// The number of discarded blocks at the beginning, or `None` for as many as the commands need.
    #[serde(deserialize_with = "required")]
    pub warmup: Option<u32>,
    /// Shell commands run once before a command's first run.
    pub setup: PerCommand<String>,
    /// Shell commands run before every run.
    pub prepare: PerCommand<String>,
    /// Shell commands run after every run.
    pub conclude: PerCommand<String>,
    /// Shell commands run once after a command's last run.
    pub cleanup: PerCommand<String>,
    /// Shell commands run before each draw of memory layouts, to link the programs again.
    #[serde(default, skip_serializing_if = "PerCommand::is_empty")]
    pub relink: PerCommand<String>,
    /// The file that every run reads as standard input; `/dev/null` by default.
    #[serde(with = "crate::path::optional")]
    #[schemars(with = "Option<crate::path::Form>")]
    pub input: Option<PathBuf>,
    /// The destination of the commands' standard output; `/dev/null` by default.
    pub output: PerCommand<Output>,
    /// The treatment of runs that fail.
    pub failures: FailureRule,
    /// The time limit of one run.
    #[serde(rename = "timeout_seconds", alias = "timeout", deserialize_with = "required")]
    pub timeout: Option<Nanos>,
    /// The CPUs that may be used, or `None` for all CPUs in the affinity mask.
    #[serde(deserialize_with = "required")]
    pub cpus: Option<Vec<usize>>,
    /// The condition under which the exit status reports a failure.
    #[serde(with = "condition")]
    #[schemars(with = "Option<condition::Fields>")]
    pub fail_if: Option<FailIf>,
    /// Whether the exit status reports a failure if a verdict is undecided.
    pub require_verdict: bool,
    /// Whether runs start from snapshots of their programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm: bool,
    /// The candidate that the comparison is about, in a loop over many (`--ratchet`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Candidate>,
}

/// A candidate of a loop, and one of its comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// Its number in the loop, from 1.
    pub number: u64,
    /// Which of its comparisons this is.
    pub comparison: CandidateComparison,
}

/// A comparison of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CandidateComparison {
    /// The one that decides whether the candidate is promising.
    First,
    /// The one that accepts the candidate or not, on fresh pairs.
    Second,
}

impl CandidateComparison {
    /// The name in exports and reports.
    pub fn name(self) -> &'static str {
        match self {
            CandidateComparison::First => "first",
            CandidateComparison::Second => "second",
        }
    }
}

/// The JSON of a condition, whose limit is named with its unit.
mod condition {
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::FailIf;
    use crate::Verdict;

    /// A condition with its limit as a ratio.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "Condition")]
    pub(super) struct Fields {
        verdict: Verdict,
        #[serde(alias = "beyond")]
        beyond_ratio: f64,
    }

    pub(super) fn serialize<S: Serializer>(condition: &Option<FailIf>, serializer: S) -> Result<S::Ok, S::Error> {
        condition.map(|one| Fields { verdict: one.verdict, beyond_ratio: one.beyond }).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FailIf>, D::Error> {
        let fields = Option::<Fields>::deserialize(deserializer)?;
        Ok(fields.map(|fields| FailIf { verdict: fields.verdict, beyond: fields.beyond_ratio }))
    }
}

impl Plan {
    /// Returns the plan of a comparison without options.
    pub fn new(commands: Vec<Command>, effort: Effort, seed: Seed) -> Self {
        Plan {
            commands,
            seed,
            effort,
            pairs_min: None,
            pairs_min_within: None,
            pairs_max: None,
            resolution: 0.01,
            confidence: 0.95,
            metric: None,
            further_metrics: vec![],
            metrics: vec![],
            metric_input: MetricInput::Stdout,
            layout: None,
            warmup: None,
            setup: PerCommand::NONE,
            prepare: PerCommand::NONE,
            conclude: PerCommand::NONE,
            cleanup: PerCommand::NONE,
            relink: PerCommand::NONE,
            input: None,
            output: PerCommand::NONE,
            failures: FailureRule::Abort,
            timeout: None,
            cpus: None,
            fail_if: None,
            require_verdict: false,
            warm: false,
            candidate: None,
        }
    }

    /// Returns the error rate of the verdicts.
    pub fn alpha(&self) -> f64 {
        1.0 - self.confidence
    }

    /// Returns the time limit of one run: the smaller of the user's limit and the budget. A run that takes longer than
    /// the budget leaves no time for a verdict, and may never end. A smallest number of pairs may exceed the budget.
    pub fn run_limit(&self) -> Option<Nanos> {
        let budget = match self.effort {
            Effort::Budget(budget) => Some(budget).filter(|_| self.pairs_min.is_none()),
            Effort::Pairs(_) => None,
        };
        self.timeout.into_iter().chain(budget).min()
    }

    /// Returns the largest number of pairs, if there is a limit.
    pub fn most_pairs(&self) -> Option<u64> {
        match self.effort {
            Effort::Budget(_) => self.pairs_max,
            Effort::Pairs(pairs) => Some(pairs),
        }
    }

    /// Returns the share of the effort that is spent, from 0 to 1, after a share of the budget's time and a number of
    /// pairs. The time counts only if there is a budget.
    pub fn spent(&self, time: f64, pairs: u64) -> f64 {
        let of_pairs = self.most_pairs().map_or(0.0, |most| pairs as f64 / most as f64);
        let share = match self.effort {
            Effort::Budget(_) => time.max(of_pairs),
            Effort::Pairs(_) => of_pairs,
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Returns the custom metrics, in the order of their values in [`Run::values`](crate::Run::values).
    pub fn custom_metrics(&self) -> impl Iterator<Item = Metric> {
        self.metrics.iter().enumerate().filter_map(|(index, source)| source.metric(index))
    }

    /// Returns whether the energy of the machine must be measured.
    pub fn measures_energy(&self) -> bool {
        self.metric == Some(Metric::Energy) || self.further_metrics.contains(&Metric::Energy)
    }

    /// Returns the metric with all that the plan says about it. A custom metric that was read has only its name.
    /// `None` if the plan has no such metric.
    pub fn resolved(&self, metric: Metric) -> Option<Metric> {
        match metric {
            Metric::Custom(_) => self.custom_metrics().find(|custom| custom.name() == metric.name()),
            built_in => Some(built_in),
        }
    }

    /// Returns the shell command of `hook` for `command`, if there is one.
    pub fn script(&self, hook: Hook, command: usize) -> Option<&str> {
        let scripts = match hook {
            Hook::Setup => &self.setup,
            Hook::Prepare => &self.prepare,
            Hook::Conclude => &self.conclude,
            Hook::Cleanup => &self.cleanup,
            Hook::Relink => &self.relink,
        };
        scripts.of(command).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_parsed() {
        let slower: FailIf = "slower>1%".parse().unwrap();
        assert_eq!((slower.verdict, slower.beyond), (Verdict::Slower, 0.01));
        let faster: FailIf = " faster > 2% ".parse().unwrap();
        assert_eq!(faster.limit(Metric::Cpu), -0.02);
        for wrong in
            ["", "slower", "slower<1%", "same>1%", "slower>", "slower>x%", "slower>-1%", "slower>nan", "slower>1"]
        {
            assert!(wrong.parse::<FailIf>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn conditions_are_displayed_as_entered() {
        let whole = (1..=99).map(|percent| percent.to_string());
        let decimals = ["0", "0.1", "0.29", "0.57", "1.1", "2.3", "14.7", "28.9", "33.333", "150", "1000"];
        for percent in whole.chain(decimals.map(str::to_owned)) {
            let text = format!("slower>{percent}%");
            assert_eq!(text.parse::<FailIf>().unwrap().to_string(), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn conditions_parse_any_text_without_panic_and_their_own_output(text in ".*", percent in 0u32..100_000) {
            let _ = text.parse::<FailIf>();
            let written = FailIf { verdict: Verdict::Slower, beyond: f64::from(percent) / 10_000.0 };
            let read: FailIf = written.to_string().parse().unwrap();
            proptest::prop_assert!((read.beyond - written.beyond).abs() < 1e-12);
        }

        #[test]
        fn shares_are_finite_and_not_negative(text in ".*|[-+0-9.e%infa ]*") {
            if let Ok(share) = parse_percent(&text) {
                proptest::prop_assert!(share.is_finite() && share >= 0.0);
            }
        }
    }

    #[test]
    fn the_rule_decides_which_statuses_are_successes() {
        assert!(!FailureRule::Abort.accepts(1));
        assert!(FailureRule::IgnoreAll.accepts(17));
        let codes = FailureRule::IgnoreCodes(vec![1, 3]);
        assert_eq!([0, 1, 2, 3].map(|code| codes.accepts(code)), [true, true, false, true]);
    }

    #[test]
    fn percentages_are_parsed() {
        assert_eq!(parse_percent("0.5 %"), Ok(0.005));
        assert_eq!(parse_percent("150%"), Ok(1.5));
        assert_eq!(
            [parse_percent("inf"), parse_percent("inf%"), parse_percent("-1%")],
            [(); 3].map(|()| Err(NotPercent(None)))
        );
        for (text, advice) in [("0.5", "0.5% or 50%"), ("0.07", "0.07% or 7%"), ("1", "1%")] {
            assert_eq!(parse_percent(text), Err(NotPercent(Some(advice.to_owned()))));
        }
        assert_eq!("slower>0.5".parse::<FailIf>(), Err("'0.5' has no % sign: write 0.5% or 50%".to_owned()));
    }
}
