//! Joins several records of the same comparison. There are verdicts on each record, and joint verdicts on all.

mod check;

use steady_model::{Absent, Agreement, Effort, Ending, Homogeneity, Joined, Judgement, Metric, Record, Source};
use steady_stats::{Joint, Rules, Sequence, Stage, Weighed, mean_ratio};

pub use check::JoinError;

use super::evidence::{Evidence, Failures};
use super::judge;
use super::verdicts::{self, serves};

/// Joins records, each with the name of its source. With one record, the verdicts are those of [`judge()`].
///
/// # Errors
/// See [`JoinError`].
pub fn join(records: Vec<(String, Record)>) -> Result<Joined, JoinError> {
    check::check(&records)?;
    let of = |(name, record): (String, Record)| Source { name, report: judge(record) };
    let sources: Vec<Source> = records.into_iter().map(of).collect();
    let records: Vec<&Record> = sources.iter().map(|source| &source.report.record).collect();
    let (judgements, agreements) = match records.first() {
        Some(first) => judgements(first, &records),
        None => (vec![], vec![]),
    };
    Ok(Joined { judgements, agreements, sources })
}

/// The joint verdicts by all metrics, and whether the sources agree by the primary metric.
fn judgements(first: &Record, records: &[&Record]) -> (Vec<Judgement>, Vec<Agreement>) {
    let contenders = first.plan.commands.len() - 1;
    let primary = {
        let each = by_contender(contenders, records.iter().map(|record| replayed(record)));
        steady_stats::join(&each, &Evidence::new(&first.plan, first.primary).rules())
    };
    let primary_weighed = weighed(&primary, records, first.primary);
    let is_secondary = |metric: &Metric| {
        let counted = records.iter().all(|record| record.counters.is_ok());
        *metric != first.primary && (*metric != Metric::Instructions || counted)
    };
    let at_the_end = |metric| {
        let each = by_contender(contenders, records.iter().map(|record| whole(record, metric)));
        let rules = Rules { limits: vec![], ..Evidence::new(&first.plan, metric).rules() };
        // Each contender has the whole error rate, because secondary metrics do not share it.
        let joints: Vec<Joint> = each.into_iter().flat_map(|sources| steady_stats::join(&[sources], &rules)).collect();
        (metric, weighed(&joints, records, metric))
    };
    let secondary: Vec<(Metric, Vec<Weighed>)> = first.metrics().filter(is_secondary).map(at_the_end).collect();
    let mut judgements = Vec::new();
    for command in 1..=contenders {
        let invalid = unequal(records, command);
        let all = std::iter::once((first.primary, &primary_weighed))
            .chain(secondary.iter().map(|(metric, all)| (*metric, all)));
        judgements.extend(all.map(|(metric, joint)| {
            let judgement = Judgement {
                widening: Err(Absent::because("each source has its own")),
                ..verdicts::judgement(first, metric, command, &joint[command - 1])
            };
            if invalid { verdicts::invalid(judgement) } else { judgement }
        }));
    }
    let agreements = primary.iter().zip(1..).map(|(joint, command)| agreement(joint, command)).collect();
    (judgements, agreements)
}

/// Compares each joint estimate of the usual run with the ratio of means over the pairs of all sources.
fn weighed(joints: &[Joint], records: &[&Record], metric: Metric) -> Vec<Weighed> {
    let of = |record: &&Record| {
        let mut evidence = Evidence::new(&record.plan, metric);
        evidence.extend(record.blocks.iter().filter(|block| serves(metric, block.layout)));
        evidence
    };
    let evidences: Vec<Evidence> = records.iter().map(of).collect();
    let is_open = records.iter().any(|record| is_open(record));
    let each = joints.iter().enumerate().map(|(index, joint)| {
        let strata: Vec<_> = evidences.iter().flat_map(|evidence| evidence.strata(index)).collect();
        let alpha = evidences.first().map_or(0.0, Evidence::mean_alpha);
        let resolution = records.first().map_or(0.0, |record| record.plan.resolution);
        let (estimate, mean) = (joint.estimate.clone(), mean_ratio(&strata, alpha));
        match &joint.agreement {
            // The interval of the mean assumes one effect in all sources, so it cannot decide between them.
            Some(found) if !found.agrees => Weighed { usual: estimate.size, estimate, mean, mean_decides: false },
            _ if is_open => estimate.checked_against(mean, resolution),
            _ => estimate.weighed_against(mean, resolution),
        }
    });
    each.collect()
}

/// Returns whether a comparison might have ended because of its results.
fn is_open(record: &Record) -> bool {
    record.ending == Ending::Interrupted || matches!(record.plan.effort, Effort::Budget(_))
}

/// Regroups values by contender. Each source has one value per contender.
fn by_contender<T>(contenders: usize, sources: impl Iterator<Item = Vec<T>>) -> Vec<Vec<T>> {
    let mut each: Vec<Vec<T>> = (0..contenders).map(|_| Vec::new()).collect();
    sources.for_each(|source| each.iter_mut().zip(source).for_each(|(each, source)| each.push(source)));
    each
}

