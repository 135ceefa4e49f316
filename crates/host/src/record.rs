//! The record of a host: its state, what was set and what was restored.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema as JsonSchemaValue, SchemaGenerator, json_schema};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use steady_model::{
    ConditionState, Host, Interval, Knob, KnobState, Metric, Nanos, Outcome, Reading, Resource, Seed, Timestamp,
    Verdict,
};
use steady_render::json::Schema;

/// The schema of [`HostRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.host/1", what: "a host" };

/// The state of a host, and what was done to it. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostRecord {
    /// The subcommand that was run.
    pub kind: HostQuestion,
    /// Time of day at which it started.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The host that it ran on.
    pub host: Host,
    /// Whether `steady` ran as root.
    pub is_root: bool,
    /// Whether everything that was requested was done; set by [`HostRecord::completed`].
    pub complete: bool,
    /// The knobs, as they were before any change.
    pub knobs: Vec<KnobRecord>,
    /// Other conditions that affect measurements; for a status only.
    pub conditions: Vec<ConditionState>,
    /// Share of the CPU time that other processes used, over half a second before rulers were read.
    pub busy_ratio: Reading<f64>,
    /// Spread of the readings of each ruler over one second.
    pub spreads: Reading<Vec<RulerSpread>>,
    /// Effects of the knobs on the noise of a short command.
    pub effects: Reading<NoiseEffects>,
    /// The files that were set, or should have been.
    pub set: Vec<Attempt>,
    /// Knobs that were requested but not set.
    pub left: Vec<LeftKnob>,
    /// The files that were restored, or should have been.
    pub restored: Vec<Attempt>,
    /// The command that ran while the host was quiet.
    pub run: Option<QuietRun>,
    /// Summary of the journal, now; `None` if there is no journal.
    pub journal: Reading<Option<JournalFacts>>,
    /// Further notes, for example about a void journal or a command that was killed.
    pub notes: Vec<String>,
    /// Whether the effects of knobs were requested.
    #[serde(skip)]
    pub wants_effects: bool,
    /// The command line with which root could do what this user may not. In text, Markdown and HTML only.
    #[serde(skip)]
    pub as_root: String,
}

impl HostRecord {
    /// Returns the record with [`HostRecord::complete`] computed from the other fields.
    #[must_use]
    pub fn completed(self) -> Self {
        let complete = self.left.is_empty() && are_done(&self.set) && are_done(&self.restored);
        HostRecord { complete, ..self }
    }
}

/// A subcommand of `steady host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostQuestion {
    /// Report how quiet the host is.
    Status,
    /// Make the host quiet.
    Quiet,
    /// Restore the original values.
    Restore,
}

/// The state of a knob, and what setting it is worth. A knob can have many files, for example one for each CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnobRecord {
    /// Name of the knob.
    pub name: Knob,
    /// Its value, shortened. If its files differ, all different values.
    pub value: Reading<String>,
    /// The value with the least noise.
    pub quiet_value: Reading<String>,
    /// Whether it has this value.
    pub is_quiet: bool,
    /// Whether it can be set on this host by this user.
    pub settable: bool,
    /// Why it cannot be set.
    pub reason: Option<String>,
    /// Whether root could set it, although this user may not.
    pub needs_root: bool,
    /// The effect of setting it, in one line.
    pub worth: &'static str,
    /// The publication that describes this effect.
    pub source: &'static str,
    /// Number of its files.
    pub files: usize,
}

impl From<KnobState> for KnobRecord {
    fn from(state: KnobState) -> Self {
        let (worth, source) = worth(state.knob);
        KnobRecord {
            name: state.knob,
            value: state.value,
            quiet_value: state.quiet_value,
            is_quiet: state.is_quiet,
            settable: state.settable.is_ok(),
            needs_root: state.needs_root,
            reason: state.settable.err().map(|absent| absent.0),
            worth,
            source,
            files: state.files.len(),
        }
    }
}

/// Spread of the readings of one ruler.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RulerSpread {
    /// The resource that the ruler measures.
    pub ruler: Resource,
    /// Number of the readings.
    pub readings: usize,
    /// Interquartile range of the readings, divided by their median.
    pub spread_ratio: f64,
    /// Range of the readings, divided by their median.
    pub range_ratio: f64,
}

