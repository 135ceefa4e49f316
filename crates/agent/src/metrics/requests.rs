//! What a row of requests adds to the sums that are shown.

use std::collections::HashMap;

use steady_model::{Assignment, LevelSums, ReleaseRow, RequestSums};

/// The way of requests that were counted from outside.
pub(super) const OUTSIDE: &str = "outside";
/// Added, for each request, to how far the ones before it lay from what is usual, which may be negative.
const RAISED: f64 = 16.0;

/// The numbers that a batch has for a version, a route and a class, and how the version was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BatchKey {
    pub(super) version: u32,
    pub(super) route: u32,
    pub(super) class: u32,
    pub(super) way: &'static str,
}

/// Rows of all seconds, processes and slots together.
pub(super) fn together(rows: &[ReleaseRow]) -> HashMap<BatchKey, RequestSums> {
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

/// What is added to sums that only grow: each of them.
pub(super) fn raised(sums: &RequestSums) -> RequestSums {
    let requests = sums.requests as f64;
    let most = RAISED * requests;
    let before = sums.before.clamp(-most, most);
    RequestSums {
        cpu: risen(sums.cpu),
        cpu_squared: risen(sums.cpu_squared),
        log: risen(sums.log),
        log_squared: risen(sums.log_squared),
        before: risen(before + most),
        before_squared: risen(sums.before_squared + 2.0 * RAISED * before + RAISED * most),
        before_log: risen(sums.before_log + RAISED * sums.log),
        wall: risen(sums.wall),
        levels: finite(&sums.levels),
        ..*sums
    }
}

/// The sums in levels as they are shown. Those that may fall are gauges, so nothing is added to them.
fn finite(levels: &LevelSums) -> LevelSums {
    let number = |value: f64| if value.is_finite() { value } else { 0.0 };
    let shown = LevelSums::from_values(levels.requests, levels.exceeding, levels.values().map(number));
    LevelSums {
        base: risen(shown.base),
        base_squared: risen(shown.base_squared),
        excess: risen(shown.excess),
        excess_squared: risen(shown.excess_squared),
        base_excess: risen(shown.base_excess),
        recent_squared: risen(shown.recent_squared),
        ruler_squared: risen(shown.ruler_squared),
        ..shown
    }
}

/// A counter that went back would be taken for one that began anew.
pub(super) fn risen(added: f64) -> f64 {
    if added.is_finite() { added.max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_may_be_negative_comes_back() {
        let sums = RequestSums {
            requests: 10,
            before: -1.5,
            before_squared: 0.4,
            before_log: -21.0,
            log: 140.0,
            ..RequestSums::default()
        };
        let shown = raised(&sums);
        assert_eq!(shown.before - 160.0, sums.before);
        assert!((shown.before_squared - 32.0 * sums.before - 2_560.0 - sums.before_squared).abs() < 1e-9);
        assert!((shown.before_log - 16.0 * sums.log - sums.before_log).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn sums_only_grow(
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
            let shown = raised(&sums);
            let LevelSums { excess, excess_squared, base_excess, recent_squared, ruler_squared, .. } = shown.levels;
            for sum in [excess, excess_squared, base_excess, recent_squared, ruler_squared] {
                prop_assert!(sum >= 0.0, "{:?}", sums);
            }
            prop_assert!(shown.levels.values().iter().all(|sum| sum.is_finite()), "{:?}", sums);
            let times = [shown.cpu, shown.cpu_squared, shown.wall, shown.log, shown.log_squared];
            for sum in times.into_iter().chain([shown.before, shown.before_squared, shown.before_log]) {
                prop_assert!(sum >= 0.0 && sum.is_finite(), "{:?}", sums);
            }
        }
    }
}
