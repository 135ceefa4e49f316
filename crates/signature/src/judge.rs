//! Computes figures and answers from the runs of a bench, as pure functions.

use serde::Deserialize;
use steady_model::split::{self, Processes};
use steady_model::{Absent, Ending, Host, Interval, Layout, Nanos, Reading, Seed, Timestamp};
use steady_render::json::{self, ReadError};
use steady_stats::descriptive::quantile;
use steady_stats::location::location;
use steady_stats::{MIN_PAIRS, Pair, Rules, Slot, single_look};
use steady_workloads::signature::{Allocator, MOST_WORKERS};

use crate::plan::{BenchPlan, MAIN_WORKERS, main_size, thread_per_block};
use crate::record::{
    Answer, BenchCondition, BenchRecord, BenchRun, Cache, Figures, Input, Lock, MeasuredCondition, Question, SCHEMA,
    rate,
};
use crate::run::{BenchError, Done};

/// Error rate of each interval.
const ALPHA: f64 = 0.05;
/// Largest relative difference that does not matter.
const RESOLUTION: f64 = 0.02;
/// Resolution of the clock, in seconds.
const GRAIN: f64 = 1e-9;

/// Times in a record are shorter: a week.
const LONGEST: Nanos = Nanos(7 * 86_400 * 1_000_000_000);
/// Why a condition has no figures.
const NO_TIME: &str = "the budget had no time for it; use a larger --budget";

/// Machine and start time of a bench.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) host: Host,
    pub(crate) started: Timestamp,
}

/// Creates the record of a bench.
pub(crate) fn record(plan: BenchPlan, origin: Origin, done: Done) -> BenchRecord {
    let Done { rounds, elapsed, stopped } = done;
    let interrupted = stopped == Some(BenchError::Interrupted);
    let missing = if interrupted { "the bench was interrupted before" } else { NO_TIME };
    let measured = |(at, condition): (usize, &BenchCondition)| MeasuredCondition {
        condition: *condition,
        figures: figures(&rounds, at, condition, &plan.tick, missing),
    };
    let conditions = plan.conditions.iter().enumerate().map(measured).collect();
    BenchRecord {
        seed: plan.seed,
        started: origin.started,
        budget_seconds: plan.budget,
        elapsed_seconds: elapsed,
        host: origin.host,
        cpus: plan.cpus,
        tick_seconds: plan.tick,
        input: plan.input,
        rounds: rounds.len(),
        confidence: 1.0 - ALPHA,
        ending: if interrupted { Ending::Interrupted } else { Ending::Spent },
        conditions,
        answers: comparisons(&plan.conditions).iter().map(|compared| answer(&rounds, compared)).collect(),
        caches: plan.caches,
        samples: rounds,
    }
}

fn figures(
    rounds: &[Vec<BenchRun>],
    at: usize,
    condition: &BenchCondition,
    tick: &Reading<Nanos>,
    missing: &str,
) -> Reading<Figures> {
    let runs: Vec<&BenchRun> = rounds.iter().flatten().filter(|run| run.condition == at).collect();
    let walls: Vec<f64> = runs.iter().map(|run| run.seconds()).collect();
    let wall_seconds = quantile(&walls, 0.5).ok_or_else(|| Absent::because(missing))?;
    let wall_interval = location(&walls, 1.0 - ALPHA)
        .map(|found| Interval { low: found.low, high: found.high })
        .ok_or_else(|| too_few(runs.len(), "of this condition"));
    let total = |of: fn(&BenchRun) -> f64| runs.iter().map(|run| of(run)).sum::<f64>();
    let lock = |of: fn(&Lock) -> f64| -> Reading<f64> {
        runs.iter().map(|run| run.lock.as_ref().map(of).map_err(Clone::clone)).sum()
    };
    let times = total(|run| f64::from(run.times));
    let all_time = total(|run| run.wall_seconds.seconds()) * f64::from(condition.workers);
    let waited = lock(|lock| lock.lock_waited_seconds.seconds());
    let (user, system) = (total(|run| run.user_seconds.seconds()), total(|run| run.system_seconds.seconds()));
    // All runs are parts of one process, so the ticks of all of them count.
    let split = split::check(user + system, Processes::Counted(1.0), tick, "this condition");
    Ok(Figures {
        runs: runs.len(),
        wall_seconds,
        wall_interval,
        cpu_seconds: (user + system) / times,
        user_seconds: split.clone().map(|()| user / times),
        system_seconds: split.map(|()| system / times),
        bytes_per_second: rate(condition.bytes, wall_seconds),
        lock_acquisitions: lock(|lock| lock.lock_acquisitions as f64).map(|all| all / times),
        lock_waiting_ratio: waited.map(|waited| if all_time > 0.0 { waited / all_time } else { 0.0 }),
    })
}

