//! Converts rows of requests to the sums that are published.

use std::collections::HashMap;

use steady_model::{Assignment, LevelSums, ReleaseRow, RequestSums};

/// The value of the label `assigned` for requests that were counted from outside.
pub(super) const OUTSIDE: &str = "outside";
/// A constant that is added, for each request, to the deviation of the requests before it. The deviation may be
/// negative, but a counter must not decrease.
const OFFSET: f64 = 16.0;

/// The key of sums of requests: the numbers of the names in the batch, and how the version was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BatchKey {
    pub(super) version: u32,
    pub(super) route: u32,
    pub(super) class: u32,
    pub(super) way: &'static str,
}

/// Adds up the rows of all seconds, processes and slots.
pub(super) fn sums_by_key(rows: &[ReleaseRow]) -> HashMap<BatchKey, RequestSums> {
    let mut all: HashMap<BatchKey, RequestSums> = HashMap::new();
    for row in rows {
        let way = way(row.process, row.assignment);
        let key = BatchKey { version: row.version, route: row.route, class: row.class, way };
        *all.entry(key).or_default() += row.sums;
    }
    all
}

fn way(process: u64, assignment: Assignment) -> &'static str {
    if process == 0 { OUTSIDE } else { assignment.name() }
}

/// Returns the increments of the published sums. Increments of counters are not negative.
pub(super) fn increments(sums: &RequestSums) -> RequestSums {
    let requests = sums.requests as f64;
    let most = OFFSET * requests;
    let before = sums.before.clamp(-most, most);
    RequestSums {
        cpu: increment(sums.cpu),
        cpu_squared: increment(sums.cpu_squared),
        log: increment(sums.log),
        log_squared: increment(sums.log_squared),
        before: increment(before + most),
        before_squared: increment(sums.before_squared + 2.0 * OFFSET * before + OFFSET * most),
        before_log: increment(sums.before_log + OFFSET * sums.log),
        wall: increment(sums.wall),
        levels: level_increments(&sums.levels),
        ..*sums
    }
}

/// Returns the increments of the sums in levels. Sums that may decrease are published as gauges, without an offset.
fn level_increments(levels: &LevelSums) -> LevelSums {
    let number = |value: f64| if value.is_finite() { value } else { 0.0 };
    let finite = LevelSums::from_values(levels.requests, levels.exceeding, levels.values().map(number));
    LevelSums {
        base: increment(finite.base),
        base_squared: increment(finite.base_squared),
        excess: increment(finite.excess),
        excess_squared: increment(finite.excess_squared),
        base_excess: increment(finite.base_excess),
        recent_squared: increment(finite.recent_squared),
        ruler_squared: increment(finite.ruler_squared),
        ..finite
    }
}

/// Returns a valid increment of a counter. Stores interpret a decrease of a counter as a restart of the agent.
pub(super) fn increment(added: f64) -> f64 {
    if added.is_finite() { added.max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_that_may_be_negative_are_restored_from_the_counters() {
        let sums = RequestSums {
            requests: 10,
            before: -1.5,
            before_squared: 0.4,
            before_log: -21.0,
            log: 140.0,
            ..RequestSums::default()
        };
        let added = increments(&sums);
        assert_eq!(added.before - 160.0, sums.before);
        assert!((added.before_squared - 32.0 * sums.before - 2_560.0 - sums.before_squared).abs() < 1e-9);
        assert!((added.before_log - 16.0 * sums.log - sums.before_log).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn counters_never_decrease(
            requests in 0..1_000_u64,
            values in prop::array::uniform8(prop::num::f64::ANY),
            levels in prop::array::uniform14(prop::num::f64::ANY),
        ) {
            let [cpu, cpu_squared, log, log_squared, before, before_squared, before_log, wall] = values;
            let sums = RequestSums {
                requests, cpu, cpu_squared, log, log_squared, before, before_squared, before_log, wall,
                levels: LevelSums::from_values(requests, 0, levels),
                ..RequestSums::default()
            };
            let added = increments(&sums);
            let LevelSums { excess, excess_squared, base_excess, recent_squared, ruler_squared, .. } = added.levels;
            for sum in [excess, excess_squared, base_excess, recent_squared, ruler_squared] {
                prop_assert!(sum >= 0.0, "{:?}", sums);
            }
            prop_assert!(added.levels.values().iter().all(|sum| sum.is_finite()), "{:?}", sums);
            let times = [added.cpu, added.cpu_squared, added.wall, added.log, added.log_squared];
            for sum in times.into_iter().chain([added.before, added.before_squared, added.before_log]) {
                prop_assert!(sum >= 0.0 && sum.is_finite(), "{:?}", sums);
            }
        }
    }
}
