//! Effects on the logarithm of cost, their intervals, and the changes that reports contain.

use std::collections::BTreeMap;

use crate::record::{ChangeEstimate, ReleaseChange};
use steady_model::{Absent, Interval, Nanos, Reading, Verdict};
use steady_stats::release::{
    self as estimators, CoinPairs, Estimated, HostShare, UnitCell, between_hosts, critical, unit_ratios,
};

use super::window::Line;

/// Seconds in a minute.
const MINUTE: f64 = 60.0;

/// Effect on the logarithm of cost, NEW minus OLD, and how its interval is computed.
pub(crate) enum Effect {
    /// Interval by Student's t, extended on both sides by the second field.
    Student(Estimated, f64),
    /// Interval by inverting the test of the coins of pairs of slots. The second field is the estimate.
    Coins(Box<CoinPairs>, f64),
    /// Interval of another effect, extended at its lower and upper end by the two numbers for unexplained CPU time.
    Unexplained(Box<Effect>, [f64; 2]),
    /// Union of two intervals: from the error within hosts, and with the host as the unit. If hosts do not differ, the
    /// first is right; if they do, the second.
    Hosts(Box<Effect>, Estimated),
}

impl Effect {
    /// Extends the interval to the one with the host as the unit, if there are enough hosts.
    pub(crate) fn with_hosts(self, hosts: &[HostShare]) -> Effect {
        match between_hosts(self.estimate(), hosts) {
            Some(between) => Effect::Hosts(Box::new(self), between),
            None => self,
        }
    }

    /// Returns the estimate of the effect, as a logarithm.
    pub(crate) fn estimate(&self) -> f64 {
        match self {
            Effect::Student(estimated, _) => estimated.effect,
            Effect::Coins(_, estimate) => *estimate,
            Effect::Unexplained(effect, _) | Effect::Hosts(effect, _) => effect.estimate(),
        }
    }

    /// Returns the interval with the confidence 1 - `alpha`.
    pub(crate) fn interval(&self, alpha: f64) -> Interval {
        match self {
            Effect::Student(estimated, beyond) => {
                let Interval { low, high } = estimated.interval(alpha);
                Interval { low: low - beyond, high: high + beyond }
            }
            Effect::Coins(coins, _) => coins.interval(alpha),
            Effect::Unexplained(effect, [below, above]) => {
                let Interval { low, high } = effect.interval(alpha);
                Interval { low: low - below, high: high + above }
            }
            Effect::Hosts(within, between) => {
                let (within, between) = (within.interval(alpha), between.interval(alpha));
                Interval { low: within.low.min(between.low), high: within.high.max(between.high) }
            }
        }
    }

    /// Returns the estimate with a variance and degrees of freedom, for combining it with others.
    pub(crate) fn estimated(&self) -> Estimated {
        const ALPHA: f64 = 0.05;
        match self {
            Effect::Student(estimated, _) => *estimated,
            Effect::Coins(coins, estimate) => {
                let freedom = coins.freedom();
                let error = coins.interval(ALPHA).half_width() / critical(ALPHA, freedom);
                Estimated { effect: *estimate, variance: error * error, freedom }
            }
            Effect::Unexplained(effect, _) | Effect::Hosts(effect, _) => effect.estimated(),
        }
    }
}

/// Parameters of intervals and verdicts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Criteria {
    /// Error rate of the interval.
    pub(crate) alpha: f64,
    /// Smallest change that matters, as a ratio.
    pub(crate) resolution: f64,
    /// Minutes of traffic in the comparison.
    pub(crate) minutes: f64,
    /// Whether the comparison is refused. More of the same traffic would then not help.
    pub(crate) is_refused: bool,
    /// Whether more of the same traffic narrows intervals.
    pub(crate) narrows_with_traffic: bool,
}

/// Unadjusted sums of OLD and NEW.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plain {
    /// Number of requests of each version.
    pub(crate) requests: [u64; 2],
    /// CPU time of each version, in nanoseconds.
    pub(crate) cpu: [f64; 2],
}

impl Plain {
    pub(crate) fn of<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Plain {
        let mut plain = Plain::default();
        lines.into_iter().for_each(|line| plain.add(line));
        plain
    }

    pub(crate) fn add(&mut self, line: &Line) {
        self.requests[line.side] += line.row.sums.requests;
        self.cpu[line.side] += line.row.sums.cpu;
    }

    /// Returns the mean CPU time per request of a side, in nanoseconds.
    pub(crate) fn mean(&self, side: usize) -> Option<f64> {
        (self.requests[side] > 0).then(|| self.cpu[side] / self.requests[side] as f64)
    }

    /// Returns the change of the means, NEW / OLD - 1.
    pub(crate) fn change(&self) -> Reading<f64> {
        match (self.mean(0), self.mean(1)) {
            (Some(old), Some(new)) if old > 0.0 => Ok(new / old - 1.0),
            _ => Err(Absent::because("one version did not serve it")),
        }
    }
}

