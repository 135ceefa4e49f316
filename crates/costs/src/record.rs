//! What was measured of primitives, and what they cost: the record and its JSON.

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use steady_model::{Absent, Ending, Host, Interval, Machine, Nanos, Probe, Reading, Seed, Timed, Timestamp};
use steady_render::json::{self, Group, ReadError, Schema};

use crate::clocks::ClockWords;

/// The schema of [`CostsRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.costs/1", what: "what primitives cost" };

/// The field of a probe that is written only where raw samples are wanted.
pub(crate) const SAMPLES: &str = "samples";
/// No run lasts longer: 97 days. Sums of such times do not overflow.
const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);
/// Nothing happens more often: a double, and so any reader of JSON, counts it exactly.
const MOST: u64 = 1 << 53;

/// Everything that `steady costs` measured, and what follows from it. Its fields are those of its JSON. What is derived (costs,
/// their reasons, what is known of clocks) is written and never read: judging derives it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostsRecord {
    /// The seed of the order.
    pub seed: Seed,
    /// When it was begun: a label.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// From the start to the end.
    pub elapsed_seconds: Nanos,
    /// Where.
    pub host: Host,
    /// Its CPUs.
    pub machine: Machine,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// The CPUs that everything was kept to.
    pub affinity: Affinity,
    /// What was measured; in a sweep a probe has several elements, by length of the loop.
    pub probes: Vec<ProbeCost>,
    /// The four clocks.
    pub clocks: Vec<ClockFacts>,
    /// Why it ended.
    pub ending: Ending,
    /// What was to be done.
    pub plan: CostsPlan,
}

/// What is to be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostsPlan {
    /// The probes, without doubles.
    pub probes: Vec<Probe>,
    /// How often each is repeated.
    pub repetitions: u32,
    /// The time that all of it may take. If it is short, there are fewer repetitions.
    pub budget_seconds: Nanos,
    /// Whether the loops have every length from 10 to 10^7, instead of one that fits.
    pub sweep: bool,
}

/// The CPUs that probes are kept to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Affinity {
    /// The CPU that everything is measured on.
    pub cpu: usize,
    /// Another one, for probes that need two.
    pub other_cpu: Reading<usize>,
}

/// A probe at one length of its loop: what was measured, and what its event costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeCost {
    /// The probe.
    #[serde(rename = "name")]
    pub probe: Probe,
    /// What the cost is the cost of.
    #[serde(skip_deserializing)]
    pub unit: &'static str,
    /// Rounds of its loop.
    pub loops: Reading<u64>,
    /// What its event costs.
    #[serde(flatten, skip_deserializing, default = "not_judged", serialize_with = "cost_or_reason")]
    #[schemars(with = "Group<Cost>")]
    pub cost: Reading<Cost>,
    /// In a sweep, why it differs from the longest loop.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub against_longest: Option<LengthReason>,
    /// The time that the cost is made of: `cpu` or `wall`.
    #[serde(skip_deserializing)]
    pub clock: &'static str,
    /// How often its event should happen in a round, by construction.
    pub events_per_loop: Reading<f64>,
    /// What the empty loop still does, in words; of most probes nothing.
    pub subtracted: Reading<String>,
    /// How many system calls a round makes, as a tracer counted them outside the timed loops.
    pub calls_per_loop: Reading<f64>,
    /// How many it should make.
    pub expected_calls_per_loop: Reading<f64>,
    /// CPU time of a unit of arithmetic next to it (a ruler): how fast the CPU's clock was.
    pub alu_seconds: Reading<f64>,
    /// The repetitions, in the order of time. Written only if samples are wanted.
    #[schemars(skip_serializing_if = "Result::is_err")]
    pub samples: Reading<Vec<Repetition>>,
}

