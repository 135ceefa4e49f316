//! What an experiment will do: everything that the user chose, resolved.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::required;
use crate::{Layout, Nanos, Verdict};

/// One command under measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// What reports call it: the words as typed, unless it was given a name.
    pub name: String,
    /// The words that it is started with; never empty.
    pub argv: Vec<String>,
    /// The file that is executed: the first word looked up in `PATH`.
    #[serde(with = "crate::path")]
    #[schemars(with = "crate::path::Form")]
    pub program: PathBuf,
    /// The directory that it is started in, if not that of `steady`.
    #[serde(with = "crate::path::optional")]
    #[schemars(with = "Option<crate::path::Form>")]
    pub directory: Option<PathBuf>,
    /// Variables that are set for it alone, over those that it inherits.
    #[serde(with = "named")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub environment: Vec<(String, String)>,
    /// The parameters that stand in it, by name.
    #[serde(with = "named")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub parameters: Vec<(String, String)>,
    /// The revision that it was built from: a commit, with what was not committed told behind it.
    #[serde(deserialize_with = "required")]
    pub revision: Option<String>,
}

/// Values by name: an object, its fields in the order of the values. Logs of earlier versions have arrays of two instead.
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
            formatter.write_str("an object of texts")
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

/// Something given once for all commands, or once for each, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PerCommand<T>(pub Vec<T>);

impl<T> PerCommand<T> {
    /// None for any command.
    pub const NONE: PerCommand<T> = PerCommand(Vec::new());

    /// What `command` has.
    pub fn of(&self, command: usize) -> Option<&T> {
        match self.0.as_slice() {
            [one] => Some(one),
            each => each.get(command),
        }
    }

    /// Whether no command has any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether so many can be shared out over `commands` commands.
    pub fn suits(&self, commands: usize) -> bool {
        self.0.len() <= 1 || self.0.len() == commands
    }
}

/// When a shell command of the user's runs beside the measured ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// Once per command, before its first run.
    Setup,
    /// Before each run.
    Prepare,
    /// After each run.
    Conclude,
    /// Once per command, after its last run, however the experiment ended.
    Cleanup,
}

impl Hook {
    /// The option that names it, less the dashes.
    pub fn name(self) -> &'static str {
        match self {
            Hook::Setup => "setup",
            Hook::Prepare => "prepare",
            Hook::Conclude => "conclude",
            Hook::Cleanup => "cleanup",
        }
    }
}

/// Which cost a verdict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// User and system time of the whole reaped process tree.
    Cpu,
    /// Wall time less the time spent waiting for a CPU: single-threaded commands only.
    Elapsed,
    /// Wall time from start to exit.
    Wall,
    /// Peak resident memory of the largest process in the tree.
    Memory,
    /// Instructions retired by the whole process tree, as the CPU's counters tell.
    Instructions,
}

impl Metric {
    /// Every metric, in the order in which reports list them.
    pub const ALL: [Metric; 5] = [Metric::Cpu, Metric::Elapsed, Metric::Wall, Metric::Memory, Metric::Instructions];

    /// The name used in options and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Cpu => "cpu",
            Metric::Elapsed => "elapsed",
            Metric::Wall => "wall",
            Metric::Memory => "memory",
            Metric::Instructions => "instructions",
        }
    }
}

/// How much may be measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// At most this long in all, warm-up included; it stops early once the verdict is in.
    #[serde(rename = "budget_seconds", alias = "budget")]
    Budget(Nanos),
    /// At most this many pairs.
    Pairs(u64),
}

/// What happens to a run whose exit status is not zero.
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
    /// Whether a run that exited with `code` counts as a success.
    pub fn accepts(&self, code: i32) -> bool {
        match self {
            FailureRule::Abort => code == 0,
            FailureRule::IgnoreAll => true,
            FailureRule::IgnoreCodes(codes) => code == 0 || codes.contains(&code),
        }
    }
}

/// A condition under which the measuring fails: `slower>1%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailIf {
    /// [`Verdict::Slower`] or [`Verdict::Faster`].
    pub verdict: Verdict,
    /// The relative change beyond which the whole interval must lie; at least 0.
    pub beyond: f64,
}

impl FailIf {
    /// The limit as a signed relative change (NEW / OLD - 1): `faster>2%` is -0.02.
    pub fn limit(&self) -> f64 {
        if self.verdict == Verdict::Faster { -self.beyond } else { self.beyond }
    }
}

impl FromStr for FailIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || format!("'{text}' is no condition; write 'slower>1%' or 'faster>2%'");
        let (word, limit) = text.split_once('>').ok_or_else(usage)?;
        let verdict = match word.trim() {
            "slower" => Verdict::Slower,
            "faster" => Verdict::Faster,
            _ => return Err(usage()),
        };
        Ok(FailIf { verdict, beyond: parse_percent(limit.trim()).ok_or_else(usage)? })
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}>{}%", self.verdict.name(), self.beyond * 100.0)
    }
}

/// A share written as `1%`, `0.5 %` or, without the sign, `0.01`: finite and at least 0. Without the sign it must be below
/// one, for whoever writes `1` means one per cent.
pub fn parse_percent(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(number) => number.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok().filter(|share| *share < 1.0)?,
    };
    (share.is_finite() && share >= 0.0).then_some(share)
}

/// The seed of an experiment's coins, written in decimal.
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

/// As text, for a JSON number would lose the digits above 2^53 in many readers.
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

/// Where a measured command's own output goes. Its standard error goes to `/dev/null`, unless both are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// To `/dev/null`.
    #[default]
    Null,
    /// Both outputs to the standard error of `steady`.
    Stderr,
    /// Through a pipe that is read and thrown away.
    Pipe,
    /// To the standard output of `steady`, and standard error to its.
    Inherit,
    /// To a file, emptied before each run.
    File(
        #[serde(with = "crate::path")]
        #[schemars(with = "crate::path::Form")]
        PathBuf,
    ),
}

