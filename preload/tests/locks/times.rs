//! Durations: a program in which every other acquisition is contended measures its waits and holds itself.

use steady_preload::area::{EARLY, Kind, ProcessPlace, bucket_of};

use crate::watched::{Area, Bytes, Queries, compiled, get, numbers, within};

const TIMES: u64 = 100;

#[test]
fn waits_and_holds_match_those_the_program_measures() {
    let program = compiled(include_str!("times.c"));
    for (way, kind) in [
        ("mutex", Kind::Mutex),
        ("recursive", Kind::Mutex),
        ("rwlock", Kind::Rwlock),
        ("read", Kind::Rwlock),
        ("spin", Kind::Spinlock),
    ] {
        // On a busy machine a thread may come too late to wait, or be preempted between its clock and the call, so
        // retry.
        let attempt = || {
            let area = Area::new(1);
            let measured = numbers(&area.run(&program, &[way, &TIMES.to_string()]));
            (measured, area.place(0))
        };
        let is_complete = |(measured, place): &(Vec<u64>, Bytes<ProcessPlace>)| {
            let used = Queries::locks(&**place, kind);
            let all = used.iter().map(|(number, _)| place.totals(*number));
            let lock = { all }.find(|lock| lock.acquisitions > 0).expect("a lock was used");
            lock.contended == TIMES && within(10, lock.wait, measured[0]) && within(10, lock.hold, measured[1])
        };
        let (measured, place) = (0..20).map(|_| attempt()).find(is_complete).unwrap_or_else(attempt);
        let used = Queries::locks(&*place, kind);
        let (number, lock) =
            *used.iter().find(|(number, _)| place.totals(*number).acquisitions > 0).expect("a lock was used");
        let totals = place.totals(number);
        let expected = if way == "recursive" { 4 * TIMES } else { 2 * TIMES };
        assert_eq!((totals.acquisitions, totals.contended), (expected, TIMES), "{way}");
        let [wait, hold] = [totals.wait, totals.hold];
        assert!(within(10, wait, measured[0]), "{way}: waited {wait} of {}", measured[0]);
        assert!(within(10, hold, measured[1]), "{way}: held {hold} of {}", measured[1]);
        assert_eq!(totals.holds, TIMES, "{way}");
        // No hold begins with a recursive acquisition. Each thread makes one in a round, so two of three that are
        // uncontended.
        let early = EARLY.min(expected - TIMES);
        let early = if way == "recursive" { early.div_ceil(3) } else { early };
        assert_eq!(get(&lock.holds_early), early, "{way}");
        let sum = get(&lock.hold_early);
        // The watcher's times contain the beginning and the end of the calls.
        let most = measured[2] + measured[2] / 10;
        assert!((early * 2_000_000..most).contains(&sum), "{way}: held {sum} of {}", measured[2]);
        // At most the few later ones that `is_sampled` selects.
        assert!(get(&lock.holds_sampled) < 5, "{way}");
        assert_eq!(totals.waits.iter().sum::<u64>(), TIMES, "{way}");
        assert!(totals.waits[bucket_of(1_000_000)..].iter().sum::<u64>() > TIMES / 2, "{way}");
        assert_eq!(place.threads_of(number), 2, "{way}");
    }
}

#[test]
fn waits_for_conditions_semaphores_and_joins_are_measured() {
    let program = compiled(include_str!("times.c"));
    // On a busy machine a thread may come so late that the event has already happened, so retry.
    let attempt = || {
        let area = Area::new(1);
        let measured = numbers(&area.run(&program, &["condition", &TIMES.to_string()]));
        (measured, area.place(0))
    };
    let is_complete = |(_, place): &(Vec<u64>, Bytes<ProcessPlace>)| {
        let conditions = Queries::locks(&**place, Kind::Condition);
        conditions.iter().any(|(number, _)| place.totals(*number).acquisitions >= TIMES)
    };
    let (measured, place) = (0..5).map(|_| attempt()).find(is_complete).unwrap_or_else(attempt);
    let conditions = Queries::locks(&*place, Kind::Condition);
    let condition = place.totals(conditions[0].0);
    assert_eq!((conditions.len(), condition.contended), (1, condition.acquisitions));
    assert!(condition.acquisitions >= TIMES);
    assert!(within(10, condition.wait, measured[0]), "{} of {}", condition.wait, measured[0]);
    let gate = place.totals(Queries::locks(&*place, Kind::Mutex)[0].0);
    assert_eq!(gate.acquisitions, TIMES + 1);
    // No thread held the mutex while it waited for the condition.
    assert!(gate.hold_most < condition.wait / 10);
    let threads = place.threads();
    assert!(get(&threads[1].wait_events) >= condition.wait);
    assert!(get(&threads[0].wait_joins) > 0 && get(&threads[0].wait_joins) <= measured[3]);
    assert!(threads.iter().all(|thread| get(&thread.waits_since) == 0));
}
