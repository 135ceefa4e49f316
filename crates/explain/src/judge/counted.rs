//! Events that a tracer counted in extra runs of two commands: processes, threads, programs, system calls.

use steady_costs::prices::{Price, Priced, Prices};
use steady_model::{Absent, Reading};
use steady_stats::{Shift, apart};

use super::ALPHA;
use super::parts::Tally;
use crate::record::{Counts, Difference, ExplainPairRecord, Line, Missing, Part, event_rows};

/// The counts of one kind of event.
pub(super) struct CountedKind {
    pub(super) name: String,
    pub(super) priced: Priced,
    pub(super) at_least: bool,
    pub(super) price: Price,
    /// Means of both commands.
    pub(super) counts: [f64; 2],
    /// Count in NEW minus count in OLD; absent if only one run was counted.
    pub(super) more: Reading<Shift>,
    /// How much it varies between runs of the same command, if that makes its interval wide.
    varies: Option<String>,
}

/// Computes the kinds of events, and what is missing.
pub(super) fn all(record: &ExplainPairRecord, prices: &Prices) -> (Vec<CountedKind>, Vec<Missing>) {
    let runs = match &record.counted {
        [Ok(old), Ok(new)] if !old.is_empty() && !new.is_empty() => in_all_runs([old, new]),
        [Err(absent), _] | [_, Err(absent)] => return none_counted(&absent.0),
        _ => return none_counted("no run was counted"),
    };
    let mut missing = Vec::new();
    let priced =
        runs.each_ref().map(|runs| runs.iter().map(|run| price(run, prices, &mut missing)).collect::<Vec<_>>());
    let mut kinds: Vec<&Part> = Vec::new();
    for part in priced.iter().flatten().flat_map(|tally| &tally.parts) {
        if !kinds.iter().any(|kind| is_same_kind(kind, part)) {
            kinds.push(part);
        }
    }
    let count = |kind: &&Part| {
        let counts = priced.each_ref().map(|runs| runs.iter().map(|tally| count_of(tally, kind)).collect::<Vec<f64>>());
        summarize(kind, &counts)
    };
    (kinds.iter().map(count).collect(), missing)
}

/// Names the kinds with a row of their own whose interval is wide because their counts vary.
pub(super) fn note(kinds: &[CountedKind], lines: &[Difference]) -> Option<String> {
    let rows = event_rows(lines).own;
    let has_row =
        |kind: &&CountedKind| rows.iter().any(|line| line.line == Line::Part(kind.priced) && line.name == kind.name);
    let varying: Vec<&str> = kinds.iter().filter(has_row).filter_map(|kind| kind.varies.as_deref()).collect();
    (!varying.is_empty()).then(|| {
        format!(
            "Some counts vary between runs of one command, so the intervals of their rows are wide: {}.",
            varying.join("; ")
        )
    })
}

/// The result if nothing could be counted.
fn none_counted(why: &str) -> (Vec<CountedKind>, Vec<Missing>) {
    let what = "forks, threads, execs and system calls".to_owned();
    (vec![], vec![Missing { what, why: why.to_owned() }])
}

/// Removes each count that is missing in some run, because only counts that all runs of both commands have can be
/// compared.
fn in_all_runs(runs: [&Vec<Counts>; 2]) -> [Vec<Counts>; 2] {
    let first = |absent: &dyn Fn(&Counts) -> Option<Absent>| runs.iter().copied().flatten().find_map(absent);
    let forks = first(&|counts| counts.forks.clone().err());
    let threads = first(&|counts| counts.threads.clone().err());
    let execs = first(&|counts| counts.execs.clone().err());
    let calls = first(&|counts| counts.calls.clone().err());
    let by_name = first(&|counts| counts.calls_by_name.clone().err());
    runs.map(|runs| {
        let of = |counts: &Counts| Counts {
            forks: forks.clone().map_or_else(|| counts.forks.clone(), Err),
            threads: threads.clone().map_or_else(|| counts.threads.clone(), Err),
            execs: execs.clone().map_or_else(|| counts.execs.clone(), Err),
            calls: calls.clone().map_or_else(|| counts.calls.clone(), Err),
            calls_by_name: by_name.clone().map_or_else(|| counts.calls_by_name.clone(), Err),
            ..counts.clone()
        };
        runs.iter().map(of).collect()
    })
}

/// Prices the counts of one run. Each missing item is noted once.
fn price<'a>(counts: &Counts, prices: &'a Prices, missing: &mut Vec<Missing>) -> Tally<'a> {
    let mut tally = Tally::new(prices);
    tally.add_created(counts);
    let fresh = tally.missing.drain(..).filter(|one| !missing.contains(one)).collect::<Vec<_>>();
    missing.extend(fresh);
    tally
}

/// Whether two parts are of the same kind.
fn is_same_kind(one: &Part, other: &Part) -> bool {
    one.name == other.name && one.priced == other.priced
}

fn count_of(tally: &Tally<'_>, kind: &Part) -> f64 {
    tally.parts.iter().filter(|part| is_same_kind(part, kind)).map(|part| part.count).sum()
}

fn summarize(kind: &Part, counts: &[Vec<f64>; 2]) -> CountedKind {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let more = apart(&counts[0], &counts[1], ALPHA);
    let more = if more.interval.low.is_finite() {
        Ok(more)
    } else {
        Err(Absent::because("it was counted in only one run, so its variation is unknown"))
    };
    let varies = varied(&kind.name, counts);
    let counts = counts.each_ref().map(|values| mean(values));
    CountedKind {
        name: kind.name.clone(),
        priced: kind.priced,
        at_least: kind.at_least,
        price: kind.price,
        counts,
        more,
        varies,
    }
}

/// Returns how far the counts differ between runs of the same command, if they differ much.
fn varied(name: &str, counts: &[Vec<f64>; 2]) -> Option<String> {
    /// Less than this share of the count makes no interval noticeably wider.
    const MUCH: f64 = 0.05;
    let range = |(who, values): (&str, &Vec<f64>)| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The sum prevents a negative zero.
        (high - low > MUCH * high).then(|| format!("{} to {} in {} runs of {who}", low + 0.0, high + 0.0, values.len()))
    };
    let ranges: Vec<String> = [("OLD", &counts[0]), ("NEW", &counts[1])].into_iter().filter_map(range).collect();
    (!ranges.is_empty()).then(|| format!("{name} ({})", ranges.join(", ")))
}
