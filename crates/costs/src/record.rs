//! The record of measured primitives and their costs, and its JSON.

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use steady_model::{
    Absent, Ending, Host, Interval, Machine, Nanos, OverflowCheck, Probe, Reading, RunKind, Seed, Timed, Timestamp,
};
use steady_render::json::{self, Group, ReadError, Schema};

use crate::clocks::ClockWords;

/// The schema of [`CostsRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.costs/1", what: "costs of primitives" };
/// The kind of this record in the history.
pub(crate) const KIND: RunKind = RunKind::new("costs");

/// Field of a probe that is written only with raw samples.
pub(crate) const SAMPLES: &str = "samples";
/// Upper limit of times in a record (97 days). Sums of such times do not overflow.
const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);
/// Upper limit of counts. A double, and with it every reader of JSON, represents them exactly.
const MOST: u64 = 1 << 53;

/// Everything that `steady costs` measured, and the costs. Its fields are those of its JSON. Derived fields (costs,
/// reasons, descriptions of clocks) are written and never read: [`judged`](crate::judged) computes them again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostsRecord {
    /// Seed of the random order.
    pub seed: Seed,
    /// Time of day at the start.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// Wall time of the whole run.
    pub elapsed_seconds: Nanos,
    /// The machine that the costs were measured on.
    pub host: Host,
    /// CPUs of the machine.
    pub machine: Machine,
    /// Git revision of the working directory.
    pub revision: Reading<String>,
    /// The CPUs that all probes were pinned to.
    pub affinity: Affinity,
    /// The measured probes. In a sweep, a probe has one element for each length of the loop.
    pub probes: Vec<ProbeCost>,
    /// The clocks of clock_gettime(2).
    pub clocks: Vec<ClockFacts>,
    /// Why the run ended.
    pub ending: Ending,
    /// The plan of the run.
    pub plan: CostsPlan,
}

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostsPlan {
    /// The probes, without duplicates.
    pub probes: Vec<Probe>,
    /// Repetitions of each probe.
    pub repetitions: u32,
    /// Time limit for the whole run. A short one leads to fewer repetitions.
    pub budget_seconds: Nanos,
    /// Whether loops have all lengths from 10 to 10^7 rounds, instead of one suitable length.
    pub sweep: bool,
    /// Whether the primitives are also measured as in publications, next to the correct measurement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_published: bool,
}

/// The CPUs that probes are pinned to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Affinity {
    /// The CPU of all probes.
    pub cpu: usize,
    /// The second CPU, for probes that need two.
    pub other_cpu: Reading<usize>,
}

/// A probe at one length of its loop, with its samples and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeCost {
    /// Name of the probe.
    #[serde(rename = "name")]
    pub probe: Probe,
    /// The event that the cost is for.
    #[serde(skip_deserializing)]
    pub unit: &'static str,
    /// Rounds of the timed loop.
    pub loops: Reading<u64>,
    /// The cost of the event.
    #[serde(flatten, skip_deserializing, default = "not_judged", serialize_with = "cost_or_reason")]
    #[schemars(with = "Group<Cost>")]
    pub cost: Reading<Cost>,
    /// In a sweep, why the cost differs from the one at the longest loop.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub against_longest: Option<LengthReason>,
    /// Whether the cost is CPU time or wall time: `cpu` or `wall`.
    #[serde(skip_deserializing)]
    pub clock: &'static str,
    /// Expected number of events in a round of the loop.
    pub events_per_loop: Reading<f64>,
    /// Description of the work that the empty loop still does; empty for most probes.
    pub subtracted: Reading<String>,
    /// System calls in a round, counted by a tracer outside the timed loops.
    pub calls_per_loop: Reading<f64>,
    /// Expected number of system calls in a round.
    pub expected_calls_per_loop: Reading<f64>,
    /// CPU time of one step of the arithmetic ruler just before and after the loops. It shows the clock rate of the
    /// CPU.
    pub alu_seconds: Reading<f64>,
    /// The repetitions in order of time. Written only with raw samples.
    #[schemars(skip_serializing_if = "Result::is_err")]
    pub samples: Reading<Vec<Repetition>>,
}

