//! What the comparisons so far say about each commit: a pure function of the record.
//!
//! The model: the cost changed once, by the log ratio `d`, at one of the commits. A comparison of commits `i < j` then
//! has the expected log ratio `d` if the commit is among `i+1 ..= j`, and 0 otherwise. Its estimate has a normal error
//! whose standard deviation follows from its interval. All commits are equally probable before the first comparison,
//! and all values of `d` are. The probability of each commit given the comparisons has a closed form then, because
//! the integral over `d` is that of a normal density. If costs change in several steps, the commit at which the larger
//! part has happened is the most probable one. If the rest of the change is larger than
//! that of a confirmed commit, the latter is subtracted, and the search goes on with the same model.
//!
//! These probabilities choose what to measure next. They need not be exact, because the result depends on a
//! confirmation on fresh pairs.

use steady_model::{Interval, Metric, Nanos, Verdict};
use steady_render::json::{self, ReadError};
use steady_stats::{share_of_test, two_sided_quantile};

use crate::record::{BisectOutcome, BisectRecord, Comparison, Purpose, SCHEMA};

/// The probability of a commit that is confirmed before the time for searching is over.
const CERTAIN: f64 = 0.95;
/// The probability of a commit that is confirmed at the end of the time for searching.
const PROBABLE: f64 = 0.5;
/// The part of the budget for the comparison of both ends.
pub(crate) const ENDS_RATIO: f64 = 0.25;
/// The part of the budget for one comparison of the search.
const STEP_RATIO: f64 = 1.0 / 12.0;
/// The part of the budget that is kept for the confirmation.
const RESERVED_RATIO: f64 = 0.3;

/// A comparison to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// What it is for.
    pub purpose: Purpose,
    /// Position of the older commit.
    pub from: usize,
    /// Position of the newer commit.
    pub to: usize,
    /// The maximum time to measure.
    pub budget: Nanos,
    /// The smallest relative change that matters.
    pub resolution: f64,
    /// The confidence of the verdict.
    pub confidence: f64,
    /// The metric of the first comparison, which all others share.
    pub metric: Option<Metric>,
}

impl BisectRecord {
    /// Parses a record from its JSON text, and judges it again.
    ///
    /// # Errors
    /// What is wrong with the text, and where. No input makes it panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let record: BisectRecord = json::record(&SCHEMA, text)?;
        let commits = record.commits.len();
        let is_within = |one: &Comparison| one.from < one.to && one.to < commits;
        if commits < 2 || !record.comparisons.iter().all(is_within) {
            return Err(ReadError::inconsistent("comparisons", "they name commits that do not exist"));
        }
        Ok(judged(record))
    }
}

/// The largest log ratio and standard deviation that count, and the inverse of the smallest standard deviation.
const LARGEST: f64 = 1e6;

/// Returns the record with its result, and with the probability of each commit.
pub fn judged(record: BisectRecord) -> BisectRecord {
    let mut record = record;
    let probabilities = probabilities(&record, &[]);
    for (commit, probability) in record.commits.iter_mut().zip(&probabilities) {
        commit.probability = *probability;
    }
    let ends = ends(&record).map(|ends| ends.verdict);
    (record.outcome, record.candidates) = match (ends, confirmed(&record)) {
        (_, Some(confirmation)) => (BisectOutcome::Found, (confirmation.from + 1..=confirmation.to).collect()),
        (Some(Verdict::Same), None) => (BisectOutcome::Same, vec![]),
        _ => (BisectOutcome::Open, most_probable(&probabilities, record.confidence)),
    };
    record
}