/// Returns the reason why there is no interval.
fn too_few(runs: usize, of: &str) -> Absent {
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    Absent(format!("{runs} {of}, too few for an interval; use a larger --budget"))
}

/// A question about two conditions, by their indices.
struct Comparison {
    question: Question,
    beside: usize,
    condition: usize,
}

/// Returns the questions that the conditions can answer.
fn comparisons(conditions: &[BenchCondition]) -> Vec<Comparison> {
    let bytes = main_size(conditions);
    let numbers = |wanted: &dyn Fn(&BenchCondition) -> bool| -> Vec<usize> {
        (0..conditions.len()).filter(|at| conditions[*at].bytes == bytes && wanted(&conditions[*at])).collect()
    };
    let by = |allocator: Allocator, workers: u32| {
        let all = numbers(&|one| one.allocator == allocator && one.workers == workers && !one.kept);
        all.first().copied()
    };
    let kept = numbers(&|one| one.kept && one.allocator == Allocator::Pool);
    let (tree, whole) = (kept.first().copied(), kept.get(1).copied());
    let (pool, global) = (by(Allocator::Pool, MAIN_WORKERS), by(Allocator::Global, MAIN_WORKERS));
    let (pool_alone, global_alone) = (by(Allocator::Pool, 1), by(Allocator::Global, 1));
    let own = by(Allocator::OwnList, MAIN_WORKERS);
    let far = numbers(&|one| one.allocator == Allocator::Scattered).first().copied();
    let mut all = Vec::new();
    let mut ask = |question, beside: Option<usize>, condition: Option<usize>| {
        all.extend(beside.zip(condition).map(|(beside, condition)| Comparison { question, beside, condition }));
    };
    ask(Question::Gain, pool, global);
    let (many, per_block) = (by(Allocator::Global, thread_per_block(bytes)), by(Allocator::PoolPerBlock, MAIN_WORKERS));
    let many = many.filter(|many| Some(*many) != global);
    ask(Question::Published, per_block, many);
    ask(Question::ThreadPerBlock, global, many);
    ask(Question::PoolPerBlock, pool, per_block);
    ask(Question::Lock, own, global);
    ask(Question::List, pool, own);
    ask(Question::Alone, pool_alone, global_alone);
    ask(Question::PoolParallel, pool, pool_alone);
    ask(Question::GlobalParallel, global, global_alone);
    ask(Question::Locality, whole, far);
    ask(Question::PoolRoom, tree, whole);
    let walked = numbers(&|one| one.allocator == Allocator::WalkedPool);
    walked.into_iter().for_each(|at| ask(Question::PoolSize, whole, Some(at)));
    all
}