/// One timing of the loop with the event and of the empty loop, in random order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// Start, as time since the start of the experiment.
    pub started_seconds: Nanos,
    /// Whether the empty loop ran first.
    pub empty_first: bool,
    /// The loop with the event.
    pub probe: Timed,
    /// The same number of rounds of the loop without the event.
    pub empty: Timed,
}

/// Properties of a clock of the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockFacts {
    /// Name of the clock in clock_gettime(2).
    pub name: String,
    /// The probe that reads the clock.
    pub probe: Probe,
    /// Resolution that clock_getres(2) states.
    pub stated_resolution_seconds: Nanos,
    /// Smallest difference between two consecutive readings.
    pub smallest_step_seconds: Reading<Nanos>,
    /// Description of the clock.
    #[serde(flatten, skip_deserializing)]
    pub words: Option<ClockWords>,
}

/// The cost of an event minus the empty loop, in seconds per event.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// The probe that measured the cost.
    #[serde(skip)]
    pub probe: Probe,
    /// Rounds of the timed loop.
    #[serde(skip)]
    pub loops: u64,
    /// Median over the repetitions; negative if the empty loop took longer.
    pub median_seconds: f64,
    /// Lower end of the 95 % interval of the median.
    pub low_seconds: f64,
    /// Upper end of the 95 % interval of the median.
    pub high_seconds: f64,
    /// Interquartile range of the repetitions.
    pub spread_seconds: f64,
    /// Costs below this cannot be distinguished from zero.
    pub resolution_seconds: f64,
    /// Whether the absolute value of the median is below the resolution.
    pub below_resolution: bool,
    /// The two modes of a bimodal distribution; otherwise empty.
    pub modes: Vec<Mode>,
    /// Number of repetitions that the cost is computed from.
    pub repetitions: usize,
    /// Number of repetitions that were excluded because other processes used the CPU during them.
    pub set_apart: usize,
    /// Whether nearly all repetitions were disturbed. None are excluded then.
    pub all_disturbed: bool,
    /// Expected number of events in all repetitions.
    pub expected_events: f64,
    /// Counted number of events in all repetitions.
    pub counted_events: u64,
    /// Distribution of the repetitions that the cost is computed from.
    pub histogram: Histogram,
    /// Notes for the reader, as sentences: counts that differ by more than 1 %, few repetitions.
    pub notes: Vec<String>,
}

/// A histogram. Bin `i` begins at `low_seconds + i * width_seconds` and has `counts[i]` repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Histogram {
    /// Lower edge of the first bin.
    pub low_seconds: f64,
    /// Width of each bin.
    pub width_seconds: f64,
    /// Number of repetitions in each bin.
    pub counts: Vec<u32>,
    /// Number of repetitions below the first bin.
    pub below: u32,
    /// Number of repetitions above the last bin.
    pub above: u32,
}

/// One mode of a bimodal distribution.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mode {
    /// Median of the repetitions in the mode.
    pub median_seconds: f64,
    /// Share of the repetitions that are in the mode.
    pub share_ratio: f64,
}

/// Why the cost at one length of the loop differs from the cost at the longest undisturbed loop. A loop is undisturbed
/// if other processes did not use the CPU in most of its repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum LengthReason {
    /// The cost does not differ.
    #[serde(rename = "agrees")]
    Agrees,
    /// The time to start and stop the timing is spread over few rounds.
    #[serde(rename = "start-up")]
    StartUp,
    /// One step of the clock is a large part of the loop.
    #[serde(rename = "timer grain")]
    TimerGrain,
    /// The CPU ran at another clock rate.
    #[serde(rename = "frequency")]
    Frequency,
    /// The loop is so long that other processes used the CPU in most repetitions.
    #[serde(rename = "preemption")]
    Preemption,
    /// The cost differs for none of these reasons.
    #[serde(rename = "unexplained")]
    Unexplained,
}

