//! The difference of two commands: the fields of the comparison that their pairs are, and the lines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use steady_compare::json::{RecordBegin, RecordEnd, read_record_of};
use steady_costs::prices::{Priced, Prices};
use steady_model::{AluTime, Interval, Nanos, Reading, Record};
use steady_render::json::{self, ReadError};

use super::{Counts, Missing, SCHEMA, figures, holds};
use crate::judged_pair;

/// Two commands whose difference is explained. Its fields are those of its JSON, which has those of the comparison around them ([`PairExport`]).
/// What is derived (pairs, lines, what is missing, notes) is written and never read: [`judged_pair`] derives it again.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExplainPairRecord {
    /// The pairs: both commands in turns.
    #[serde(skip)]
    pub record: Record,
    /// How many pairs the lines rest on. Derived.
    pub pairs: usize,
    /// The level of the interval of each line. Derived.
    pub confidence: f64,
    /// Wall time, CPU time and what is beneath it, waiting, blocked. Derived.
    pub lines: Vec<Difference>,
    /// What could not be priced or counted. Derived.
    pub missing: Vec<Missing>,
    /// What a reader must know, as sentences. Derived.
    pub notes: Vec<String>,
    /// Where counts came from, in words.
    pub sources: Vec<String>,
    /// What runs of each were counted to do that the pairs do not show (forks, system calls): one element for each run, which was
    /// made for it alone.
    #[serde(serialize_with = "counted")]
    #[schemars(with = "[Counted; 2]")]
    pub counted: [Reading<Vec<Counts>>; 2],
    /// The length of the ticks by which user and system time are sampled; absent if both are exact.
    pub tick_seconds: Reading<Nanos>,
    /// How fast the CPU's clock ran between the pairs.
    #[serde(flatten, with = "steady_costs::prices::alu")]
    #[schemars(with = "steady_costs::prices::alu::Fields")]
    pub alu: Reading<AluTime>,
    /// What events cost here.
    pub prices: Prices,
}

/// What of an export makes up the record, besides what is a comparison's.
#[derive(Deserialize)]
struct Measured {
    sources: Vec<String>,
    counted: [Counted; 2],
    tick_seconds: Reading<Nanos>,
    #[serde(flatten, with = "steady_costs::prices::alu")]
    alu: Reading<AluTime>,
    prices: Prices,
}

/// What the runs of a command were counted to do.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Counted {
    runs: Reading<Vec<Counts>>,
}

/// Which time a line of a difference is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// From a run's start to its end.
    Wall,
    /// User and system time.
    Cpu,
    /// Of it, user time.
    User,
    /// Of it, system time.
    System,
    /// Of it, what so many events cost.
    Part(Priced),
    /// Of it, what no part explains.
    Unexplained,
    /// Waiting for a CPU.
    Waiting,
    /// The rest of the wall time.
    Blocked,
    /// Waiting or blocked, if the two cannot be told apart.
    OffCpu,
}

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Which time it is.
    #[serde(flatten)]
    #[schemars(with = "LineFields")]
    pub line: Line,
    /// What it is, in words.
    pub name: String,
    /// How deep it stands beneath what it is a part of; 0 for the wall time.
    pub depth: u32,
    /// What a run of OLD and one of NEW took, in seconds: weighted means, with the same weights in all lines.
    #[serde(flatten, serialize_with = "figures::both")]
    #[schemars(with = "figures::Both")]
    pub seconds: Reading<[f64; 2]>,
    /// NEW less OLD, in seconds, with its 95 % interval.
    #[serde(flatten, serialize_with = "figures::difference")]
    #[schemars(with = "figures::Seconds")]
    pub difference: Reading<(f64, Interval)>,
    /// How many events there were in a run of each, for what is counted.
    #[serde(flatten, serialize_with = "figures::counts")]
    #[schemars(with = "figures::CountsOfBoth")]
    pub counts: Option<[f64; 2]>,
    /// Whether each is priced at only the least that it costs; none for what is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<bool>,
    /// How many more there were in NEW, with the 95 % interval.
    #[serde(flatten, serialize_with = "figures::more")]
    #[schemars(with = "figures::More")]
    pub more: Option<(f64, Interval)>,
}

impl Line {
    /// Its name in JSON.
    fn name(self) -> &'static str {
        match self {
            Line::Wall => "wall",
            Line::Cpu => "cpu",
            Line::User => "user",
            Line::System => "system",
            Line::Part(_) => "part",
            Line::Unexplained => "unexplained",
            Line::Waiting => "waiting",
            Line::Blocked => "blocked",
            Line::OffCpu => "off_cpu",
        }
    }
}

/// A [`Line`] in JSON.
#[derive(Serialize, JsonSchema)]
struct LineFields {
    /// Which time it is: `wall`, `cpu`, `user`, `system`, `part`, `unexplained`, `waiting`, `blocked` or `off_cpu`.
    line: &'static str,
    /// The event of a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    event: Option<Priced>,
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let event = if let Line::Part(priced) = self { Some(*priced) } else { None };
        LineFields { line: self.name(), event }.serialize(serializer)
    }
}

fn counted<S: Serializer>(counted: &[Reading<Vec<Counts>>; 2], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(counted.iter().map(|runs| Counted { runs: runs.clone() }))
}

impl ExplainPairRecord {
    /// The record in a JSON text that was written with its samples, exactly as it was measured, and judged again.
    ///
    /// # Errors
    /// What is wrong with it, and where; no input makes it panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let record = read_record_of(&SCHEMA, text)?;
        let measured: Measured = json::record(&SCHEMA, text)?;
        holds(record.plan.commands.len() == 2, "commands", "not two")?;
        holds(measured.tick_seconds != Ok(Nanos::ZERO), "tick_seconds", "zero")?;
        measured.counted.iter().flat_map(|counted| &counted.runs).flatten().try_for_each(Counts::check)?;
        Ok(judged_pair(ExplainPairRecord {
            record,
            pairs: 0,
            confidence: 0.0,
            lines: Vec::new(),
            missing: Vec::new(),
            notes: Vec::new(),
            sources: measured.sources,
            counted: measured.counted.map(|counted| counted.runs),
            tick_seconds: measured.tick_seconds,
            alu: measured.alu,
            prices: measured.prices,
        }))
    }

    /// The JSON, with the raw samples if `samples`: only then can it be read back.
    pub fn value(&self, samples: bool) -> Value {
        let (begin, end) = (RecordBegin::from(&self.record), RecordEnd::of(&self.record, samples));
        json::value(&SCHEMA, &PairExport { begin, difference: self, end })
    }
}

/// The difference of two commands in JSON: around its own fields, those of the comparison that their pairs are.
#[derive(Serialize, JsonSchema)]
pub struct PairExport<'a> {
    #[serde(flatten)]
    begin: RecordBegin<'a>,
    #[serde(flatten)]
    difference: &'a ExplainPairRecord,
    #[serde(flatten)]
    end: RecordEnd<'a>,
}