/// The probe and what is subtracted from it, in an order drawn by coin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// When it was begun, on the experiment's clock.
    pub started_seconds: Nanos,
    /// Whether the empty loop came first.
    pub empty_first: bool,
    /// The loop with the event in it.
    pub probe: Timed,
    /// As many rounds of the same loop without it.
    pub empty: Timed,
}

/// A clock of the kernel, as an instrument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockFacts {
    /// Its name in clock_gettime(2).
    pub name: String,
    /// The probe that reads it.
    pub probe: Probe,
    /// Its step as the kernel states it.
    pub stated_resolution_seconds: Nanos,
    /// The smallest difference that two readings in a row have shown.
    pub smallest_step_seconds: Reading<Nanos>,
    /// What is known of it.
    #[serde(flatten, skip_deserializing)]
    pub words: Option<ClockWords>,
}

/// What an event costs, net of the empty loop, in seconds per event.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// The probe.
    #[serde(skip)]
    pub probe: Probe,
    /// Rounds of its loop.
    #[serde(skip)]
    pub loops: u64,
    /// The median over the repetitions; below zero if the empty loop took longer.
    pub median_seconds: f64,
    /// The lower end of its 95 % interval.
    pub low_seconds: f64,
    /// The upper end.
    pub high_seconds: f64,
    /// Interquartile range of the repetitions.
    pub spread_seconds: f64,
    /// Less than this cannot be told from nothing.
    pub resolution_seconds: f64,
    /// Whether the median is closer to nothing than that.
    pub below_resolution: bool,
    /// Two if the repetitions fall into two groups; else empty.
    pub modes: Vec<Mode>,
    /// How many repetitions it rests on.
    pub repetitions: usize,
    /// How many were set apart, because others had the CPU during them.
    pub set_apart: usize,
    /// Whether all were disturbed, so that none could be set apart: it rests on disturbed ones.
    pub all_disturbed: bool,
    /// How many events should have happened in all of them.
    pub expected_events: f64,
    /// How many were counted.
    pub counted_events: u64,
    /// The distribution of the repetitions that it rests on.
    pub histogram: Histogram,
    /// What a reader must know (counts that differ by more than 1 %, few repetitions), as sentences.
    pub notes: Vec<String>,
}

/// A histogram: `counts[i]` repetitions lie from `low_seconds + i * width_seconds` to the next edge.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Histogram {
    /// The lowest edge.
    pub low_seconds: f64,
    /// The width of a bin.
    pub width_seconds: f64,
    /// How many repetitions lie in each.
    pub counts: Vec<u32>,
    /// How many lie below all bins.
    pub below: u32,
    /// How many lie above them.
    pub above: u32,
}

/// One of the groups that repetitions fall into.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mode {
    /// Its median.
    pub median_seconds: f64,
    /// The share of the repetitions that are in it.
    pub share_ratio: f64,
}

/// Why the cost at one length of the loop differs from that at the longest, or at the longest that others left the CPU to in
/// most of its repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum LengthReason {
    /// It does not differ.
    #[serde(rename = "agrees")]
    Agrees,
    /// The time that it takes to start and end the timing is spread over few rounds.
    #[serde(rename = "start-up")]
    StartUp,
    /// A step of the clock is no small part of it.
    #[serde(rename = "timer grain")]
    TimerGrain,
    /// The CPU's clock ran at another rate.
    #[serde(rename = "frequency")]
    Frequency,
    /// The loop lasted so long that others had the CPU in most of the repetitions.
    #[serde(rename = "preemption")]
    Preemption,
    /// It differs, and none of these is the reason.
    #[serde(rename = "unexplained")]
    Unexplained,
}

impl LengthReason {
    /// Its name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            LengthReason::Agrees => "agrees",
            LengthReason::StartUp => "start-up",
            LengthReason::TimerGrain => "timer grain",
            LengthReason::Frequency => "frequency",
            LengthReason::Preemption => "preemption",
            LengthReason::Unexplained => "unexplained",
        }
    }
}

