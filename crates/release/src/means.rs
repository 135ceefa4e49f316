//! Whether plain means contradict what the usual request did: that one is known much better, but a few requests that
//! became very dear are paid for as well.

use std::collections::BTreeMap;

use steady_model::{Interval, ReleaseWarning};
use steady_stats::release::{Estimated, critical, mean_in_time, relative};

use crate::window::Line;

/// The error at which the means are believed to say something else: a warning may be rare.
const ALPHA: f64 = 0.001;

/// The warning, if the change of the means (over the mean of both) is another than that of the usual request (as a
/// logarithm).
pub(crate) fn differ(means: &Estimated, usual: f64) -> Option<ReleaseWarning> {
    let apart = means.effect - symmetric(usual);
    (apart.abs() > critical(ALPHA, means.freedom) * means.error()).then(|| {
        let Interval { low, high } = means.interval(0.05);
        let interval = relative(&Interval { low: to_log(low), high: to_log(high) });
        ReleaseWarning::MeansDiffer { by_means: to_log(means.effect).exp_m1(), interval }
    })
}

/// Requests, their CPU time and its logarithms.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: f64,
    cpu: f64,
    log: f64,
}

/// What the means of versions that took turns by slots say: in each pair of slots, by how much they differ otherwise
/// than logarithms do, so that what load did to both is not in it.
pub(crate) fn of_slots(lines: &[Line], usual: f64) -> Option<Estimated> {
    let (mut pairs, mut routes) = (BTreeMap::<_, BTreeMap<u32, [Sums; 2]>>::new(), BTreeMap::<u32, [Sums; 2]>::new());
    for line in lines {
        let row = &line.row;
        let length = if row.second_of_pair { u64::from(row.slot_seconds) } else { 0 };
        let of_pair = pairs.entry((row.host, row.second.saturating_sub(length))).or_default();
        for sums in [of_pair.entry(row.route).or_default(), routes.entry(row.route).or_default()] {
            let own = &mut sums[line.side];
            *own = Sums { n: own.n + line.requests(), cpu: own.cpu + row.sums.cpu, log: own.log + line.log() };
        }
    }
    let apart = |of_pair: &BTreeMap<u32, [Sums; 2]>| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (route, [old, new]) in of_pair.iter().filter(|(_, [old, new])| old.n > 0.0 && new.n > 0.0) {
            let [all_old, all_new] = routes[route];
            let weight = all_old.cpu + all_new.cpu;
            let cost = weight / (all_old.n + all_new.n);
            sum += weight * ((new.cpu / new.n - old.cpu / old.n) / cost - symmetric(new.log / new.n - old.log / old.n));
            weights += weight;
        }
        (weights > 0.0).then(|| sum / weights)
    };
    let found = mean_in_time(&pairs.values().filter_map(apart).collect::<Vec<f64>>())?;
    Some(Estimated { effect: symmetric(usual) + found.effect, ..found })
}

/// A difference of logarithms as one over the mean of both costs.
fn symmetric(log: f64) -> f64 {
    2.0 * (log / 2.0).tanh()
}

/// The way back.
fn to_log(difference: f64) -> f64 {
    2.0 * (difference / 2.0).clamp(-0.999_999, 0.999_999).atanh()
}
