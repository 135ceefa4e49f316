//! What is reported of a host: how it is, what was set and what was put back.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema as JsonSchemaValue, SchemaGenerator, json_schema};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use steady_model::{ConditionState, Host, Knob, KnobState, Nanos, Outcome, Reading, Resource, Timestamp};
use steady_render::json::Schema;

/// The schema of [`HostRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.host/1", what: "a host" };

/// A host, and what was done to it. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostRecord {
    /// What was asked for.
    pub kind: HostQuestion,
    /// When it was asked for.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The machine.
    pub host: Host,
    /// Whether this user is root.
    pub is_root: bool,
    /// Whether everything that was asked for was done; set by [`HostRecord::completed`].
    pub complete: bool,
    /// The knobs: as they are, or as they were before something was done.
    pub knobs: Vec<KnobRecord>,
    /// What else matters; of a status only.
    pub conditions: Vec<ConditionState>,
    /// How far apart rulers read over a second.
    pub spreads: Reading<Vec<RulerSpread>>,
    /// What was set.
    pub set: Vec<Deed>,
    /// Knobs that were wanted and left as they are.
    pub left: Vec<LeftKnob>,
    /// What was put back.
    pub restored: Vec<Deed>,
    /// The command that ran while the host was quiet.
    pub run: Option<QuietRun>,
    /// What the journal holds now; nothing where there is none.
    pub journal: Reading<Option<JournalFacts>>,
    /// What else there is to know: a journal that is void, a command that was killed.
    pub notes: Vec<String>,
    /// The command line that would do as root what this user may not do. In text, Markdown and HTML only.
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

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostQuestion {
    /// A report of how quiet the host is.
    Status,
    /// To make it quiet.
    Quiet,
    /// To put it back.
    Restore,
}

/// A knob as it was found, and what setting it is worth. A knob may stand for many files, such as one for each CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnobRecord {
    /// Which.
    pub name: Knob,
    /// Its value, in short; of several files that differ, all that there are.
    pub value: Reading<String>,
    /// The value that steadies.
    pub quiet_value: Reading<String>,
    /// Whether it has that value.
    pub is_quiet: bool,
    /// Whether it can be set here.
    pub settable: bool,
    /// Why it cannot be set here.
    pub reason: Option<String>,
    /// What setting it is worth, in one line.
    pub worth: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// How many files it stands for.
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
            reason: state.settable.err().map(|absent| absent.0),
            worth,
            source,
            files: state.files.len(),
        }
    }
}

/// How far the readings of one ruler lay apart.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RulerSpread {
    /// The ruler.
    pub ruler: Resource,
    /// How many readings there were.
    pub readings: usize,
    /// Their interquartile range over their median.
    pub spread_ratio: f64,
    /// Their range over their median.
    pub range_ratio: f64,
}

/// What was done about one file of a knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deed {
    /// The knob.
    pub name: Knob,
    /// The file.
    pub file: String,
    /// What was in it before.
    pub from: String,
    /// What it was to become.
    pub to: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: DeedOutcome,
}

/// What was done about one file. In JSON two fields: `outcome`, and `reason`, which may be null.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "outcome", content = "reason", rename_all = "snake_case")]
pub enum DeedOutcome {
    /// It was set.
    Set,
    /// It had that value already.
    Same,
    /// It could not be set or put back: why.
    Refused(String),
    /// What was there before is there again.
    Restored,
    /// It had been put back already.
    WasBack,
    /// Somebody else has changed it, so it was left: what it is now.
    Foreign(String),
    /// Somebody else had changed it, and it was put back all the same: what it was.
    Forced(String),
    /// It is not there any more: why.
    Gone(String),
}

impl DeedOutcome {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            DeedOutcome::Set => "set",
            DeedOutcome::Same => "same",
            DeedOutcome::Refused(_) => "refused",
            DeedOutcome::Restored => "restored",
            DeedOutcome::WasBack => "was_back",
            DeedOutcome::Foreign(_) => "foreign",
            DeedOutcome::Forced(_) => "forced",
            DeedOutcome::Gone(_) => "gone",
        }
    }

    /// What there is to say of it.
    pub fn reason(&self) -> Option<&str> {
        match self {
            DeedOutcome::Refused(text)
            | DeedOutcome::Foreign(text)
            | DeedOutcome::Forced(text)
            | DeedOutcome::Gone(text) => Some(text),
            DeedOutcome::Set | DeedOutcome::Same | DeedOutcome::Restored | DeedOutcome::WasBack => None,
        }
    }

    /// Whether the file does not have the value that it was meant to get.
    pub(crate) fn failed(&self) -> bool {
        matches!(self, DeedOutcome::Refused(_) | DeedOutcome::Foreign(_) | DeedOutcome::Gone(_))
    }
}