/// Replays the looks of one record. Returns, for each contender, the pairs between looks and the progress at each look.
fn replayed(record: &Record) -> Vec<steady_stats::Source> {
    let mut evidence = Evidence::new(&record.plan, record.primary);
    let contenders = record.plan.commands.len() - 1;
    let mut sequence = Sequence::new(evidence.rules(), contenders);
    let interrupted = record.ending == Ending::Interrupted;
    let mut sources = vec![steady_stats::Source { stages: vec![], open: is_open(record) }; contenders];
    let mut done = vec![0; contenders];
    let (mut blocks, mut seen, mut before) = (record.blocks.iter(), 0, 0.0f64);
    for look in &record.looks {
        let fresh = look.blocks.saturating_sub(seen);
        evidence.extend(blocks.by_ref().take(fresh));
        seen += fresh;
        let looked = sequence.look(evidence.contenders(), look.fraction, look.last).progress;
        // Earlier versions marked the look at an interruption as the last one of the whole effort.
        let now = if look.last && interrupted { record.spent() } else { looked };
        before = before.max(now);
        for ((source, done), pairs) in sources.iter_mut().zip(&mut done).zip(evidence.contenders()) {
            source.stages.push(Stage { pairs: pairs[*done..].to_vec(), progress: before });
            *done = pairs.len();
        }
    }
    if record.looks.is_empty() { whole(record, record.primary) } else { sources }
}

/// All pairs of one record by `metric`, with a single look.
fn whole(record: &Record, metric: Metric) -> Vec<steady_stats::Source> {
    let mut evidence = Evidence::new(&record.plan, metric);
    evidence.extend(record.blocks.iter().filter(|block| serves(metric, block.layout)));
    evidence.contenders().iter().map(|pairs| steady_stats::Source::fixed(pairs.clone())).collect()
}

/// Returns whether `command` and the first command fail at different rates, in all sources together or in one of them.
fn unequal(records: &[&Record], command: usize) -> bool {
    let each: Vec<Failures> = records.iter().map(|record| Failures::of(record, command)).collect();
    Failures::sum(each.iter().copied()).unequal(1) || each.iter().any(|one| one.unequal(each.len()))
}

fn agreement(joint: &Joint, command: usize) -> Agreement {
    let why = || Absent::because("fewer than two sources have enough pairs for the test");
    let homogeneity = joint.agreement.as_ref().ok_or_else(why).map(|found| Homogeneity {
        agrees: found.agrees,
        q: found.q,
        degrees_of_freedom: found.degrees_of_freedom,
        p_value: found.p,
        i_squared: found.i_squared,
        outlying: found.outlying.clone(),
    });
    Agreement { command, homogeneity }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use steady_model::{Command, DecidedBy, Nanos, Plan, Seed, Undecided, Verdict};
    use steady_process::simulated::{Conditions, SimulatedMachine};

    use super::*;
    use crate::run::{CompareContext, compare};

    /// Returns the joint verdict of two comparisons on simulated machines. The usual run of the second command is 5 %
    /// cheaper, but it has expensive runs more often.
    fn joined(effort: Effort) -> Judgement {
        let part = |seed: u64| {
            let command = |index: usize| Command {
                name: format!("command {index}"),
                argv: vec!["x".to_owned()],
                program: PathBuf::from("/x"),
                ..Command::default()
            };
            let plan = Plan::new(vec![command(0), command(1)], effort, Seed(seed));
            let mut machine = SimulatedMachine::new(&[0.010, 0.0095], Conditions::QUIET, seed);
            machine.modes = vec![(0.05, 20.0), (0.2, 20.0)];
            (seed.to_string(), compare(&plan, CompareContext::simulated(true), &mut machine, &mut |_| {}).unwrap())
        };
        let joined = join(vec![part(21), part(22)]).unwrap();
        assert!(joined.agreements[0].homogeneity.as_ref().unwrap().agrees, "{:?}", joined.agreements);
        joined.judgements.into_iter().next().unwrap()
    }

    #[test]
    fn the_mean_gives_a_direction_only_if_the_number_of_pairs_was_fixed() {
        let fixed = joined(Effort::Pairs(600));
        assert_eq!((fixed.verdict, fixed.decided_by), (Verdict::Slower, DecidedBy::Mean), "{fixed:?}");
        let open = joined(Effort::Budget(Nanos::from_seconds(20.0)));
        assert_eq!((open.verdict, open.decided_by), (Verdict::Undecided, DecidedBy::Mean), "{open:?}");
        assert_eq!(open.undecided, Ok(Undecided::TooWide));
        let (interval, usual) = (open.interval.unwrap(), open.usual.interval.unwrap());
        assert!(interval.holds(0.0) && interval.low == usual.low && usual.holds(-0.05), "{interval:?} {usual:?}");
        assert!(open.mean.interval.unwrap().low > 0.0);
    }
}
