//! The ranking of at least three commands by the primary metric.
//!
//! Two commands are in a certain order if their intervals do not overlap (rank confidence sets from simultaneous
//! intervals: Klein, Wright and Wieczorek 2020). The intervals of [`Sequence::with_equal_shares`] contain all effects
//! relative to the first command together, so all orders between the other commands hold together at that level. The
//! order relative to the first command is that of the verdicts, whose stepwise procedure is a little more powerful.

use std::cmp::Ordering;

use steady_model::{Interval, Judgement, Rank, Record, Undecided, Verdict};
use steady_stats::{MIN_PAIRS, Sequence, Weighed};

use super::verdicts::replayed;

/// The change of a command relative to the first, and what is certain about it.
struct Standing {
    change: f64,
    /// Unbounded if nothing is certain.
    interval: Interval,
    /// The order relative to the first command.
    verdict: Ordering,
}

/// Ranks the commands, best first. Empty for fewer than three commands, or without an evaluation.
pub(super) fn ranking(record: &Record, judgements: &[Judgement]) -> Vec<Rank> {
    let number = record.plan.commands.len();
    if number < 3 || record.looks.is_empty() {
        return vec![];
    }
    let (estimates, _) = replayed(record, Sequence::with_equal_shares);
    let primary = judgements.iter().filter(|judgement| judgement.primary);
    let first = Standing { change: 0.0, interval: Interval { low: 0.0, high: 0.0 }, verdict: Ordering::Equal };
    let others = primary.zip(&estimates).map(|(judgement, estimate)| standing(judgement, estimate));
    let standings: Vec<Standing> = std::iter::once(first).chain(others).collect();
    let is_more_better = record.primary.is_more_better();
    let better = |one: usize, other: usize| {
        let order = certain_order(&standings, one, other);
        if is_more_better { order == Ordering::Greater } else { order == Ordering::Less }
    };
    let rank = |command: usize| {
        let before = (0..number).filter(|other| better(*other, command)).count();
        let after = (0..number).filter(|other| better(command, *other)).count();
        Rank { command, best: 1 + before, worst: number - after }
    };
    let mut ranks: Vec<Rank> = (0..number).map(rank).collect();
    let size = |rank: &Rank| {
        let change = standings[rank.command].change;
        if is_more_better { -change } else { change }
    };
    // Without an estimate, a command comes last.
    ranks.sort_by(|one, other| {
        let places = (one.best + one.worst).cmp(&(other.best + other.worst));
        let sizes = |rank| Some(size(rank)).filter(|size| !size.is_nan()).unwrap_or(f64::INFINITY);
        sizes(one).total_cmp(&sizes(other)).then(places)
    });
    ranks
}

fn standing(judgement: &Judgement, weighed: &Weighed) -> Standing {
    let estimate = &weighed.estimate;
    let is_fair = judgement.undecided != Ok(Undecided::UnequalFailures) && estimate.pairs >= MIN_PAIRS;
    let known = (estimate.verdict_low, estimate.verdict_high);
    let interval = match known {
        (low, high) if is_fair => {
            Interval { low: low.unwrap_or(f64::NEG_INFINITY), high: high.unwrap_or(f64::INFINITY) }
        }
        _ => Interval::EVERYTHING,
    };
    let verdict = match judgement.verdict {
        Verdict::Slower | Verdict::Faster if judgement.is_more() => Ordering::Greater,
        Verdict::Slower | Verdict::Faster => Ordering::Less,
        Verdict::Same | Verdict::Undecided => Ordering::Equal,
    };
    Standing { change: judgement.change.clone().unwrap_or(f64::NAN), interval, verdict }
}

/// Returns the order of two commands' values if it is certain, otherwise `Equal`.
fn certain_order(standings: &[Standing], one: usize, other: usize) -> Ordering {
    let (left, right) = (&standings[one], &standings[other]);
    match (one, other) {
        (_, 0) => left.verdict,
        (0, _) => right.verdict.reverse(),
        // Both differ from the first command, in different directions.
        _ if left.verdict != Ordering::Equal && left.verdict == right.verdict.reverse() => left.verdict,
        _ if left.interval.high < right.interval.low => Ordering::Less,
        _ if left.interval.low > right.interval.high => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(low: f64, high: f64, verdict: Ordering) -> Standing {
        Standing { change: (low + high) / 2.0, interval: Interval { low, high }, verdict }
    }

    #[test]
    fn commands_are_in_order_if_their_intervals_are_disjoint() {
        let standings = [
            standing(0.0, 0.0, Ordering::Equal),
            standing(0.1, 0.2, Ordering::Greater),
            standing(0.15, 0.3, Ordering::Greater),
            standing(0.25, 0.4, Ordering::Greater),
            standing(-0.1, 0.01, Ordering::Less),
        ];
        let order = |one, other| certain_order(&standings, one, other);
        assert_eq!((order(0, 1), order(1, 0)), (Ordering::Less, Ordering::Greater));
        assert_eq!((order(1, 2), order(1, 3), order(3, 1)), (Ordering::Equal, Ordering::Less, Ordering::Greater));
        // The verdict is certain although the interval of equal shares contains zero.
        assert_eq!((order(4, 0), order(4, 1)), (Ordering::Less, Ordering::Less));
        assert_eq!(order(2, 2), Ordering::Equal);
    }
}
