//! Several hosts, each by itself, beside each other.

use std::collections::BTreeMap;

use crate::record::{ReleaseHost, ReleaseWarning};
use steady_model::{Reading, ReleaseRows};
use steady_stats::release::{Estimated, HostShare, Standing, spread_of_hosts, standings};

use super::design::HostAnswer;
use super::effect::{Asked, Effect, Plain, change};
use super::window::Line;

/// Hosts that lie as far apart to a part in so many of a deviation stay in the order of their names.
const STEPS: f64 = 1e6;

/// Each host with the effect that its lines show, which are given by route and class; nothing where there is one host. The lines
/// are in order.
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

/// What each host says of the common effect, where hosts count by how well each of them knows it.
pub(crate) fn by_precision(hosts: &[HostAnswer], effect: f64) -> Vec<HostShare> {
    let known = || hosts.iter().filter_map(|host| host.effect.as_ref().ok()).map(Effect::estimated);
    let all: f64 = known().map(|own| 1.0 / own.variance).sum();
    let share = |own: Estimated| {
        let share = 1.0 / own.variance / all;
        HostShare { share, beyond: share * (own.effect - effect) }
    };
    known().map(share).collect()
}

/// By how much the hosts' changes differ beyond chance.
pub(crate) fn differ(hosts: &[HostAnswer], total: &Reading<Effect>) -> Option<ReleaseWarning> {
    let known: Vec<Estimated> =
        hosts.iter().filter_map(|host| host.effect.as_ref().ok()).map(Effect::estimated).collect();
    let covered = matches!(total, Ok(Effect::Hosts(..)));
    spread_of_hosts(&known).map(|deviation| ReleaseWarning::HostsDiffer { deviation: deviation.exp_m1(), covered })
}

/// The hosts as they are told, those furthest from the others first.
pub(crate) fn told(hosts: &[HostAnswer], rows: &ReleaseRows, asked: &Asked) -> Vec<ReleaseHost> {
    let standings = standing(hosts, asked.alpha);
    let all: f64 = hosts.iter().map(|host| host.plain.cpu[0] + host.plain.cpu[1]).sum();
    let mut told: Vec<(f64, ReleaseHost)> = hosts
        .iter()
        .zip(standings)
        .map(|(host, standing)| {
            let name = rows.hosts.get(host.host as usize).cloned();
            let told = ReleaseHost {
                host: name.unwrap_or_else(|| format!("(host {})", host.host)),
                cpu_ratio: (host.plain.cpu[0] + host.plain.cpu[1]) / all,
                change: change(&host.effect, &host.plain, asked),
                outlying: standing.is_some_and(|standing| standing.outlying),
            };
            (standing.map_or(-1.0, |standing| (STEPS * standing.distance).round()), told)
        })
        .collect();
    let apart = |host: &ReleaseHost| !host.outlying;
    told.sort_by(|(one_at, one), (other_at, other)| {
        apart(one).cmp(&apart(other)).then(other_at.total_cmp(one_at)).then_with(|| one.host.cmp(&other.host))
    });
    told.into_iter().map(|(_, host)| host).collect()
}

/// Where each host stands by its change, or by its cost among those of its version.
fn standing(hosts: &[HostAnswer], alpha: f64) -> Vec<Option<Standing>> {
    let place = |host: &HostAnswer| {
        let own = host.effect.as_ref().ok().map(Effect::estimated).filter(|own| own.variance.is_finite());
        let by_level = |level| (1 + usize::from(host.plain.requests[0] == 0), (level, 0.0));
        own.map(|own| (0, (own.effect, own.variance))).or_else(|| host.level.map(by_level))
    };
    let places: Vec<_> = hosts.iter().map(place).collect();
    let known = places.iter().flatten().count() as f64;
    let mut told = vec![None; hosts.len()];
    for group in 0..3 {
        let own =
            || places.iter().enumerate().filter_map(|(at, place)| Some((at, (*place)?))).filter(|one| one.1.0 == group);
        let values: Vec<(f64, f64)> = own().map(|(_, (_, value))| value).collect();
        let standings = standings(&values, alpha * values.len() as f64 / known);
        own().zip(standings).for_each(|((at, _), standing)| told[at] = Some(standing));
    }
    told
}
