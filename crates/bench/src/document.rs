//! The report of a suite as a document.

mod answer;
mod tables;

use std::cmp::Ordering;

use steady_feature::{Record, Report};
use steady_model::{Ending, Facts, Verdict};
use steady_render::document::{Block, Document, Emphasis, Fact, Section, activity_facts, origin};
use steady_render::effect::noun;
use steady_render::json::{self, ReadError};
use steady_render::letters::{count, one_line};
use steady_render::units::{duration, setting, time_setting};

use crate::csv;
use crate::judge::{judged, more_is_better, status};
use crate::record::{Benchmark, Build, ErrorRate, KIND, Quantity, SCHEMA, SuiteRecord};

use answer::answer;
use tables::{chart, left_out, not_measured, table};

pub(crate) use answer::about_status;
pub(crate) use tables::by_reason;

impl SuiteRecord {
    /// Reads a record from its JSON. Verdicts are computed again if it has samples.
    ///
    /// # Errors
    /// The text is not such a record.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let record: SuiteRecord = json::record(&SCHEMA, text)?;
        let is_share = |share: f64| 0.0 < share && share < 1.0;
        if !is_share(record.resolution_ratio) || !is_share(record.confidence) {
            return Err(ReadError::field("confidence", "it and the resolution must be between 0 and 1"));
        }
        for (at, benchmark) in record.benchmarks.iter().enumerate() {
            let Some(samples) = &benchmark.samples else { return Err(ReadError::WithoutSamples) };
            if !samples.is_valid() {
                return Err(ReadError::Inconsistent {
                    path: format!("benchmarks[{at}].samples"),
                    problem: "its lists have different lengths, or a value is negative".to_owned(),
                });
            }
        }
        Ok(judged(record))
    }
}

impl Report for SuiteRecord {
    fn document(&self) -> Document {
        document(self)
    }

    fn csv(&self) -> String {
        csv::text(self)
    }

    fn json(&self, samples: bool) -> String {
        if samples {
            return json::text(&SCHEMA, self);
        }
        let without = |one: &Benchmark| Benchmark { samples: None, looks: vec![], ..one.clone() };
        json::text(&SCHEMA, &SuiteRecord { benchmarks: self.benchmarks.iter().map(without).collect(), ..self.clone() })
    }
}

impl Record for SuiteRecord {
    fn facts(&self) -> Facts {
        Facts {
            seed: Ok(self.seed),
            commands: vec![format!("{} {} {}", self.harness, self.old.name, self.new.name)],
            pairs: Ok(self.benchmarks.iter().map(|one| one.pairs).sum()),
            complete: self.ending != Ending::Interrupted,
            primary: self.metric().ok_or_else(|| steady_model::Absent::because("there is no metric")),
            ..Facts::new(KIND, self.started, &self.host, &self.revision, self.counts().summary())
        }
    }

    fn sentences(&self) -> Vec<String> {
        answer(self).into_iter().map(|spans| spans.into_iter().map(|span| span.1).collect()).collect()
    }

    fn status(&self) -> u8 {
        status(self)
    }
}

/// The numbers of benchmarks by verdict.
struct Counts {
    slower: usize,
    faster: usize,
    same: usize,
    undecided: usize,
    without_result: usize,
}

impl Counts {
    fn measured(&self) -> usize {
        self.slower + self.faster + self.same + self.undecided
    }

    /// The result in a few words, for a list: `1 slower, 2 faster`, or `12 same, 2 undecided, 1 without a result`.
    fn summary(&self) -> String {
        let without = (self.without_result, "without a result");
        let parts = match self.slower + self.faster {
            0 => [(self.same, "same"), (self.undecided, "undecided"), without],
            _ => [(self.slower, "slower"), (self.faster, "faster"), without],
        };
        let parts = parts.iter().filter(|(number, _)| *number > 0);
        let words = parts.map(|(number, what)| format!("{number} {what}")).collect::<Vec<_>>().join(", ");
        if words.is_empty() { "nothing measured".to_owned() } else { words }
    }
}

impl SuiteRecord {
    fn counts(&self) -> Counts {
        let of = |verdict| self.benchmarks.iter().filter(|one| one.failed.is_none() && one.verdict == verdict).count();
        Counts {
            slower: of(Verdict::Slower),
            faster: of(Verdict::Faster),
            same: of(Verdict::Same),
            undecided: of(Verdict::Undecided),
            without_result: self.without_result(),
        }
    }
}

fn plain(text: impl Into<String>) -> (Emphasis, String) {
    (Emphasis::Plain, text.into())
}