/// Effects of knobs on the noise of a short command: how much successive equal runs differ.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NoiseEffects {
    /// Seed of the random order.
    #[schemars(with = "String")]
    pub seed: Seed,
    /// The command.
    pub command: String,
    /// Number of rounds. Each has a block of runs with every knob, and one without it.
    pub rounds: u32,
    /// Number of runs in a block.
    pub runs: u32,
    /// The effects: of each knob that could be set, on CPU time and on wall time.
    pub knobs: Vec<KnobEffect>,
}

/// Effect of a knob on the noise of a short command. The noise of a block is the median of the relative differences
/// between successive runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KnobEffect {
    /// Name of the knob.
    pub name: Knob,
    /// The time: `cpu` or `wall`.
    pub metric: Metric,
    /// Whether the noise is less (`faster`) or more (`slower`) if the knob is set.
    pub verdict: Verdict,
    /// Median noise as the host is.
    pub usual_noise_ratio: Reading<f64>,
    /// Median noise if the knob is set.
    pub quiet_noise_ratio: Reading<f64>,
    /// Relative change of the noise: -0.5 is half as much.
    pub change: Reading<f64>,
    /// Lower end of the interval of the change, at 95 %.
    pub low: Reading<f64>,
    /// Upper end of the interval of the change.
    pub high: Reading<f64>,
}

impl KnobEffect {
    /// Returns the interval of the change.
    ///
    /// # Errors
    /// The reason if there is none.
    pub fn interval(&self) -> Reading<Interval> {
        Ok(Interval { low: self.low.clone()?, high: self.high.clone()? })
    }
}

/// An attempt to set or restore one file of a knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// Name of the knob.
    pub name: Knob,
    /// Path of the file, from the root directory.
    pub file: String,
    /// Content of the file before.
    pub from: String,
    /// Content that it should get.
    pub to: String,
    /// Result of the attempt.
    #[serde(flatten)]
    pub outcome: AttemptOutcome,
}

/// Result of an attempt to set or restore a file. In JSON, these are two fields: `outcome`, and `reason`, which may be
/// null.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "outcome", content = "reason", rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The file was set.
    Set,
    /// The file had that value already.
    Same,
    /// The file could not be set or restored, with the reason.
    Refused(String),
    /// The original value was restored.
    Restored,
    /// The file had its original value already.
    WasBack,
    /// Another program had changed the file, so it was left; with its value.
    Foreign(String),
    /// Another program had changed the file, and `--force` restored it; with the value of that program.
    Forced(String),
    /// The file no longer exists or has no value, with the reason.
    Gone(String),
}

impl AttemptOutcome {
    /// Returns its name in JSON and CSV.
    pub fn name(&self) -> &'static str {
        match self {
            AttemptOutcome::Set => "set",
            AttemptOutcome::Same => "same",
            AttemptOutcome::Refused(_) => "refused",
            AttemptOutcome::Restored => "restored",
            AttemptOutcome::WasBack => "was_back",
            AttemptOutcome::Foreign(_) => "foreign",
            AttemptOutcome::Forced(_) => "forced",
            AttemptOutcome::Gone(_) => "gone",
        }
    }

    /// Returns the reason or the value that comes with it.
    pub fn reason(&self) -> Option<&str> {
        match self {
            AttemptOutcome::Refused(text)
            | AttemptOutcome::Foreign(text)
            | AttemptOutcome::Forced(text)
            | AttemptOutcome::Gone(text) => Some(text),
            AttemptOutcome::Set | AttemptOutcome::Same | AttemptOutcome::Restored | AttemptOutcome::WasBack => None,
        }
    }

    /// Returns whether the file does not have the value that it should have.
    pub(crate) fn failed(&self) -> bool {
        matches!(self, AttemptOutcome::Refused(_) | AttemptOutcome::Foreign(_) | AttemptOutcome::Gone(_))
    }
}

impl JsonSchema for AttemptOutcome {
    fn schema_name() -> Cow<'static, str> {
        "AttemptOutcome".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> JsonSchemaValue {
        let names = ["set", "same", "refused", "restored", "was_back", "foreign", "forced", "gone"];
        json_schema!({
            "type": "object",
            "properties": { "outcome": { "enum": names }, "reason": { "type": ["string", "null"] } },
            "required": ["outcome", "reason"],
        })
    }
}

impl Serialize for AttemptOutcome {
    /// Writes null if there is no reason; a derived implementation would omit the field.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("AttemptOutcome", 2)?;
        fields.serialize_field("outcome", self.name())?;
        fields.serialize_field("reason", &self.reason())?;
        fields.end()
    }
}