/// Returns the mean CPU time of a request of each route and class, in nanoseconds, halfway between the versions.
///
/// It is fitted together with the ratio of the versions. A plain mean over both versions would contain that ratio in
/// proportion to each version's share: if the mix of routes differs between the versions, costs relative to it would
/// show only a part of the change.
pub(crate) fn levels_of_strata(strata: &BTreeMap<(u32, u32), Plain>) -> BTreeMap<(u32, u32), f64> {
    let cells = strata.values().enumerate().flat_map(|(cell, plain)| {
        let of = move |unit: usize| UnitCell { cell, unit, n: plain.requests[unit] as f64, y: plain.cpu[unit] };
        [of(0), of(1)]
    });
    let ratios = unit_ratios(&cells.collect::<Vec<UnitCell>>(), strata.len(), 2);
    let ratio = ratios[1].zip(ratios[0]).map_or(1.0, |(new, old)| (new - old).exp());
    let level = |plain: &Plain| {
        let [old, new] = plain.requests.map(|requests| requests as f64);
        (plain.cpu[0] + plain.cpu[1]) / (old + ratio * new) * ratio.sqrt()
    };
    strata.iter().map(|(stratum, plain)| (*stratum, level(plain))).collect()
}

/// Converts an effect to a relative change with its interval.
pub(crate) fn estimate(effect: &Reading<Effect>, alpha: f64) -> ChangeEstimate {
    let sized = effect.as_ref().map_err(Clone::clone);
    bounded(sized.map(|effect| (effect.estimate().exp_m1(), estimators::relative(&effect.interval(alpha)))))
}

fn bounded(sized: Reading<(f64, Interval)>) -> ChangeEstimate {
    let (change, interval) = match sized {
        Ok((change, interval)) if interval.low.is_finite() && interval.high.is_finite() => (Ok(change), Ok(interval)),
        Ok((change, _)) => (Ok(change), Err(Absent::because("there are too few data for an interval"))),
        Err(why) => (Err(why.clone()), Err(why)),
    };
    ChangeEstimate::new(change, interval)
}

/// Converts an effect to the change of a report, with its verdict.
pub(crate) fn change(effect: &Reading<Effect>, plain: &Plain, criteria: &Criteria) -> ReleaseChange {
    let raw_change = plain.change();
    let estimate = effect.as_ref().map_err(Clone::clone).map(|effect| {
        let interval = estimators::relative(&effect.interval(criteria.alpha));
        (effect.estimate().exp_m1(), interval)
    });
    release_change(estimate, raw_change, plain.requests, criteria)
}

/// Creates the change of a report from a relative change and its interval.
pub(crate) fn release_change(
    estimate: Reading<(f64, Interval)>,
    raw_change: Reading<f64>,
    requests: [u64; 2],
    criteria: &Criteria,
) -> ReleaseChange {
    let ChangeEstimate { change, low, high } = bounded(estimate);
    let interval = ChangeEstimate { change: change.clone(), low: low.clone(), high: high.clone() }.interval();
    let verdict =
        interval.as_ref().map_or(Verdict::Undecided, |interval| estimators::verdict(interval, criteria.resolution));
    let settle = |change: f64, interval: &Interval| {
        estimators::time_if_as_estimated(change, interval, criteria.resolution).map(|factor| factor * criteria.minutes)
    };
    let minutes = match (verdict, &change, &interval) {
        (Verdict::Undecided, Ok(change), Ok(interval)) if criteria.narrows_with_traffic && !criteria.is_refused => {
            settle(*change, interval)
        }
        _ => None,
    };
    let settle_seconds = match minutes {
        Some(minutes) if minutes.is_finite() => Ok(minutes * MINUTE),
        Some(_) => Err(Absent::because("the time is too long to be estimated")),
        None => Err(ReleaseChange::not_settled(verdict, criteria.is_refused)),
    };
    let load_shift = match (&raw_change, &change) {
        (Ok(raw), Ok(change)) => Ok((1.0 + raw) / (1.0 + change) - 1.0),
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    };
    let within = |interval: &Interval| steady_stats::within_resolution(interval, criteria.resolution);
    ReleaseChange {
        requests,
        within_resolution: interval.as_ref().is_ok_and(within),
        change,
        low,
        high,
        verdict,
        raw_change,
        load_shift,
        settle_seconds,
    }
}

/// Rounds a number of nanoseconds.
pub(crate) fn nanos(value: f64) -> Nanos {
    Nanos(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OLD served mostly the first route, NEW mostly the second one, and each request of NEW costs 10 % more.
    #[test]
    fn a_different_mix_of_routes_does_not_hide_a_change() {
        let plain = |requests: [u64; 2], cost: f64| {
            let cpu = [requests[0] as f64 * cost, requests[1] as f64 * cost * 1.1];
            Plain { requests, cpu }
        };
        let strata = BTreeMap::from([((0, 0), plain([900, 100], 2.0)), ((1, 0), plain([100, 900], 2.0))]);
        let levels = levels_of_strata(&strata);
        let ratio = |side: usize| {
            let expected = strata.iter().map(|(stratum, plain)| plain.requests[side] as f64 * levels[stratum]);
            strata.values().map(|plain| plain.cpu[side]).sum::<f64>() / expected.sum::<f64>()
        };
        assert!((ratio(1) / ratio(0) - 1.1).abs() < 1e-6, "{}", ratio(1) / ratio(0));
    }

    #[test]
    fn only_a_comparison_that_traffic_settles_says_how_long_it_takes() {
        let why = |is_refused, narrows_with_traffic| {
            let criteria = Criteria { alpha: 0.05, resolution: 0.01, minutes: 5.0, is_refused, narrows_with_traffic };
            let estimate = Ok((0.02, Interval { low: -0.01, high: 0.05 }));
            release_change(estimate, Ok(0.02), [1_000; 2], &criteria).settle_seconds
        };
        assert!(why(false, true).is_ok());
        assert_eq!(why(true, true), Err(Absent::because("the comparison is refused")));
        let unknown = "more of the same traffic is not known to lead to a verdict";
        assert_eq!(why(false, false), Err(Absent::because(unknown)));
    }
}