fn document(record: &SuiteRecord) -> Document {
    let changed = sorted(record, |one| one.verdict.is_difference());
    let undecided = sorted(record, |one| one.verdict == Verdict::Undecided && one.failed.is_none());
    let same = sorted(record, |one| one.verdict == Verdict::Same);
    let mut sections = vec![];
    if !changed.is_empty() {
        let chart = chart(record, &changed).map(Block::Chart);
        let blocks = std::iter::once(Block::Table(table(record, "Changed", &changed))).chain(chart);
        sections.push(Section::new("Changed", blocks.collect()).whole());
    }
    if !undecided.is_empty() {
        sections.push(Section::new("Undecided", vec![Block::Table(table(record, "Undecided", &undecided))]));
    }
    if !same.is_empty() {
        let heading = format!("The same within {}", setting(record.resolution_ratio));
        sections.push(Section::new(&heading, vec![Block::Table(table(record, "Same", &same))]).as_detail());
    }
    let left_out = left_out(record);
    if !left_out.is_empty() {
        sections.push(Section::new("Not measured", vec![Block::Table(not_measured(&left_out))]));
    }
    sections.push(Section::new("The suite", vec![Block::Facts(facts(record))]));
    sections.push(Section::new("The machine", vec![Block::Facts(activity_facts(&record.activity))]).as_detail());
    sections.extend(origin(record.started, &record.host, &record.revision));
    Document {
        subject: "Steadyhand: two builds, compared by their benchmarks".to_owned(),
        answer: answer(record),
        sections,
        is_brief: false,
    }
}

/// The benchmarks that satisfy a condition: those that got slower most first, and those that got faster most last.
fn sorted(record: &SuiteRecord, is_wanted: impl Fn(&Benchmark) -> bool) -> Vec<&Benchmark> {
    let mut chosen: Vec<&Benchmark> = record.benchmarks.iter().filter(|one| is_wanted(one)).collect();
    let worse = if more_is_better(record) { -1.0 } else { 1.0 };
    let change = |one: &Benchmark| match (&one.change, one.verdict) {
        (Ok(change), _) => worse * *change,
        // Without a ratio, the change is larger than all others.
        (Err(_), Verdict::Slower) => f64::INFINITY,
        (Err(_), _) => f64::NEG_INFINITY,
    };
    chosen.sort_by(|one, other| change(other).partial_cmp(&change(one)).unwrap_or(Ordering::Equal));
    chosen
}

/// The compared quantity: `time`, `CPU time`.
fn what(record: &SuiteRecord) -> String {
    record.metric().map_or_else(|| "value".to_owned(), |metric| noun(metric).into_owned())
}

fn name(build: &Build) -> String {
    one_line(&build.name)
}

fn facts(record: &SuiteRecord) -> Vec<Fact> {
    let level = setting(1.0 - record.confidence);
    let of_all = count(record.suite, "benchmark", "benchmarks");
    let error = match record.error {
        ErrorRate::Family => format!("at most {level} that any verdict is wrong, for {of_all}"),
        ErrorRate::Discovery => format!("at most {level} of the reported differences are wrong, on average"),
    };
    let what = what(record);
    let compared = match record.primary() {
        Quantity::Cpu => "the CPU time of the process, for equal iterations".to_owned(),
        Quantity::Metric(_) => format!("the {what} that the harness reports for an undisturbed sample"),
    };
    let pairs: usize = record.benchmarks.iter().map(|one| one.pairs).sum();
    let mut facts = vec![
        Fact::new("harness", one_line(&record.harness)),
        Fact::new("compared", compared),
        Fact::new("error", error),
        Fact::new("pairs", format!("{} of runs, in random order", count(pairs, "pair", "pairs"))),
        Fact::new("time", format!("{} of {}", duration(record.elapsed_seconds), time_setting(record.budget_seconds))),
        Fact::new("seed", record.seed.to_string()),
    ];
    let unshared = record.benchmarks.iter().filter(|one| one.unshared).count();
    if unshared > 0 {
        let who = count(unshared, "benchmark", "benchmarks");
        let text = format!("not shared by {who}, because a shared one had no result");
        facts.insert(4, Fact::new("processes", text));
    }
    if record.draws {
        facts.insert(3, Fact::new("layouts", "for each pair, both builds were linked again in another random order"));
    }
    if let Some(shard) = &record.shard {
        facts.insert(1, Fact::new("part", format!("{shard} of the suite")));
    }
    facts
}