/// A comparison, resolved. In exports the commands and the seed stand next to it, and are left out here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The commands; all are judged against the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Command>,
    /// The seed of every coin.
    #[serde(default, skip_serializing_if = "Seed::is_default")]
    pub seed: Seed,
    /// How much may be measured.
    pub effort: Effort,
    /// The relative change that is as good as none.
    #[serde(rename = "resolution_ratio", alias = "resolution")]
    pub resolution: f64,
    /// One less the error rate that the verdicts may have.
    pub confidence: f64,
    /// The primary metric, or `None` to have it chosen from the warm-up.
    #[serde(deserialize_with = "required")]
    pub metric: Option<Metric>,
    /// The layout, or `None` to have both where both serve.
    #[serde(deserialize_with = "required")]
    pub layout: Option<Layout>,
    /// Blocks measured and thrown away first, or `None` for as many as the commands need.
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
    /// The file that every run reads as standard input; else `/dev/null`.
    #[serde(with = "crate::path::optional")]
    #[schemars(with = "Option<crate::path::Form>")]
    pub input: Option<PathBuf>,
    /// Where the commands' own output goes; `/dev/null` where nothing is said.
    pub output: PerCommand<Output>,
    /// What happens to runs that fail.
    pub failures: FailureRule,
    /// The longest that one run may last.
    #[serde(rename = "timeout_seconds", alias = "timeout", deserialize_with = "required")]
    pub timeout: Option<Nanos>,
    /// The CPUs that may be used, or `None` for all that the process may use.
    #[serde(deserialize_with = "required")]
    pub cpus: Option<Vec<usize>>,
    /// The condition under which the exit code says failure.
    #[serde(with = "condition")]
    #[schemars(with = "Option<condition::Fields>")]
    pub fail_if: Option<FailIf>,
    /// Whether an undecided verdict is a failure.
    pub require_verdict: bool,
    /// Whether runs start from snapshots of their programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm: bool,
}

/// A condition in a plan: its limit has a unit there.
mod condition {
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::FailIf;
    use crate::Verdict;

    /// A condition in JSON.
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
    /// A plan in which nothing else is asked for: what these commands are compared by without options.
    pub fn new(commands: Vec<Command>, effort: Effort, seed: Seed) -> Self {
        Plan {
            commands,
            seed,
            effort,
            resolution: 0.01,
            confidence: 0.95,
            metric: None,
            layout: None,
            warmup: None,
            setup: PerCommand::NONE,
            prepare: PerCommand::NONE,
            conclude: PerCommand::NONE,
            cleanup: PerCommand::NONE,
            input: None,
            output: PerCommand::NONE,
            failures: FailureRule::Abort,
            timeout: None,
            cpus: None,
            fail_if: None,
            require_verdict: false,
            warm: false,
        }
    }

    /// The error rate that the verdicts may have.
    pub fn alpha(&self) -> f64 {
        1.0 - self.confidence
    }

    /// The longest that one run may last: the limit asked for, or the whole budget. A run that outlasts the budget leaves
    /// no room for a verdict, and may never end.
    pub fn run_limit(&self) -> Option<Nanos> {
        let budget = match self.effort {
            Effort::Budget(budget) => Some(budget),
            Effort::Pairs(_) => None,
        };
        self.timeout.into_iter().chain(budget).min()
    }

    /// The shell command that `hook` has for `command`, if any.
    pub fn script(&self, hook: Hook, command: usize) -> Option<&str> {
        let scripts = match hook {
            Hook::Setup => &self.setup,
            Hook::Prepare => &self.prepare,
            Hook::Conclude => &self.conclude,
            Hook::Cleanup => &self.cleanup,
        };
        scripts.of(command).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_written() {
        let slower: FailIf = "slower>1%".parse().unwrap();
        assert_eq!((slower.verdict, slower.beyond), (Verdict::Slower, 0.01));
        let faster: FailIf = " faster > 0.02 ".parse().unwrap();
        assert_eq!(faster.limit(), -0.02);
        for wrong in
            ["", "slower", "slower<1%", "same>1%", "slower>", "slower>x%", "slower>-1%", "slower>nan", "slower>1"]
        {
            assert!(wrong.parse::<FailIf>().is_err(), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn conditions_read_any_text_without_panic_and_their_own_back(text in ".*", percent in 0u32..100_000) {
            let _ = text.parse::<FailIf>();
            let written = FailIf { verdict: Verdict::Slower, beyond: f64::from(percent) / 10_000.0 };
            let read: FailIf = written.to_string().parse().unwrap();
            proptest::prop_assert!((read.beyond - written.beyond).abs() < 1e-12);
        }

        #[test]
        fn shares_are_finite_and_not_negative(text in ".*|[-+0-9.e%infa ]*") {
            if let Some(share) = parse_percent(&text) {
                proptest::prop_assert!(share.is_finite() && share >= 0.0);
            }
        }
    }

    #[test]
    fn success_is_what_the_rule_says() {
        assert!(!FailureRule::Abort.accepts(1));
        assert!(FailureRule::IgnoreAll.accepts(17));
        let codes = FailureRule::IgnoreCodes(vec![1, 3]);
        assert_eq!([0, 1, 2, 3].map(|code| codes.accepts(code)), [true, true, false, true]);
    }

    #[test]
    fn one_preparation_serves_all_commands() {
        assert_eq!(parse_percent("0.5 %"), Some(0.005));
        assert_eq!(parse_percent("inf"), None);
    }
}
