//! From the record to figures and answers: pure, so that a record gives the same report whenever it is read.

use steady_model::{
    Absent, Interval, Layout, Reading, SignatureAllocator, SignatureAnswer, SignatureBenchRecord, SignatureBenchReport,
    SignatureCondition, SignatureFigures, SignatureQuestion, SignatureRun,
};
use steady_stats::location::location;
use steady_stats::{MIN_PAIRS, Pair, Rules, Slot, single_look};

use super::plan::{ASKED, asked};

/// The error of each interval.
const ALPHA: f64 = 0.05;
/// A difference that does not matter.
const RESOLUTION: f64 = 0.02;
/// The step of the clock.
const GRAIN: f64 = 1e-9;

/// The report on what was measured.
pub fn report(record: SignatureBenchRecord) -> SignatureBenchReport {
    let figures = (0..record.plan.conditions.len()).map(|at| figures(&record, at)).collect();
    let answers = questions(&record).into_iter().map(|(question, old, new)| answer(&record, question, old, new));
    SignatureBenchReport { figures, answers: answers.collect(), record }
}

fn runs(record: &SignatureBenchRecord, at: usize) -> impl Iterator<Item = &SignatureRun> {
    record.rounds.iter().flatten().filter(move |run| run.condition == at)
}

fn figures(record: &SignatureBenchRecord, at: usize) -> Reading<SignatureFigures> {
    let condition = &record.plan.conditions[at];
    let walls: Vec<f64> = runs(record, at).map(SignatureRun::seconds).collect();
    if walls.is_empty() {
        return Err(Absent::because("it was interrupted before"));
    }
    let located = location(&walls, 1.0 - ALPHA);
    let few =
        || Absent(format!("{} of it, too few for an interval: a larger --budget gives one", counted(walls.len())));
    let median = steady_stats::descriptive::quantile(&walls, 0.5).unwrap_or(f64::NAN);
    let times: f64 = runs(record, at).map(|run| f64::from(run.times)).sum();
    let total = |of: fn(&SignatureRun) -> f64| runs(record, at).map(of).sum::<f64>();
    let lock = |of: fn(&steady_model::SignatureLock) -> f64| -> Reading<f64> {
        runs(record, at).map(|run| run.lock.as_ref().map(of).map_err(Clone::clone)).sum()
    };
    let all_time = total(|run| run.wall.seconds()) * f64::from(condition.workers);
    Ok(SignatureFigures {
        runs: walls.len(),
        wall: median,
        wall_interval: located.map(|found| Interval { low: found.low, high: found.high }).ok_or_else(few),
        user: total(|run| run.user.seconds()) / times,
        system: total(|run| run.system.seconds()) / times,
        acquisitions: lock(|lock| lock.acquisitions as f64).map(|all| all / times),
        waiting: lock(|lock| lock.waited.seconds()).map(|waited| if all_time > 0.0 { waited / all_time } else { 0.0 }),
    })
}

fn counted(runs: usize) -> String {
    if runs == 1 { "there was 1 run".to_owned() } else { format!("there were {runs} runs") }
}

