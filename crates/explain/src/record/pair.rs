//! The record of the difference of two commands: the comparison with its pairs, and the lines of the difference.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use steady_compare::json::{RecordBegin, RecordEnd, read_record_of};
use steady_costs::prices::{Priced, Prices};
use steady_model::{AluTime, Interval, Reading, Record};
use steady_render::json::{self, ReadError};

use super::{Counts, Missing, SCHEMA, figures, holds};
use crate::judged_pair;

/// Two commands whose difference is explained. Its fields are those of its JSON, which has the fields of the comparison
/// around them ([`PairExport`]). Derived fields (pairs, lines, missing, notes) are written and never read:
/// [`judged_pair`] computes them again.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExplainPairRecord {
    /// The comparison with its pairs. The runs of a pair follow each other.
    #[serde(skip)]
    pub record: Record,
    /// Number of pairs that were evaluated. Derived.
    pub pairs: usize,
    /// Confidence level of the interval of each line. Derived.
    pub confidence: f64,
    /// Wall time, CPU time and its parts, waiting, blocked. Derived.
    pub lines: Vec<Difference>,
    /// Prices and counts that could not be measured. Derived.
    pub missing: Vec<Missing>,
    /// Notes for the reader, as sentences. Derived.
    pub notes: Vec<String>,
    /// Sources of the counts, one string each.
    pub sources: Vec<String>,
    /// Counts that the runs of the pairs do not have (forks, system calls), from extra runs of each command. One
    /// element for each run.
    #[serde(serialize_with = "counted")]
    #[schemars(with = "[Counted; 2]")]
    pub counted: [Reading<Vec<Counts>>; 2],
    /// CPU clock rate between the pairs.
    #[serde(flatten, with = "steady_costs::prices::alu")]
    #[schemars(with = "steady_costs::prices::alu::Fields")]
    pub alu: Reading<AluTime>,
    /// Prices of events on this machine.
    pub prices: Prices,
}

/// The measured fields of an export that do not belong to the comparison.
#[derive(Deserialize)]
struct Measured {
    sources: Vec<String>,
    counted: [Counted; 2],
    #[serde(flatten, with = "steady_costs::prices::alu")]
    alu: Reading<AluTime>,
    prices: Prices,
}

/// Counts of the extra runs of a command.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Counted {
    runs: Reading<Vec<Counts>>,
}

/// The time that a line of a difference is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// Wall time of a run.
    Wall,
    /// CPU time, user and system.
    Cpu,
    /// The user part of the CPU time.
    User,
    /// The system part of the CPU time.
    System,
    /// The part of the CPU time that events of one kind cost.
    Part(Priced),
    /// The part of the CPU time that no counted event explains.
    Unexplained,
    /// Time in which a runnable thread waited for a CPU.
    Waiting,
    /// The rest of the wall time, in which the command was blocked.
    Blocked,
    /// Waiting or blocked, if only their sum is known.
    OffCpu,
}

/// One line of an explained difference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The time that the line is about.
    #[serde(flatten)]
    #[schemars(with = "LineFields")]
    pub line: Line,
    /// Name of the time or of the events.
    pub name: String,
    /// Nesting depth: 0 for the wall time, one more for each level of parts.
    pub depth: u32,
    /// Weighted mean of the runs of OLD and of those of NEW, in seconds. All lines have the same weights.
    #[serde(flatten, serialize_with = "figures::both")]
    #[schemars(with = "figures::Both")]
    pub seconds: [Reading<f64>; 2],
    /// NEW minus OLD, in seconds, with its 95 % interval.
    #[serde(flatten, serialize_with = "figures::difference")]
    #[schemars(with = "figures::Seconds")]
    pub difference: Reading<(f64, Interval)>,
    /// Mean number of events in a run of each command; `None` for lines that are not counted.
    #[serde(flatten, serialize_with = "figures::counts")]
    #[schemars(with = "figures::CountsOfBoth")]
    pub counts: Option<[f64; 2]>,
    /// Whether the price of the events is a lower bound; `None` for lines that are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<bool>,
    /// Events in NEW minus events in OLD, with the 95 % interval.
    #[serde(flatten, serialize_with = "figures::more")]
    #[schemars(with = "figures::More")]
    pub more: Option<(f64, Interval)>,
}

impl Line {
    /// Name of the line in JSON.
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

/// The table of events has about this many rows; the smallest kinds share one row.
const PARTS: usize = 10;
/// With more kinds than this, those that neither differ nor cost much share a row too.
const FEW: usize = 5;
/// A kind that does not differ has a row of its own if its cost is at least this share of the cost of all kinds.
const COSTLY: f64 = 0.05;
/// Lines of counted events, as a table shows them.
pub(crate) struct EventRows<'a> {
    /// Those with a row of their own.
    pub(crate) own: Vec<&'a Difference>,
    /// The smallest, which share a row.
    pub(crate) small: Vec<&'a Difference>,
}

/// Decides which counted events have a row of their own.
pub(crate) fn event_rows(lines: &[Difference]) -> EventRows<'_> {
    let all: Vec<&Difference> = lines.iter().filter(|line| matches!(line.line, Line::Part(_))).collect();
    let cost = |line: &Difference| line.seconds.iter().flatten().copied().fold(0.0, f64::max);
    let (number, costs) = (all.len(), all.iter().map(|line| cost(line)).sum::<f64>());
    let mut rows = EventRows { own: Vec::new(), small: Vec::new() };
    for (at, line) in all.into_iter().enumerate() {
        let does_not_differ = line.difference.as_ref().is_ok_and(|(difference, _)| *difference == 0.0);
        let is_small = (does_not_differ && number > FEW) || (at >= PARTS && number > PARTS + 1);
        let rows = if is_small && cost(line) < COSTLY * costs { &mut rows.small } else { &mut rows.own };
        rows.push(line);
    }
    rows
}

/// Fields of a [`Line`] in JSON.
#[derive(Serialize, JsonSchema)]
struct LineFields {
    /// The time that the line is about: `wall`, `cpu`, `user`, `system`, `part`, `unexplained`, `waiting`, `blocked` or
    /// `off_cpu`.
    line: &'static str,
    /// The event, for a line of kind `part`.
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
    /// Reads a record from JSON that was written with its samples, exactly as it was measured, and judges it again.
    ///
    /// # Errors
    /// Returns what is wrong with the text, and where. No input causes a panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let record = read_record_of(&SCHEMA, text)?;
        let measured: Measured = json::record(&SCHEMA, text)?;
        holds(record.plan.commands.len() == 2, "commands", "not two")?;
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
            alu: measured.alu,
            prices: measured.prices,
        }))
    }

    /// Converts the record to JSON. It can be read back only if it includes the raw `samples`.
    pub fn value(&self, samples: bool) -> Value {
        let (begin, end) = (RecordBegin::of(&self.record), RecordEnd::of(&self.record, samples));
        json::value(&SCHEMA, &PairExport { begin, difference: self, end })
    }
}

/// The difference of two commands in JSON, with the fields of the comparison around its own.
#[derive(Serialize, JsonSchema)]
pub struct PairExport<'a> {
    #[serde(flatten)]
    begin: RecordBegin<'a>,
    #[serde(flatten)]
    difference: &'a ExplainPairRecord,
    #[serde(flatten)]
    end: RecordEnd<'a>,
}