impl LengthReason {
    /// Name in tables and in JSON.
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

/// The fields of a [`ProbeCost`] that its cost is computed from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) probe: Probe,
    pub(crate) loops: u64,
    pub(crate) events_per_loop: f64,
    /// Counted and expected system calls of a round, if both are known.
    pub(crate) calls: Option<[f64; 2]>,
    pub(crate) alu_seconds: Option<f64>,
    pub(crate) repetitions: &'a [Repetition],
}

impl Cost {
    /// Returns the 95 % interval of the median.
    pub fn interval(&self) -> Interval {
        Interval { low: self.low_seconds, high: self.high_seconds }
    }
}

impl ProbeCost {
    /// A probe that was not measured, for the reason `why`.
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

    /// Returns the measured fields, or the reason why the probe was not measured.
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
    /// Iterates over the costs that are known, in the order of the record.
    pub(crate) fn costs(&self) -> impl Iterator<Item = &Cost> {
        self.probes.iter().filter_map(|probe| probe.cost.as_ref().ok())
    }

    /// Reads a record from JSON that was written with its samples. Derived fields are not computed.
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

    /// Converts the record to JSON. It can be judged again only if it includes the raw `samples`.
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

    /// Rejects numbers that are out of range or whose sums overflow.
    fn check(&self) -> Result<(), ReadError> {
        holds(self.elapsed_seconds < LONGEST, "elapsed_seconds", "longer than any measurement")?;
        holds(self.plan.budget_seconds < LONGEST, "plan.budget_seconds", "longer than any measurement")?;
        let mut totals = OverflowCheck::default();
        for (at, probe) in self.probes.iter().enumerate() {
            probe.check(&format!("probes[{at}]"), &mut totals)?;
        }
        Ok(())
    }
}

impl ProbeCost {
    fn check(&self, path: &str, totals: &mut OverflowCheck) -> Result<(), ReadError> {
        let Ok(samples) = &self.samples else { return Ok(()) };
        let required = |is_known: bool, name: &str| {
            let error = || ReadError::field(&format!("{path}.{name}"), "null, although there are samples");
            if is_known { Ok(()) } else { Err(error()) }
        };
        required(self.loops.is_ok(), "loops")?;
        required(self.events_per_loop.is_ok(), "events_per_loop")?;
        required(self.subtracted.is_ok(), "subtracted")?;
        let loops = self.loops.as_ref().is_ok_and(|loops| *loops <= MOST);
        holds(loops, &format!("{path}.loops"), "too large")?;
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
            holds(one.started_seconds < LONGEST, &format!("{path}.started_seconds"), "later than any measurement")?;
            timed(&one.probe, &format!("{path}.probe"), totals)?;
            timed(&one.empty, &format!("{path}.empty"), totals)?;
        }
        Ok(())
    }
}

fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

/// Rejects times and counts of a loop that are out of range or whose sums overflow.
fn timed(timed: &Timed, path: &str, totals: &mut OverflowCheck) -> Result<(), ReadError> {
    let times = [("wall_seconds", timed.wall), ("cpu_seconds", timed.cpu)];
    for (name, time) in times {
        holds(time < LONGEST, &format!("{path}.{name}"), "longer than any measurement")?;
    }
    let counts = [
        ("loops", timed.loops),
        ("events", timed.events),
        ("minor_faults", timed.minor_faults),
        ("voluntary_switches", timed.voluntary_switches),
        ("involuntary_switches", timed.involuntary_switches),
    ];
    for (name, count) in counts {
        holds(count <= MOST, &format!("{path}.{name}"), "too large")?;
    }
    let fits = totals.add(&times.map(|(_, time)| time), &counts.map(|(_, count)| count));
    holds(fits, path, "the sum up to here is too large")
}

fn not_judged() -> Reading<Cost> {
    Err(Absent::because("not judged"))
}

/// Writes the fields of a [`Cost`], or each field as absent for the same reason.
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