/// The parts of a [`ProbeCost`] that a cost follows from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) probe: Probe,
    pub(crate) loops: u64,
    pub(crate) events_per_loop: f64,
    /// System calls of a round, if both are known: as counted, and as expected.
    pub(crate) calls: Option<[f64; 2]>,
    pub(crate) alu_seconds: Option<f64>,
    pub(crate) repetitions: &'a [Repetition],
}

impl Cost {
    /// The 95 % interval of the median.
    pub fn interval(&self) -> Interval {
        Interval { low: self.low_seconds, high: self.high_seconds }
    }
}

impl ProbeCost {
    /// A probe of which nothing was measured.
    pub fn absent(probe: Probe, why: &Absent) -> Self {
        fn none<T>(why: &Absent) -> Reading<T> {
            Err(why.clone())
        }
        ProbeCost {
            probe,
            unit: probe.unit(),
            loops: none(why),
            cost: none(why),
            against_longest: None,
            clock: if probe.costs_cpu_time() { "cpu" } else { "wall" },
            events_per_loop: none(why),
            subtracted: none(why),
            calls_per_loop: none(why),
            expected_calls_per_loop: none(why),
            alu_seconds: none(why),
            samples: none(why),
        }
    }

    /// What was measured, or why nothing was.
    pub(crate) fn measured(&self) -> Reading<Measured<'_>> {
        let repetitions = self.samples.as_ref().map_err(Clone::clone)?;
        let calls = self.calls_per_loop.as_ref().ok().zip(self.expected_calls_per_loop.as_ref().ok());
        Ok(Measured {
            probe: self.probe,
            loops: self.loops.clone()?,
            events_per_loop: self.events_per_loop.clone()?,
            calls: calls.map(|(counted, expected)| [*counted, *expected]),
            alu_seconds: self.alu_seconds.clone().ok(),
            repetitions,
        })
    }
}

impl CostsRecord {
    /// The costs that are known, in the order of the record.
    pub(crate) fn costs(&self) -> impl Iterator<Item = &Cost> {
        self.probes.iter().filter_map(|probe| probe.cost.as_ref().ok())
    }

    /// The record in a JSON text that was written with its samples, not yet judged.
    pub(crate) fn measured(text: &str) -> Result<Self, ReadError> {
        let without = |probe: &Value| probe.is_object() && probe.get(SAMPLES).is_none();
        let read: Result<Self, ReadError> = json::record(&SCHEMA, text);
        if read.is_err() {
            let value = SCHEMA.value(text)?;
            if value.get("probes").and_then(Value::as_array).is_some_and(|probes| probes.iter().any(without)) {
                return Err(ReadError::WithoutSamples);
            }
        }
        let record = read?;
        record.check()?;
        Ok(record)
    }

    /// The JSON, each probe with its repetitions if `samples`: only then can it be judged again.
    pub fn value(&self, samples: bool) -> Value {
        let mut value = json::value(&SCHEMA, self);
        if !samples {
            let probes = value.get_mut("probes").and_then(Value::as_array_mut).into_iter().flatten();
            for probe in probes.filter_map(Value::as_object_mut) {
                probe.remove(SAMPLES);
                probe.remove("samples_absent");
            }
        }
        value
    }

    /// Whether its numbers can be, and their sums too.
    fn check(&self) -> Result<(), ReadError> {
        holds(self.elapsed_seconds < LONGEST, "elapsed_seconds", "longer than any measuring")?;
        holds(self.plan.budget_seconds < LONGEST, "plan.budget_seconds", "longer than any measuring")?;
        let mut sums = Sums::default();
        for (at, probe) in self.probes.iter().enumerate() {
            probe.check(&format!("probes[{at}]"), &mut sums)?;
        }
        Ok(())
    }
}