/// What is asked, of which conditions.
fn questions(record: &SignatureBenchRecord) -> Vec<(SignatureQuestion, usize, usize)> {
    let all = &record.plan.conditions;
    let sizes: Vec<u64> = all.iter().map(|condition| condition.bytes).collect();
    let bytes = asked(&sizes);
    let find = |wanted: &dyn Fn(&SignatureCondition) -> bool| {
        all.iter().position(|condition| condition.bytes == bytes && wanted(condition))
    };
    let by = |allocator: SignatureAllocator, workers: u32| {
        find(&move |one| one.allocator == allocator && one.workers == workers && !one.kept)
    };
    let kept: Vec<usize> =
        (0..all.len()).filter(|at| all[*at].kept && all[*at].allocator == SignatureAllocator::Pool).collect();
    let (pool, global) = (by(SignatureAllocator::Pool, ASKED), by(SignatureAllocator::Global, ASKED));
    let (pool_alone, global_alone) = (by(SignatureAllocator::Pool, 1), by(SignatureAllocator::Global, 1));
    let own = by(SignatureAllocator::OwnList, ASKED);
    let (tree, whole) = (kept.first().copied(), kept.get(1).copied());
    let far = find(&|one| one.allocator == SignatureAllocator::Scattered);
    let mut questions = vec![
        (SignatureQuestion::Gain, pool, global),
        (SignatureQuestion::Lock, own, global),
        (SignatureQuestion::List, pool, own),
        (SignatureQuestion::Alone, pool_alone, global_alone),
        (SignatureQuestion::PoolParallel, pool, pool_alone),
        (SignatureQuestion::GlobalParallel, global, global_alone),
        (SignatureQuestion::Locality, whole, far),
        (SignatureQuestion::PoolRoom, tree, whole),
    ];
    let walked = (0..all.len()).filter(|at| all[*at].allocator == SignatureAllocator::WalkedPool);
    questions.extend(walked.map(|at| (SignatureQuestion::PoolSize, whole, Some(at))));
    questions.into_iter().filter_map(|(question, old, new)| Some((question, old?, new?))).collect()
}

/// By the pairs out of rounds in which both were run.
fn answer(record: &SignatureBenchRecord, question: SignatureQuestion, old: usize, new: usize) -> SignatureAnswer {
    let pair = |round: &Vec<SignatureRun>| {
        let place = |at: usize| round.iter().position(|run| run.condition == at);
        let (old_at, new_at) = (place(old)?, place(new)?);
        let slot = Slot { order: if new_at > old_at { 1 } else { -1 }, cpu: 0 };
        Some(Pair { layout: Layout::Turns, slot, old: round[old_at].seconds(), new: round[new_at].seconds() })
    };
    let pairs: Vec<Pair> = record.rounds.iter().filter_map(pair).collect();
    let rules = Rules { alpha: ALPHA, resolution: RESOLUTION, limits: vec![], grain: GRAIN };
    let estimate = single_look(&pairs, &rules);
    let few =
        || Absent(format!("{} of both, too few for an interval: a larger --budget gives one", counted(pairs.len())));
    let interval = estimate.verdict_low.zip(estimate.verdict_high);
    SignatureAnswer {
        question,
        old,
        new,
        pairs: pairs.len(),
        factor: estimate.size.change.filter(|_| pairs.len() >= MIN_PAIRS).map(|change| 1.0 + change).ok_or_else(few),
        interval: interval.map(|(low, high)| Interval { low: 1.0 + low, high: 1.0 + high }).ok_or_else(few),
        verdict: estimate.verdict,
    }
}

#[cfg(test)]
mod tests {
    use steady_model::{Bytes, Ending, Host, Nanos, Seed, SignatureBenchPlan, SignatureInput, Timestamp, Verdict};

    use super::super::{Done, Setting, SimulatedCrew, conditions, measure};
    use super::*;

    fn plan(seed: u64, budget: u64) -> SignatureBenchPlan {
        let caches = vec![("L1".to_owned(), Bytes(32 << 10)), ("L2".to_owned(), Bytes(1 << 20))];
        SignatureBenchPlan {
            input: SignatureInput::Made,
            conditions: conditions(4 << 20, Bytes(128 << 10), &caches),
            pool: Bytes(128 << 10),
            caches,
            cpus: 2,
            budget: Nanos(budget),
            seed: Seed(seed),
        }
    }

    fn host() -> Host {
        let none = || Absent::because("it is not there");
        Host {
            hostname: Err(none()),
            kernel: Err(none()),
            cpu_model: Err(none()),
            cpus_allowed: 2,
            cpus_online: 2,
            cpu_quota: Err(none()),
            memory: Err(none()),
            hypervisor: Err(none()),
        }
    }

    fn measured(seed: u64, budget: u64, crew: &mut SimulatedCrew) -> Done {
        let setting = Setting { host: host(), started: Timestamp(0) };
        measure(&plan(seed, budget), setting, crew, &mut |_| {})
    }