/// Answers a question by pairs of runs from rounds in which both conditions ran.
fn answer(rounds: &[Vec<BenchRun>], compared: &Comparison) -> Answer {
    let Comparison { question, beside, condition } = *compared;
    let pair = |round: &Vec<BenchRun>| {
        let place = |at: usize| round.iter().position(|run| run.condition == at);
        let (old_at, new_at) = (place(beside)?, place(condition)?);
        let slot = Slot { order: if new_at > old_at { 1 } else { -1 }, cpu: 0 };
        Some(Pair { layout: Layout::Turns, slot, old: round[old_at].seconds(), new: round[new_at].seconds() })
    };
    let pairs: Vec<Pair> = rounds.iter().filter_map(pair).collect();
    let estimate = single_look(&pairs, &Rules { alpha: ALPHA, resolution: RESOLUTION, limits: vec![], grain: GRAIN });
    let few = || too_few(pairs.len(), "of both conditions");
    let factor = estimate.size.change.filter(|change| pairs.len() >= MIN_PAIRS && change.is_finite());
    let interval = estimate.verdict_low.zip(estimate.verdict_high);
    let interval = interval.filter(|(low, high)| low.is_finite() && high.is_finite());
    Answer {
        question,
        beside,
        condition,
        pairs: pairs.len(),
        verdict: estimate.verdict,
        factor: factor.map(|change| 1.0 + change).ok_or_else(few),
        interval: interval.map(|(low, high)| Interval { low: 1.0 + low, high: 1.0 + high }).ok_or_else(few),
    }
}

/// The fields of a [`BenchRecord`] from which the others are computed.
#[derive(Deserialize)]
struct MeasuredBench {
    seed: Seed,
    #[serde(with = "steady_render::timestamp")]
    started: Timestamp,
    budget_seconds: Nanos,
    elapsed_seconds: Nanos,
    host: Host,
    cpus: u32,
    #[serde(default = "steady_model::Record::tick_not_recorded")]
    tick_seconds: Reading<Nanos>,
    caches: Vec<Cache>,
    input: Input,
    ending: Ending,
    conditions: Vec<BenchCondition>,
    samples: Vec<Vec<BenchRun>>,
}

impl BenchRecord {
    /// Reads a record from its JSON text with samples, and computes its figures and answers again.
    ///
    /// # Errors
    /// What is wrong with the text, and where; or the samples are missing. No input makes it panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let value = SCHEMA.value(text)?;
        if value.get("kind").and_then(|kind| kind.as_str()) != Some("bench") {
            return Err(ReadError::field("kind", "only a bench can be read; signatures of files are not measurements"));
        }
        if value.get("samples").is_none() {
            return Err(ReadError::WithoutSamples);
        }
        let measured: MeasuredBench = json::of_value(value)?;
        measured.check()?;
        let plan = BenchPlan {
            conditions: measured.conditions,
            caches: measured.caches,
            input: measured.input,
            cpus: measured.cpus,
            tick: measured.tick_seconds,
            budget: measured.budget_seconds,
            seed: measured.seed,
        };
        let stopped = (measured.ending == Ending::Interrupted).then_some(BenchError::Interrupted);
        let origin = Origin { host: measured.host, started: measured.started };
        Ok(record(plan, origin, Done { rounds: measured.samples, elapsed: measured.elapsed_seconds, stopped }))
    }
}

impl MeasuredBench {
    /// Checks what the computations rely on.
    fn check(&self) -> Result<(), ReadError> {
        let wrong = |field: &str, why: &str| Err(ReadError::field(field, why));
        if self.conditions.iter().any(|one| !(1..=MOST_WORKERS).contains(&one.workers)) {
            return wrong("conditions", "a number of workers is out of range");
        }
        if self.samples.iter().flatten().any(|run| run.times == 0 || run.condition >= self.conditions.len()) {
            return wrong("samples", "a run has no signatures or an unknown condition");
        }
        if self.elapsed_seconds > LONGEST || self.samples.iter().flatten().any(|run| is_longer(run, LONGEST)) {
            return wrong("samples", "a time is longer than any measurement");
        }
        Ok(())
    }
}

/// Returns whether a time of a run is longer than `longest`.
fn is_longer(run: &BenchRun, longest: Nanos) -> bool {
    let waited = run.lock.as_ref().map_or(Nanos(0), |lock| lock.lock_waited_seconds);
    [run.wall_seconds, run.user_seconds, run.system_seconds].into_iter().any(|time| time > longest)
        || waited.seconds() > longest.seconds() * f64::from(MOST_WORKERS)
}