impl ProbeCost {
    fn check(&self, path: &str, sums: &mut Sums) -> Result<(), ReadError> {
        let Ok(samples) = &self.samples else { return Ok(()) };
        let there = |is_there: bool, name: &str| {
            let error = || ReadError::field(&format!("{path}.{name}"), "null, and yet there are samples");
            if is_there { Ok(()) } else { Err(error()) }
        };
        there(self.loops.is_ok(), "loops")?;
        there(self.events_per_loop.is_ok(), "events_per_loop")?;
        there(self.subtracted.is_ok(), "subtracted")?;
        let loops = self.loops.as_ref().is_ok_and(|loops| *loops <= MOST);
        holds(loops, &format!("{path}.loops"), "more than there can be")?;
        let numbers = [
            ("events_per_loop", &self.events_per_loop),
            ("calls_per_loop", &self.calls_per_loop),
            ("expected_calls_per_loop", &self.expected_calls_per_loop),
            ("alu_seconds", &self.alu_seconds),
        ];
        for (name, number) in numbers {
            let can_be = number.as_ref().map_or(true, |number| number.is_finite() && *number >= 0.0);
            holds(can_be, &format!("{path}.{name}"), "negative")?;
        }
        for (index, one) in samples.iter().enumerate() {
            let path = format!("{path}.samples[{index}]");
            holds(one.started_seconds < LONGEST, &format!("{path}.started_seconds"), "later than any measuring")?;
            sums.add(&one.probe, &format!("{path}.probe"))?;
            sums.add(&one.empty, &format!("{path}.empty"))?;
        }
        Ok(())
    }
}

fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

/// Running totals, so that no sum that is made of the record later can overflow.
#[derive(Default)]
struct Sums {
    time: u64,
    count: u64,
}

impl Sums {
    /// Adds a loop, if its times and counts can be.
    fn add(&mut self, timed: &Timed, path: &str) -> Result<(), ReadError> {
        for (name, time) in [("wall_seconds", timed.wall), ("cpu_seconds", timed.cpu)] {
            holds(time < LONGEST, &format!("{path}.{name}"), "longer than any measuring")?;
            self.time = sum(self.time, time.0, path)?;
        }
        let counts = [
            ("loops", timed.loops),
            ("events", timed.events),
            ("minor_faults", timed.minor_faults),
            ("voluntary_switches", timed.voluntary_switches),
            ("involuntary_switches", timed.involuntary_switches),
        ];
        for (name, count) in counts {
            holds(count <= MOST, &format!("{path}.{name}"), "more than there can be")?;
            self.count = sum(self.count, count, path)?;
        }
        Ok(())
    }
}

fn sum(sum: u64, more: u64, path: &str) -> Result<u64, ReadError> {
    let problem = "what is above adds up to more than there can be";
    sum.checked_add(more).ok_or_else(|| ReadError::inconsistent(path, problem))
}

fn not_judged() -> Reading<Cost> {
    Err(Absent::because("it was not judged"))
}

/// The fields of a [`Cost`]; if there is none, each is absent for the same reason.
fn cost_or_reason<S: Serializer>(cost: &Reading<Cost>, serializer: S) -> Result<S::Ok, S::Error> {
    let absent = match cost {
        Ok(cost) => return cost.serialize(serializer),
        Err(absent) => absent,
    };
    let none = Reading::<f64>::Err(absent.clone());
    let mut map = serializer.serialize_map(None)?;
    for name in
        ["median_seconds", "low_seconds", "high_seconds", "spread_seconds", "resolution_seconds", "below_resolution"]
    {
        map.serialize_entry(name, &none)?;
    }
    map.serialize_entry("modes", &[(); 0])?;
    map.serialize_entry("repetitions", &0)?;
    map.serialize_entry("set_apart", &0)?;
    map.serialize_entry("all_disturbed", &false)?;
    for name in ["expected_events", "counted_events", "histogram"] {
        map.serialize_entry(name, &none)?;
    }
    map.serialize_entry("notes", &[(); 0])?;
    map.end()
}