impl JsonSchema for DeedOutcome {
    fn schema_name() -> Cow<'static, str> {
        "DeedOutcome".into()
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

impl Serialize for DeedOutcome {
    /// Writes null where there is no reason; a derived implementation would leave the field out.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("DeedOutcome", 2)?;
        fields.serialize_field("outcome", self.name())?;
        fields.serialize_field("reason", &self.reason())?;
        fields.end()
    }
}

/// Whether all files were set or put back, interrupts that refuse aside.
pub(crate) fn are_done(deeds: &[Deed]) -> bool {
    // Most machines have interrupts that cannot be moved.
    let matters = |deed: &&Deed| deed.name != Knob::IrqAffinity || !matches!(deed.outcome, DeedOutcome::Refused(_));
    !deeds.iter().filter(matters).any(|deed| deed.outcome.failed())
}

/// A knob that was wanted and left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftKnob {
    /// Which.
    pub name: Knob,
    /// Why.
    pub reason: String,
}

/// A command that ran on a quiet host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuietRun {
    /// The command as typed.
    pub command: String,
    /// How it ended.
    pub ended: Outcome,
    /// From its start to its end.
    pub wall_seconds: Nanos,
    /// Whether its addresses were not drawn; absent where that was asked for and refused.
    pub fixed_addresses: Reading<bool>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
}

/// A summary of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JournalFacts {
    /// Its file.
    pub file: String,
    /// When this host was first made quiet.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// The knobs whose originals it holds.
    pub knobs: Vec<Knob>,
    /// How many commands run on it now.
    pub running: usize,
    /// Whether it is to stay quiet until somebody restores it.
    pub stays: bool,
}

/// What setting a knob is worth, in one line, and who says so.
fn worth(knob: Knob) -> (&'static str, &'static str) {
    match knob {
        Knob::Turbo => (
            "the clock does not rise above its nominal rate while the CPU is cool and few cores are busy",
            "LLVM, Benchmarking tips; pyperf, Tune the system",
        ),
        Knob::Governor => (
            "the clock does not follow the load of the moments before",
            "Linux, admin-guide/pm/cpufreq; LLVM, Benchmarking tips",
        ),
        Knob::Epp => {
            ("a CPU that chooses its own clock does not save energy with it", "Linux, admin-guide/pm/intel_pstate")
        }
        Knob::MinFrequency => ("the clock does not fall while a run waits", "pyperf, Tune the system"),
        Knob::Smt => ("nobody shares a core with a run", "LLVM, Benchmarking tips"),
        Knob::Aslr => (
            "every run has the same addresses, whose luck is then in every run: left unless it is named",
            "Mytkowicz and others, ASPLOS 2009; LLVM, Benchmarking tips",
        ),
        Knob::NmiWatchdog => {
            ("no interrupt looks for CPUs that hang, and its counter is free", "Linux, admin-guide/lockup-watchdogs")
        }
        Knob::PerfSampleRate => ("samplers interrupt no more than once a second", "pyperf, Tune the system"),
        Knob::IrqAffinity => (
            "devices interrupt other CPUs than the two that duets run on",
            "Linux, core-api/irq/irq-affinity; pyperf, Tune the system",
        ),
        Knob::Thp => ("no huge pages are made in the midst of a run", "Linux, admin-guide/mm/transhuge"),
        Knob::Swap => ("a run's memory is put on disk last of all", "Linux, admin-guide/sysctl/vm"),
        Knob::Caches => ("what is measured begins with no file in memory", "Linux, admin-guide/sysctl/vm"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeds_pass_between_processes() {
        let why = || "why".to_owned();
        let outcomes = [
            DeedOutcome::Set,
            DeedOutcome::Same,
            DeedOutcome::Refused(why()),
            DeedOutcome::Restored,
            DeedOutcome::WasBack,
            DeedOutcome::Foreign(why()),
            DeedOutcome::Forced(why()),
            DeedOutcome::Gone(why()),
        ];
        for outcome in outcomes {
            let deed = Deed { name: Knob::Swap, file: "f".into(), from: "60\n".into(), to: "1".into(), outcome };
            let text = serde_json::to_string(&deed).unwrap();
            assert!(text.contains(&format!("\"outcome\":\"{}\",\"reason\":", deed.outcome.name())), "{text}");
            assert_eq!(serde_json::from_str::<Deed>(&text).unwrap(), deed);
        }
    }
}