    #[test]
    fn the_gain_is_split_into_what_it_was_made_of() {
        for seed in 0..5 {
            let mut crew = SimulatedCrew::new(seed);
            crew.start = 0.0;
            let done = measured(seed, 60_000_000_000, &mut crew);
            let report = report(done.record);
            let only = |question| report.answers_to(question).next().unwrap();
            // Two CPUs work on pools and on lists of one's own; behind the lock one does.
            let expected = [
                (SignatureQuestion::Gain, 2.0 * 3.0 * 2.0),
                (SignatureQuestion::Lock, 3.0 * 2.0),
                (SignatureQuestion::List, 2.0),
                (SignatureQuestion::Alone, 2.2),
                (SignatureQuestion::PoolParallel, 2.0),
                (SignatureQuestion::GlobalParallel, 1.1 / 3.0),
                (SignatureQuestion::Locality, 1.25),
            ];
            for (question, factor) in expected {
                let answer = only(question);
                let (told, interval) = (answer.factor.clone().unwrap(), answer.interval.clone().unwrap());
                assert!((told / factor - 1.0).abs() < 0.03, "{question:?}: {answer:?}");
                // One in twenty may miss, but not by much.
                let wide = Interval { low: interval.low * 0.97, high: interval.high * 1.03 };
                assert!(wide.holds(factor), "{question:?}: {answer:?}");
                assert!(matches!(answer.verdict, Verdict::Faster | Verdict::Slower), "{answer:?}");
            }
            let sizes: Vec<f64> =
                report.answers_to(SignatureQuestion::PoolSize).map(|one| one.factor.clone().unwrap()).collect();
            assert!(sizes[0] < 1.03 && sizes[sizes.len() - 1] > 1.2, "{sizes:?}");
        }
    }

    #[test]
    fn what_was_run_seldom_has_no_interval() {
        let done = measured(1, 12_000_000_000, &mut SimulatedCrew::new(1));
        let report = report(done.record);
        let conditions = &report.record.plan.conditions;
        let dear = conditions
            .iter()
            .position(|one| one.allocator == SignatureAllocator::Global && one.workers == 8 && one.bytes == 4 << 20);
        let figures = report.figures[dear.unwrap()].as_ref().unwrap();
        assert!(figures.runs < 6 && figures.wall_interval.is_err(), "{figures:?}");
        assert!(figures.acquisitions.clone().unwrap() > 4e6 && figures.waiting.clone().unwrap() > 0.5, "{figures:?}");
        let cheap = report.figures[0].as_ref().unwrap();
        assert!(cheap.runs > figures.runs, "{cheap:?}");
    }

    #[test]
    fn an_interruption_leaves_what_was_measured() {
        let mut crew = SimulatedCrew::new(2);
        crew.interrupted_after = Some(100);
        let done = measured(2, 60_000_000_000, &mut crew);
        assert_eq!(done.record.ending, Ending::Interrupted);
        let report = report(done.record);
        assert!(report.figures.iter().any(Result::is_ok) && report.figures.iter().any(Result::is_err));
        let answered = |answer: &SignatureAnswer| answer.factor.is_ok();
        assert!(report.answers.iter().all(|one| answered(one) == (one.question == SignatureQuestion::Gain)));
    }

    /// One round of all conditions takes longer than the budget, as on a busy machine.
    #[test]
    fn the_first_sentence_is_answered_before_the_rest() {
        let done = measured(3, 2_000_000_000, &mut SimulatedCrew::new(3));
        let report = report(done.record);
        let gain = report.answers_to(SignatureQuestion::Gain).next().unwrap();
        assert!(gain.interval.is_ok() && gain.verdict == Verdict::Slower, "{gain:?}");
        let lock = report.answers_to(SignatureQuestion::Lock).next().unwrap();
        assert!(lock.factor.is_err(), "the budget holds one round of all: {lock:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_order() {
        let order = |seed| measured(seed, 2_000_000_000, &mut SimulatedCrew::new(0)).record.rounds;
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
    }
}