#[cfg(test)]
mod tests {
    use steady_model::{Bytes, Nanos, Seed, Verdict};

    use proptest::prelude::*;
    use proptest::sample::Index;
    use steady_feature::{Record, Report};
    use steady_render::json::ReadError;
    use steady_testing::values::{changed, odd_value};

    use super::*;
    use crate::plan::{caches, conditions};
    use crate::record::Input;
    use crate::run::{SimulatedCrew, measure};

    fn host() -> Host {
        let none = || Absent::because("not available in this test");
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

    fn measured(seed: u64, budget: u64, crew: &mut SimulatedCrew) -> BenchRecord {
        let caches = caches(&[("L1", 32 << 10), ("L2", 1 << 20)]);
        let plan = BenchPlan {
            input: Input::Made,
            conditions: conditions(4 << 20, Bytes(128 << 10), &caches),
            caches,
            cpus: 2,
            tick: Ok(Nanos(4_000_000)),
            budget: Nanos(budget),
            seed: Seed(seed),
        };
        let done = measure(&plan, crew, &mut |_| {});
        record(plan, Origin { host: host(), started: Timestamp(0) }, done)
    }

    #[test]
    fn the_answers_recover_the_simulated_factors() {
        for seed in 0..5 {
            let mut crew = SimulatedCrew::new(seed);
            crew.start = 0.0;
            let record = measured(seed, 60_000_000_000, &mut crew);
            let only = |question| record.answers_to(question).next().unwrap();
            // Pools and lists per worker use two CPUs; the locked list uses one.
            let expected = [
                (Question::Gain, 2.0 * 3.0 * 2.0),
                (Question::Lock, 3.0 * 2.0),
                (Question::List, 2.0),
                (Question::Alone, 2.2),
                (Question::PoolParallel, 2.0),
                (Question::GlobalParallel, 1.1 / 3.0),
                (Question::Locality, 1.25),
            ];
            for (question, factor) in expected {
                let answer = only(question);
                let (found, interval) = (answer.factor.clone().unwrap(), answer.interval.clone().unwrap());
                assert!((found / factor - 1.0).abs() < 0.03, "{question:?}: {answer:?}");
                // At 95 %, one in twenty intervals may miss, but not by much.
                let wide = Interval { low: interval.low * 0.97, high: interval.high * 1.03 };
                assert!(wide.holds(factor), "{question:?}: {answer:?}");
                assert!(matches!(answer.verdict, Verdict::Faster | Verdict::Slower), "{answer:?}");
            }
            let sizes: Vec<f64> =
                record.answers_to(Question::PoolSize).map(|one| one.factor.clone().unwrap()).collect();
            assert!(sizes[0] < 1.03 && sizes[sizes.len() - 1] > 1.2, "{sizes:?}");
        }
    }

    #[test]
    fn a_condition_with_few_runs_has_no_interval() {
        let record = measured(1, 12_000_000_000, &mut SimulatedCrew::new(1));
        let is_expensive =
            |one: &BenchCondition| one.allocator == Allocator::Global && one.workers == 8 && one.bytes == 4 << 20;
        let expensive = record.conditions.iter().find(|one| is_expensive(&one.condition));
        let figures = expensive.unwrap().figures.as_ref().unwrap();
        assert!(figures.runs < 6 && figures.wall_interval.is_err(), "{figures:?}");
        assert!(figures.lock_acquisitions.clone().unwrap() > 4e6, "{figures:?}");
        assert!(figures.lock_waiting_ratio.clone().unwrap() > 0.5, "{figures:?}");
        let cheap = record.conditions[0].figures.as_ref().unwrap();
        assert!(cheap.runs > figures.runs, "{cheap:?}");
    }

    #[test]
    fn an_interruption_keeps_the_measurements_so_far() {
        let mut crew = SimulatedCrew::new(2);
        crew.interrupted_after = Some(100);
        let record = measured(2, 60_000_000_000, &mut crew);
        assert_eq!(record.ending, Ending::Interrupted);
        assert!(record.conditions.iter().any(|one| one.figures.is_ok()));
        assert!(record.conditions.iter().any(|one| one.figures.is_err()));
        let answered = |answer: &Answer| answer.factor.is_ok();
        assert!(record.answers.iter().all(|one| answered(one) == (one.question == Question::Gain)));
    }

    /// One round of all conditions takes longer than the budget, as on a busy machine.
    #[test]
    fn the_question_of_the_first_sentence_is_measured_first() {
        let record = measured(3, 2_000_000_000, &mut SimulatedCrew::new(3));
        let gain = record.answers_to(Question::Gain).next().unwrap();
        assert!(gain.interval.is_ok() && gain.verdict == Verdict::Slower, "{gain:?}");
        let lock = record.answers_to(Question::Lock).next().unwrap();
        assert!(lock.factor.is_err(), "the budget is spent after one round of all conditions: {lock:?}");
    }

    #[test]
    fn a_record_is_read_back_from_its_samples() {
        let mut interrupted = SimulatedCrew::new(2);
        interrupted.interrupted_after = Some(100);
        for mut crew in [SimulatedCrew::new(4), interrupted] {
            let record = measured(4, 2_000_000_000, &mut crew);
            assert_eq!(BenchRecord::read(&record.json(true)), Ok(record.clone()));
            assert_eq!(BenchRecord::read(&record.json(false)), Err(ReadError::WithoutSamples));
        }
    }

    #[test]
    fn few_ticks_do_not_split_the_cpu_time() {
        let record = measured(1, 12_000_000_000, &mut SimulatedCrew::new(1));
        let figures = |record: &BenchRecord| -> Vec<Figures> {
            record.conditions.iter().filter_map(|one| one.figures.clone().ok()).collect()
        };
        assert!(figures(&record).iter().all(|one| one.user_seconds.is_ok() && one.cpu_seconds > 0.0));
        let plan = |tick| BenchPlan {
            input: Input::Made,
            conditions: record.conditions.iter().map(|one| one.condition).collect(),
            caches: vec![],
            cpus: 2,
            tick,
            budget: record.budget_seconds,
            seed: record.seed,
        };
        let origin = Origin { host: host(), started: Timestamp(0) };
        let done = Done { rounds: record.samples.clone(), elapsed: record.elapsed_seconds, stopped: None };
        for one in figures(&super::record(plan(Ok(LONGEST)), origin, done)) {
            assert!(one.user_seconds.unwrap_err().0.starts_with("this condition used "));
            assert!(one.system_seconds.is_err() && one.cpu_seconds > 0.0);
        }
        let mut old: serde_json::Value = serde_json::from_str(&record.json(true)).unwrap();
        old.as_object_mut().unwrap().remove("tick_seconds");
        let read = BenchRecord::read(&old.to_string()).unwrap();
        assert_eq!(figures(&read), figures(&record));
        assert_eq!(read.tick_seconds, steady_model::Record::tick_not_recorded());
    }

    #[test]
    fn signatures_of_files_are_not_read_as_a_bench() {
        let files = r#"{"schema": "steady.signature/1", "kind": "files", "files": []}"#;
        let refused = BenchRecord::read(files).unwrap_err().to_string();
        assert!(refused.contains("signatures of files are not measurements"), "{refused}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

        #[test]
        fn changed_records_never_panic(changes in prop::collection::vec((any::<Index>(), odd_value()), 1..4)) {
            let record = measured(5, 200_000_000, &mut SimulatedCrew::new(5));
            let value = changed(serde_json::from_str(&record.json(true)).unwrap(), changes);
            if let Ok(read) = BenchRecord::read(&value.to_string()) {
                let _ = (read.document(), read.csv(), read.drawing(), read.facts());
                prop_assert_eq!(BenchRecord::read(&read.json(true)), Ok(read));
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_order() {
        let order = |seed| measured(seed, 2_000_000_000, &mut SimulatedCrew::new(0)).samples;
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
    }
}
