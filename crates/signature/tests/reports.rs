//! Signatures and what an allocator's lock costs, made by hand: some files, one of which has no signature; a usual bench, and
//! one that was interrupted.

use steady_model::*;

use crate::made;

/// Two files that have signatures and one that has none.
pub(crate) fn files() -> SignatureReport {
    let signed = |signature, bytes| Signed {
        signature,
        bytes,
        crew: SignatureCrew::Threads(8),
        lock: Ok(SignatureLock { acquisitions: 1_027_376, contended: 2_840, waited: Nanos(1_970_000_000) }),
        allocations: 513_688,
        elapsed: Nanos(367_000_000),
        user: Nanos(126_000_000),
        system: Nanos(204_000_000),
        peak_memory: Ok(Bytes(8_755_609)),
    };
    let shrank = "it shrank while it was read: it ended at byte 8000123 of 12582912";
    let file = |name: &str, signed| SignatureFile { name: name.to_owned(), signed };
    let files = vec![
        file("random", Ok(signed(1_740_183_508, 1 << 20))),
        file("a name\nwith | <b>all</b>, \"and\"", Ok(signed(98, 1))),
        file("log", Err(Absent::because(shrank))),
    ];
    SignatureReport { allocator: SignatureAllocator::Global, pool: None, stats: true, files }
}

/// One file by the C library's allocator, of whose lock nothing is known.
pub(crate) fn one() -> SignatureReport {
    let mut report = files();
    report.files.truncate(1);
    report.allocator = SignatureAllocator::System;
    if let Ok(signed) = &mut report.files[0].signed {
        signed.lock = Err(Absent::because("the C library does not tell of its locks"));
        signed.crew = SignatureCrew::Single;
    }
    report
}

fn conditions() -> Vec<SignatureCondition> {
    let mut all = Vec::new();
    for bytes in [5_120, 1 << 20] {
        for workers in [1, 2, 8] {
            for allocator in [
                SignatureAllocator::None,
                SignatureAllocator::Pool,
                SignatureAllocator::Global,
                SignatureAllocator::System,
            ] {
                let pool = (allocator == SignatureAllocator::Pool).then_some(Bytes(128 << 10));
                all.push(SignatureCondition { allocator, workers, bytes, pool, kept: false });
            }
        }
    }
    let one = |allocator, workers, pool: Option<u64>, kept| SignatureCondition {
        allocator,
        workers,
        bytes: 1 << 20,
        pool: pool.map(Bytes),
        kept,
    };
    all.push(one(SignatureAllocator::OwnList, 8, None, false));
    all.push(one(SignatureAllocator::Pool, 1, Some(8_176), true));
    all.push(one(SignatureAllocator::Pool, 1, Some(128 << 10), true));
    all.push(one(SignatureAllocator::Scattered, 1, Some(2 << 20), true));
    let walked = [24 << 10, 48 << 10, 2 << 20, 4 << 20];
    all.extend(walked.map(|pool| one(SignatureAllocator::WalkedPool, 1, Some(pool), true)));
    all
}

fn figures(condition: &SignatureCondition) -> Reading<SignatureFigures> {
    let share = match condition.allocator {
        SignatureAllocator::None => 0.15,
        SignatureAllocator::Pool | SignatureAllocator::WalkedPool => 1.0,
        SignatureAllocator::Global => 6.0,
        SignatureAllocator::System => 1.3,
        SignatureAllocator::OwnList => 2.4,
        SignatureAllocator::Scattered => 1.2,
    };
    let global = condition.allocator == SignatureAllocator::Global;
    let apart = if global { 1.0 } else { f64::from(condition.workers.min(2)) };
    let wall = condition.bytes as f64 * 12e-9 * share / apart + f64::from(condition.workers) * 30e-6;
    let few = || Absent::because("there were 2 runs of it, too few for an interval: a larger --budget gives one");
    let seldom = global && condition.workers == 8;
    let no_lock = || Absent::because("the C library does not tell of its locks");
    let lock = |value| if condition.allocator == SignatureAllocator::System { Err(no_lock()) } else { Ok(value) };
    Ok(SignatureFigures {
        runs: if seldom { 2 } else { 14 },
        wall,
        wall_interval: if seldom { Err(few()) } else { Ok(Interval { low: wall * 0.98, high: wall * 1.03 }) },
        user: wall * apart * 0.8,
        system: wall * apart * 0.2,
        acquisitions: lock(if global { (condition.bytes / 1_024 * 1_004) as f64 } else { 0.0 }),
        waiting: lock(if global && condition.workers > 1 { 0.7 } else { 0.0 }),
    })
}