impl Attempt {
    /// Returns whether the file does not have the value that it should have. Interrupts that the kernel refuses to move
    /// do not count, because most machines have some.
    pub(crate) fn failed(&self) -> bool {
        let is_fixed = self.name == Knob::IrqAffinity && matches!(self.outcome, AttemptOutcome::Refused(_));
        self.outcome.failed() && !is_fixed
    }
}

/// Returns whether all files were set or restored.
pub(crate) fn are_done(attempts: &[Attempt]) -> bool {
    !attempts.iter().any(Attempt::failed)
}

/// A knob that was requested but not set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftKnob {
    /// Name of the knob.
    pub name: Knob,
    /// Why it was not set.
    pub reason: String,
}

/// A command that ran on a quiet host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuietRun {
    /// The command as typed.
    pub command: String,
    /// How the command ended: exit status or signal.
    pub ended: Outcome,
    /// Wall time from its start to its end.
    pub wall_seconds: Nanos,
    /// Whether address space layout randomisation was off for the command. Absent if that was requested and failed.
    pub fixed_addresses: Reading<bool>,
    /// Number of processes that the command left behind, and that were killed.
    pub left_behind: u32,
}

/// A summary of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JournalFacts {
    /// Path of the journal.
    pub file: String,
    /// Time of day at which this host was first made quiet.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// The knobs whose original values it contains.
    pub knobs: Vec<Knob>,
    /// Number of running commands for which the host is quiet.
    pub running: usize,
    /// Whether the host stays quiet until `steady host restore`.
    pub stays: bool,
}

/// Returns the effect of setting a knob, in one line, and the publication that describes it.
fn worth(knob: Knob) -> (&'static str, &'static str) {
    match knob {
        Knob::Turbo => (
            "the clock rate does not exceed the nominal one when the CPU is cool and few cores are busy",
            "LLVM, Benchmarking tips; pyperf, Tune the system",
        ),
        Knob::Governor => (
            "the clock rate does not depend on the recent load",
            "Linux, admin-guide/pm/cpufreq; LLVM, Benchmarking tips",
        ),
        Knob::Epp => (
            "a CPU that chooses its own clock rate does not lower it to save energy",
            "Linux, admin-guide/pm/intel_pstate",
        ),
        Knob::MinFrequency => ("the clock rate does not fall while a run waits", "pyperf, Tune the system"),
        Knob::Smt => ("no other thread shares the core of a run", "LLVM, Benchmarking tips"),
        Knob::Aslr => (
            "all runs have the same addresses, so a lucky layout affects all of them: set only if named",
            "Mytkowicz and others, ASPLOS 2009; LLVM, Benchmarking tips",
        ),
        Knob::NmiWatchdog => (
            "no interrupts check for hung CPUs, and a hardware counter becomes free",
            "Linux, admin-guide/lockup-watchdogs",
        ),
        Knob::PerfSampleRate => ("sampling profilers interrupt at most once a second", "pyperf, Tune the system"),
        Knob::IrqAffinity => (
            "devices do not interrupt the two CPUs that comparisons run on",
            "Linux, core-api/irq/irq-affinity; pyperf, Tune the system",
        ),
        Knob::Thp => ("the kernel assembles no huge pages during a run", "Linux, admin-guide/mm/transhuge"),
        Knob::Swap => ("the kernel swaps the memory of a run only as a last resort", "Linux, admin-guide/sysctl/vm"),
        Knob::Caches => ("runs start with no files in the page cache", "Linux, admin-guide/sysctl/vm"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_read_back_from_json_unchanged() {
        let why = || "why".to_owned();
        let outcomes = [
            AttemptOutcome::Set,
            AttemptOutcome::Same,
            AttemptOutcome::Refused(why()),
            AttemptOutcome::Restored,
            AttemptOutcome::WasBack,
            AttemptOutcome::Foreign(why()),
            AttemptOutcome::Forced(why()),
            AttemptOutcome::Gone(why()),
        ];
        for outcome in outcomes {
            let attempt = Attempt { name: Knob::Swap, file: "f".into(), from: "60\n".into(), to: "1".into(), outcome };
            let text = serde_json::to_string(&attempt).unwrap();
            assert!(text.contains(&format!("\"outcome\":\"{}\",\"reason\":", attempt.outcome.name())), "{text}");
            assert_eq!(serde_json::from_str::<Attempt>(&text).unwrap(), attempt);
        }
    }
}
