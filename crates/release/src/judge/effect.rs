//! An effect on the logarithm of cost, and what it comes to at some level of error.

use crate::record::{ChangeEstimate, ReleaseChange};
use steady_model::{Absent, Interval, Nanos, Reading, Verdict};
use steady_stats::release::{self as estimators, CoinPairs, Estimated, HostShare, between_hosts, critical};

use super::window::Line;

/// In seconds.
const MINUTE: f64 = 60.0;

/// An effect, NEW less OLD, as a design found it.
pub(crate) enum Effect {
    /// By its error, on both sides alike, beyond which the interval reaches this much further.
    Student(Estimated, f64),
    /// By the coins of pairs of slots, with the estimate.
    Coins(Box<CoinPairs>, f64),
    /// By another effect, and as far beyond its low and its high end as CPU time that no request explains could move it.
    Unexplained(Box<Effect>, [f64; 2]),
    /// By what is known within hosts, or with the host as the unit, whichever reaches further: where hosts do not
    /// differ the first one is right, where they do the second.
    Hosts(Box<Effect>, Estimated),
}

impl Effect {
    /// The same, not known better than the spread of the hosts that it is from allows, where that is known.
    pub(crate) fn among(self, hosts: &[HostShare]) -> Effect {
        match between_hosts(self.estimate(), hosts) {
            Some(between) => Effect::Hosts(Box::new(self), between),
            None => self,
        }
    }

    /// The estimate.
    pub(crate) fn estimate(&self) -> f64 {
        match self {
            Effect::Student(estimated, _) => estimated.effect,
            Effect::Coins(_, estimate) => *estimate,
            Effect::Unexplained(effect, _) | Effect::Hosts(effect, _) => effect.estimate(),
        }
    }

    /// The interval that leaves out `alpha`.
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

    /// The estimate with an error, as Student's t would have it.
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

/// What is asked of every change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// The error that may be spent now.
    pub(crate) alpha: f64,
    /// The change that is of interest.
    pub(crate) resolution: f64,
    /// How many minutes of traffic were seen.
    pub(crate) minutes: f64,
}

/// Plain sums of both versions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plain {
    /// Requests.
    pub(crate) requests: [u64; 2],
    /// CPU time in nanoseconds.
    pub(crate) cpu: [f64; 2],
}

impl Plain {
    pub(crate) fn of<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Plain {
        let mut plain = Plain::default();
        for line in lines {
            plain.requests[line.side] += line.row.sums.requests;
            plain.cpu[line.side] += line.row.sums.cpu;
        }
        plain
    }

    /// The mean CPU time of a request of one side.
    pub(crate) fn mean(&self, side: usize) -> Option<f64> {
        (self.requests[side] > 0).then(|| self.cpu[side] / self.requests[side] as f64)
    }

    /// The change of the means.
    pub(crate) fn change(&self) -> Reading<f64> {
        match (self.mean(0), self.mean(1)) {
            (Some(old), Some(new)) if old > 0.0 => Ok(new / old - 1.0),
            _ => Err(Absent::because("one version did not serve it")),
        }
    }
}

/// An effect as an estimate with its interval.
pub(crate) fn estimate(effect: &Reading<Effect>, alpha: f64) -> ChangeEstimate {
    let sized = effect.as_ref().map_err(Clone::clone);
    bounded(sized.map(|effect| (effect.estimate().exp_m1(), estimators::relative(&effect.interval(alpha)))))
}

fn bounded(sized: Reading<(f64, Interval)>) -> ChangeEstimate {
    let (change, interval) = match sized {
        Ok((change, interval)) if interval.low.is_finite() && interval.high.is_finite() => (Ok(change), Ok(interval)),
        Ok((change, _)) => (Ok(change), Err(Absent::because("too little was seen to bound it"))),
        Err(why) => (Err(why.clone()), Err(why)),
    };
    ChangeEstimate::new(change, interval)
}

/// The change as it is told: with the interval that all looks so far leave, if there were any.
pub(crate) fn change(effect: &Reading<Effect>, plain: &Plain, asked: &Asked) -> ReleaseChange {
    let raw_change = plain.change();
    let told = effect.as_ref().map_err(Clone::clone).map(|effect| {
        let interval = estimators::relative(&effect.interval(asked.alpha));
        (effect.estimate().exp_m1(), interval)
    });
    told_change(told, raw_change, plain.requests, asked)
}

/// The same, from a change and an interval that are known already.
pub(crate) fn told_change(
    told: Reading<(f64, Interval)>,
    raw_change: Reading<f64>,
    requests: [u64; 2],
    asked: &Asked,
) -> ReleaseChange {
    let ChangeEstimate { change, low, high } = bounded(told);
    let interval = ChangeEstimate { change: change.clone(), low: low.clone(), high: high.clone() }.interval();
    let verdict =
        interval.as_ref().map_or(Verdict::Undecided, |interval| estimators::verdict(interval, asked.resolution));
    let settle = |change: f64, interval: &Interval| {
        estimators::time_to_settle(change, interval, asked.resolution).map(|factor| factor * asked.minutes)
    };
    let minutes = match (verdict, &change, &interval) {
        (Verdict::Undecided, Ok(change), Ok(interval)) => settle(*change, interval),
        _ => None,
    };
    let settle_seconds = match minutes {
        Some(minutes) if minutes.is_finite() => Ok(minutes * MINUTE),
        Some(_) => Err(Absent::because("longer than can be told")),
        None => Err(ReleaseChange::not_settled()),
    };
    let load_shift = match (&raw_change, &change) {
        (Ok(raw), Ok(change)) => Ok((1.0 + raw) / (1.0 + change) - 1.0),
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    };
    let within = |interval: &Interval| estimators::within_resolution(interval, asked.resolution);
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

/// Nanoseconds, from what was computed with them.
pub(crate) fn nanos(value: f64) -> Nanos {
    Nanos(value.round() as u64)
}