fn answers(conditions: &[SignatureCondition]) -> Vec<SignatureAnswer> {
    let at = |allocator, workers, kept| {
        let is = |one: &SignatureCondition| {
            one.bytes == 1 << 20 && one.allocator == allocator && one.workers == workers && one.kept == kept
        };
        conditions.iter().position(is).unwrap()
    };
    let kept = at(SignatureAllocator::Pool, 1, true) + 1;
    let answer = |question, old, new, factor: f64| SignatureAnswer {
        question,
        old,
        new,
        pairs: 14,
        factor: Ok(factor),
        interval: Ok(Interval { low: factor * 0.97, high: factor * 1.04 }),
        verdict: if factor > 1.05 { Verdict::Slower } else { Verdict::Undecided },
    };
    let by = |allocator, workers| at(allocator, workers, false);
    let (pool, global) = (by(SignatureAllocator::Pool, 8), by(SignatureAllocator::Global, 8));
    let own = by(SignatureAllocator::OwnList, 8);
    let mut all = vec![
        answer(SignatureQuestion::Gain, pool, global, 11.7),
        answer(SignatureQuestion::Lock, own, global, 4.9),
        answer(SignatureQuestion::List, pool, own, 2.4),
        answer(SignatureQuestion::Alone, by(SignatureAllocator::Pool, 1), by(SignatureAllocator::Global, 1), 2.5),
        answer(SignatureQuestion::PoolParallel, pool, by(SignatureAllocator::Pool, 1), 1.93),
        answer(SignatureQuestion::GlobalParallel, global, by(SignatureAllocator::Global, 1), 0.41),
        answer(SignatureQuestion::Locality, kept, at(SignatureAllocator::Scattered, 1, true), 1.21),
        answer(SignatureQuestion::PoolRoom, kept - 1, kept, 1.001),
    ];
    let first = at(SignatureAllocator::WalkedPool, 1, true);
    let walked = [0.998, 1.004, 1.02, 1.13];
    let each = walked
        .iter()
        .enumerate()
        .map(|(place, factor)| answer(SignatureQuestion::PoolSize, kept, first + place, *factor));
    all.extend(each);
    all
}

/// A bench that was finished.
pub(crate) fn bench() -> SignatureBenchReport {
    let conditions = conditions();
    let run = |condition: usize| SignatureRun {
        condition,
        times: 3,
        wall: Nanos(38_000_000),
        user: Nanos(36_000_000),
        system: Nanos(1_000_000),
        lock: Ok(SignatureLock::default()),
    };
    let plan = SignatureBenchPlan {
        input: SignatureInput::Made,
        conditions: conditions.clone(),
        pool: Bytes(128 << 10),
        caches: vec![("L1".to_owned(), Bytes(48 << 10)), ("L2".to_owned(), Bytes(2 << 20))],
        cpus: 2,
        budget: Nanos(20_000_000_000),
        seed: Seed(7),
    };
    SignatureBenchReport {
        figures: conditions.iter().map(figures).collect(),
        answers: answers(&conditions),
        record: SignatureBenchRecord {
            plan,
            host: made::host("KVM"),
            started: Timestamp(1_780_000_000),
            rounds: vec![vec![run(3), run(1)]; 14],
            elapsed: Nanos(20_100_000_000),
            ending: Ending::Spent,
        },
    }
}

/// The same interrupted early, on a file's bytes and a machine that does not tell of its caches.
pub(crate) fn interrupted() -> SignatureBenchReport {
    let mut report = bench();
    report.record.ending = Ending::Interrupted;
    report.record.plan.input = SignatureInput::File("data | <b>".to_owned());
    report.record.plan.caches.clear();
    let few = || Absent::because("there was 1 run of both, too few for an interval: a larger --budget gives one");
    for answer in &mut report.answers {
        (answer.factor, answer.interval, answer.verdict) = (Err(few()), Err(few()), Verdict::Undecided);
    }
    report.figures[7] = Err(Absent::because("it was interrupted before"));
    report
}