/// The next comparison, or `None` if there is a result or no time is left.
pub(crate) fn next(record: &BisectRecord) -> Option<Step> {
    let last = record.commits.len() - 1;
    let budget = record.budget_seconds;
    let part = |ratio: f64| Nanos::from_seconds(budget.seconds() * ratio);
    let step = Step {
        purpose: Purpose::Ends,
        from: 0,
        to: last,
        budget: part(ENDS_RATIO),
        resolution: record.resolution_ratio,
        confidence: record.confidence,
        metric: record.metric.as_ref().ok().copied(),
    };
    let Some(ends) = ends(record) else { return Some(step) };
    let left = (budget + record.earlier_seconds - record.measured()).seconds();
    let is_found = confirmed(record).is_some() && !is_incomplete(record);
    if ends.verdict == Verdict::Same || is_found || left <= 0.0 {
        return None;
    }
    if ends.verdict == Verdict::Undecided {
        return Some(Step { budget: Nanos::from_seconds(left), ..step });
    }
    let bounds = bounds(record);
    let parts: Vec<&Comparison> = confirmations(record).collect();
    let probabilities = probabilities(record, &parts);
    let sums: Vec<f64> = probabilities
        .iter()
        .scan(0.0, |sum, probability| {
            *sum += probability;
            Some(*sum)
        })
        .collect();
    let until = |commit: usize| sums[commit];
    let of_group = |group: &[usize]| until(group[1]) - until(group[0]);
    let best = bounds.windows(2).max_by(|one, other| of_group(one).total_cmp(&of_group(other)))?;
    if of_group(best) <= 0.0 {
        return None;
    }
    let searching = left - part(RESERVED_RATIO).seconds();
    let needed = if searching > 0.0 { CERTAIN } else { PROBABLE };
    if of_group(best) >= needed || bounds.len() == 2 {
        let confidence = 1.0 - 2.0 * (1.0 - record.confidence) * share_of_test(record.confirmations + 1);
        let [from, to] = [best[0], best[1]];
        let budget = Nanos::from_seconds(left);
        return Some(Step { purpose: Purpose::Confirmation, from, to, budget, confidence, ..step });
    }
    if searching <= 0.0 {
        return None;
    }
    let inner = &bounds[1..bounds.len() - 1];
    let distance = |commit: &&usize| (until(**commit) - 0.5).abs();
    let to = *inner.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)))?;
    let budget = part(STEP_RATIO).min(Nanos::from_seconds(searching));
    // Half of the change that is searched divides commits before it from those after it.
    let known: f64 = parts.iter().filter_map(|part| log_change(part)).sum();
    let resolution =
        log_change(ends).map_or(step.resolution, |change| ((change - known).exp_m1().abs() / 2.0).max(1e-6));
    Some(Step { purpose: Purpose::Search, to, budget, resolution, ..step })
}

/// The comparisons of a commit with GOOD that have an interval with two ends.
pub(crate) fn with_good(record: &BisectRecord, commit: usize) -> impl Iterator<Item = &Comparison> {
    let is_of_both = move |one: &&Comparison| one.from == 0 && one.to == commit && measured(one).is_some();
    record.comparisons.iter().filter(is_of_both)
}

/// The relative change of the cost from GOOD to a commit, and its interval at the confidence of the record: those of the
/// only comparison of both, or an approximation from all of them.
pub(crate) fn relative_to_good(record: &BisectRecord, commit: usize) -> Option<(f64, Interval)> {
    let mut all = with_good(record, commit);
    if let (Some(Comparison { change: Ok(change), low: Ok(low), high: Ok(high), confidence, .. }), None) =
        (all.next(), all.next())
        && *confidence == record.confidence
    {
        return Some((*change, Interval { low: *low, high: *high }));
    }
    let (weights, sum) =
        with_good(record, commit).filter_map(measured).fold((0.0, 0.0), |(weights, sum), (change, deviation)| {
            let weight = deviation.powi(-2);
            (weights + weight, sum + weight * change)
        });
    let (change, deviation) = (sum / weights, weights.sqrt().recip());
    let z = two_sided_quantile(1.0 - record.confidence);
    let end = |factor: f64| (change + factor * z * deviation).exp_m1();
    (weights > 0.0).then(|| (end(0.0), Interval { low: end(-1.0), high: end(1.0) }))
}

/// The last comparison of both ends. It is repeated if it is undecided and there is time.
pub(crate) fn ends(record: &BisectRecord) -> Option<&Comparison> {
    record.comparisons.iter().rfind(|one| one.purpose == Purpose::Ends)
}

/// The confirmations that found a change in the direction of the whole change.
pub(crate) fn confirmations(record: &BisectRecord) -> impl Iterator<Item = &Comparison> {
    let direction = ends(record).map(|ends| ends.verdict).filter(|verdict| verdict.is_difference());
    let all = record.comparisons.iter().filter(|one| one.purpose == Purpose::Confirmation);
    all.filter(move |one| Some(one.verdict) == direction)
}

/// The confirmation of the largest change.
pub(crate) fn confirmed(record: &BisectRecord) -> Option<&Comparison> {
    let size = |one: &Comparison| log_change(one).map_or(0.0, f64::abs);
    confirmations(record).reduce(|one, other| if size(other) > size(one) { other } else { one })
}

