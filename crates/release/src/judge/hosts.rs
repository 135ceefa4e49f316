//! Results of several hosts: their effects, how much they differ, and which are outliers.

use std::collections::BTreeMap;

use crate::record::{ReleaseHost, ReleaseWarning};
use steady_model::{Reading, ReleaseRows};
use steady_stats::release::{Estimated, HostShare, Standing, spread_of_hosts, standings};

use super::design::HostAnswer;
use super::effect::{Criteria, Effect, Plain, change};
use super::window::Line;

/// Distances are rounded to 1 / STEPS of a standard deviation for sorting. Hosts with equal distances are sorted by
/// name.
const STEPS: f64 = 1e6;

/// Calls `effect` for each host with its lines, one slice per route and class. Returns nothing if there is only one
/// host. The lines must be sorted.
pub(crate) fn each(lines: &[Line], effect: impl Fn(u32, &[&[Line]]) -> Reading<Effect>) -> Vec<HostAnswer> {
    let mut hosts: BTreeMap<u32, Vec<&[Line]>> = BTreeMap::new();
    for part in lines.chunk_by(|one, other| (one.stratum(), one.row.host) == (other.stratum(), other.row.host)) {
        hosts.entry(part[0].row.host).or_default().push(part);
    }
    if hosts.len() < 2 {
        return Vec::new();
    }
    let answer = |(host, routes): (u32, Vec<&[Line]>)| {
        let plain = Plain::of(routes.iter().copied().flatten());
        HostAnswer { host, plain, effect: effect(host, &routes), level: None }
    };
    hosts.into_iter().map(answer).collect()
}

/// Returns the contribution of each host to the common effect, weighted by the inverse of its variance.
pub(crate) fn by_precision(hosts: &[HostAnswer], effect: f64) -> Vec<HostShare> {
    let known = || hosts.iter().filter_map(|host| host.effect.as_ref().ok()).map(Effect::estimated);
    let all: f64 = known().map(|own| 1.0 / own.variance).sum();
    let share = |own: Estimated| {
        let share = 1.0 / own.variance / all;
        HostShare { share, beyond: share * (own.effect - effect) }
    };
    known().map(share).collect()
}

/// Returns a warning if the changes of hosts differ by more than chance explains.
pub(crate) fn differ(hosts: &[HostAnswer], total: &Reading<Effect>) -> Option<ReleaseWarning> {
    let known: Vec<Estimated> =
        hosts.iter().filter_map(|host| host.effect.as_ref().ok()).map(Effect::estimated).collect();
    let covered = matches!(total, Ok(Effect::Hosts(..)));
    spread_of_hosts(&known).map(|deviation| ReleaseWarning::HostsDiffer { deviation: deviation.exp_m1(), covered })
}

/// Returns the hosts for the report: outliers first, then by distance from the others.
pub(crate) fn release_hosts(hosts: &[HostAnswer], rows: &ReleaseRows, criteria: &Criteria) -> Vec<ReleaseHost> {
    let standings = standing(hosts, criteria.alpha);
    let all: f64 = hosts.iter().map(|host| host.plain.cpu[0] + host.plain.cpu[1]).sum();
    let mut sorted: Vec<(f64, ReleaseHost)> = hosts
        .iter()
        .zip(standings)
        .map(|(host, standing)| {
            let name = rows.hosts.get(host.host as usize).cloned();
            let host = ReleaseHost {
                host: name.unwrap_or_else(|| format!("(host {})", host.host)),
                cpu_ratio: (host.plain.cpu[0] + host.plain.cpu[1]) / all,
                change: change(&host.effect, &host.plain, criteria),
                outlying: standing.is_some_and(|standing| standing.outlying),
            };
            (standing.map_or(-1.0, |standing| (STEPS * standing.distance).round()), host)
        })
        .collect();
    let is_usual = |host: &ReleaseHost| !host.outlying;
    sorted.sort_by(|(one_at, one), (other_at, other)| {
        is_usual(one).cmp(&is_usual(other)).then(other_at.total_cmp(one_at)).then_with(|| one.host.cmp(&other.host))
    });
    sorted.into_iter().map(|(_, host)| host).collect()
}

/// Returns the distance of each host from the others, and whether it is an outlier. Hosts with an effect are compared
/// by it; hosts with only one version are compared by cost with the hosts of the same version.
fn standing(hosts: &[HostAnswer], alpha: f64) -> Vec<Option<Standing>> {
    let place = |host: &HostAnswer| {
        let own = host.effect.as_ref().ok().map(Effect::estimated).filter(|own| own.variance.is_finite());
        let by_level = |level| (1 + usize::from(host.plain.requests[0] == 0), (level, 0.0));
        own.map(|own| (0, (own.effect, own.variance))).or_else(|| host.level.map(by_level))
    };
    let places: Vec<_> = hosts.iter().map(place).collect();
    let known = places.iter().flatten().count() as f64;
    let mut standing = vec![None; hosts.len()];
    for group in 0..3 {
        let own =
            || places.iter().enumerate().filter_map(|(at, place)| Some((at, (*place)?))).filter(|one| one.1.0 == group);
        let values: Vec<(f64, f64)> = own().map(|(_, (_, value))| value).collect();
        let standings = standings(&values, alpha * values.len() as f64 / known);
        own().zip(standings).for_each(|((at, _), own)| standing[at] = Some(own));
    }
    standing
}