/// Whether the rest of the whole change is larger than the largest confirmed one, by the estimates. Another commit may
/// have more of it then. A confirmation of the whole range says nothing about parts.
pub(crate) fn is_incomplete(record: &BisectRecord) -> bool {
    let (Some(ends), Some(largest)) = (ends(record), confirmed(record)) else { return false };
    let is_whole = (largest.from, largest.to) == (ends.from, ends.to);
    let known: f64 = confirmations(record).filter_map(log_change).map(f64::abs).sum();
    let rest = log_change(ends).map(|whole| whole.abs() - known);
    !is_whole && rest.zip(log_change(largest)).is_some_and(|(rest, largest)| rest > largest.abs())
}

/// The log ratio of a comparison.
pub(crate) fn log_change(comparison: &Comparison) -> Option<f64> {
    comparison.change.as_ref().ok().map(|change| change.ln_1p())
}

/// The commits that can be measured, with both ends.
fn bounds(record: &BisectRecord) -> Vec<usize> {
    let last = record.commits.len() - 1;
    (0..=last).filter(|commit| [0, last].contains(commit) || record.commits[*commit].skipped.is_none()).collect()
}

/// The log ratio of a comparison and its standard deviation, which is never 0: a metric without noise, such as a size,
/// has intervals without a width. `None` if it has no interval with two ends.
fn measured(comparison: &Comparison) -> Option<(f64, f64)> {
    let log = |value: &steady_model::Reading<f64>| value.as_ref().ok().map(|value| value.ln_1p());
    let (change, low, high) = (log(&comparison.change)?, log(&comparison.low)?, log(&comparison.high)?);
    let deviation = (high - low) / 2.0 / two_sided_quantile(1.0 - comparison.confidence);
    let is_usable = change.abs() < LARGEST && deviation < LARGEST;
    is_usable.then_some((change, deviation.max(LARGEST.recip())))
}

/// The probability of each commit, given all comparisons. That of the first one is 0. The changes of `parts` are known:
/// they are subtracted from the comparisons that contain them, and their commits have the probability 0.
fn probabilities(record: &BisectRecord, parts: &[&Comparison]) -> Vec<f64> {
    let commits = record.commits.len();
    let rest = |one: &Comparison| {
        let within = parts.iter().filter(|part| one.from <= part.from && part.to <= one.to);
        let (change, deviation) = measured(one)?;
        let known = within.filter_map(|part| measured(part));
        let (change, variance) = known.fold((change, deviation.powi(2)), |(change, variance), (known, deviation)| {
            (change - known, variance + deviation.powi(2))
        });
        Some((one.from, one.to, change, variance.recip()))
    };
    let evidence: Vec<(usize, usize, f64, f64)> = record.comparisons.iter().filter_map(rest).collect();
    let log_likelihood = |commit: usize| {
        if parts.iter().any(|part| (part.from + 1..=part.to).contains(&commit)) {
            return f64::NEG_INFINITY;
        }
        let (mut weights, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for &(from, to, change, weight) in &evidence {
            squares += weight * change * change;
            if from < commit && commit <= to {
                weights += weight;
                sum += weight * change;
            }
        }
        if weights > 0.0 { -0.5 * (squares - sum * sum / weights) - 0.5 * f64::ln(weights) } else { -0.5 * squares }
    };
    let each: Vec<f64> = (1..commits).map(log_likelihood).collect();
    let most = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return vec![0.0; commits];
    }
    let relative: Vec<f64> = each.iter().map(|one| (one - most).exp()).collect();
    let sum: f64 = relative.iter().sum();
    std::iter::once(0.0).chain(relative.into_iter().map(|one| one / sum)).collect()
}

/// The most probable commits, in their order, that together have at least `probability`.
fn most_probable(probabilities: &[f64], probability: f64) -> Vec<usize> {
    let mut commits: Vec<usize> = (1..probabilities.len()).collect();
    commits.sort_by(|one, other| probabilities[*other].total_cmp(&probabilities[*one]));
    let mut sum = 0.0;
    let mut chosen: Vec<usize> = commits
        .into_iter()
        .take_while(|commit| {
            let before = sum;
            sum += probabilities[*commit];
            before < probability
        })
        .collect();
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_probable_commits_are_few() {
        assert_eq!(most_probable(&[0.0, 0.1, 0.6, 0.02, 0.28], 0.95), [1, 2, 4]);
        assert_eq!(most_probable(&[0.0, 1.0], 0.95), [1]);
    }
}
