//! Estimator for a coin for each request: compares costs within cells of host and time.

use std::collections::BTreeMap;

use crate::record::ReleaseWarning;
use steady_model::Absent;
use steady_stats::release::{Estimated, HostShare, Tally, TotalChange, Within, share, total_change, within};

use super::cells::{self, Cell};
use super::design::{Answer, RouteAnswer};
use super::effect::{Effect, Plain};
use super::groups::{Groups, LEAST};
use super::hosts;
use super::window::Line;

/// Estimates the effects. The lines must be sorted.
pub(crate) fn answer(lines: &[Line]) -> Answer {
    let adjusted = lines.iter().all(Line::has_levels);
    let groups = Groups::of_requests(lines);
    let (mut strata, mut pooled) = (Vec::new(), Vec::new());
    let (mut parts, mut rare, mut routes) = (Vec::new(), Vec::new(), Vec::new());
    for of_route in lines.chunk_by(|one, other| one.row.route == other.row.route) {
        let (route, plain) = (of_route[0].row.route, Plain::of(of_route));
        let of_strata = of_route.chunk_by(|one, other| one.stratum() == other.stratum());
        let (together, own): (Vec<&[Line]>, Vec<&[Line]>) =
            of_strata.partition(|lines| groups.is_pooled(lines[0].stratum()));
        if !together.is_empty() {
            routes.push(RouteAnswer::pooled(route, plain));
            pooled.extend(together);
            rare.extend(&own);
            strata.extend(own);
            continue;
        }
        if plain.requests.contains(&0) {
            rare.extend(&own);
            strata.extend(own);
            continue;
        }
        let part = has_enough(&plain).then(|| Part::new(&own));
        let few = || {
            Absent::because(format!(
                "fewer than {LEAST} requests of one version, or the versions never ran at the same time"
            ))
        };
        let effect = total(&own, &[], adjusted).map(effect_of).ok_or_else(few);
        let usual = part.as_ref().and_then(Part::effect).ok_or_else(few);
        routes.push(RouteAnswer { route, plain, effect, usual });
        match part {
            Some(part) if part.log.is_some() => parts.push(part),
            _ => rare.extend(&own),
        }
        strata.extend(own);
    }
    if !rare.is_empty() {
        parts.push(Part::new(&rare));
    }
    if !pooled.is_empty() {
        let mut together: Vec<Line> = pooled.concat();
        together.sort_by_key(|line| (line.row.host, line.row.second));
        parts.push(Part::new(&[&together]));
    }
    let few = || Absent::because(format!("fewer than {LEAST} requests of one version"));
    let usual = usual(&parts).map(|usual| Effect::Student(usual, 0.0).with_hosts(&shares(&parts))).ok_or_else(few);
    let alone = |_, strata: &[&[Line]]| {
        let (pooled, own): (Vec<&[Line]>, Vec<&[Line]>) =
            strata.iter().copied().partition(|lines| groups.is_pooled(lines[0].stratum()));
        total(&own, &pooled, adjusted).map(|found| Effect::Student(found.estimated, 0.0)).ok_or_else(few)
    };
    let missing = lines.iter().filter(|line| !line.has_levels()).map(|line| line.row.sums.requests).sum();
    let warning = (!adjusted).then_some(ReleaseWarning::NotAdjusted { requests: missing });
    let hosts = hosts::each(lines, alone);
    Answer {
        total: total(&strata, &pooled, adjusted).map(effect_of).ok_or_else(few),
        usual,
        routes,
        hosts,
        groups,
        warnings: warning.into_iter().collect(),
        ..Answer::of_coins()
    }
}

fn effect_of(found: TotalChange) -> Effect {
    Effect::Student(found.estimated, 0.0).with_hosts(&found.places)
}

/// Returns whether there are enough requests of both versions for an estimate.
fn has_enough(plain: &Plain) -> bool {
    plain.requests.iter().all(|&n| n >= LEAST)
}

/// Estimates the change of the total over the strata.
///
/// Strata with too few requests of a version are compared as one, together with as many of the smallest others as
/// needed. A coin assigns versions in all of them, so this costs precision but causes no bias. Strata in `pooled` are
/// also compared as one.
fn total(strata: &[&[Line]], pooled: &[&[Line]], adjusted: bool) -> Option<TotalChange> {
    let together = Plain::of(pooled.iter().copied().flatten()).requests;
    if !pooled.is_empty() && together.iter().any(|n| *n < LEAST) {
        return None;
    }
    let mut sized: Vec<([u64; 2], &[Line])> = strata.iter().map(|lines| (Plain::of(*lines).requests, *lines)).collect();
    sized.sort_by_key(|([old, new], _)| (*old.min(new), *old.max(new)));
    let mut sum = [0; 2];
    let mut count = 0;
    for ([old, new], _) in &sized {
        if *old.min(new) >= LEAST && (count == 0 || sum.iter().all(|n| *n >= LEAST)) {
            break;
        }
        sum = [sum[0] + old, sum[1] + new];
        count += 1;
    }
    let (rare, usual) = sized.split_at(count);
    let few = count > 0 && sum.iter().any(|n| *n < LEAST);
    if few && pooled.is_empty() {
        return None;
    }
    let mut cells: Vec<_> = usual.iter().map(|(_, lines)| cells::of_levels(&[lines], adjusted)).collect();
    let rare: Vec<&[Line]> = rare.iter().map(|(_, lines)| *lines).collect();
    if few {
        cells.push(cells::of_pooled(&[pooled, &rare].concat(), adjusted));
    } else if count > 0 {
        cells.push(cells::of_levels(&rare, adjusted));
    }
    if !pooled.is_empty() && !few {
        cells.push(cells::of_pooled(pooled, adjusted));
    }
    total_change(&cells)
}

/// Estimate of the usual request of one route, or of several rare ones together.
struct Part {
    /// CPU time in nanoseconds.
    cpu: f64,
    log: Option<Within>,
    /// Contribution of each host to the estimate.
    hosts: BTreeMap<u32, HostShare>,
}

impl Part {
    fn new(strata: &[&[Line]]) -> Part {
        let seconds: Vec<Vec<Cell>> = strata.iter().map(|lines| cells::of_seconds(lines)).collect();
        let stretch = cells::best_stretch(&seconds.concat());
        let cells: Vec<Cell> = seconds.iter().flat_map(|cells| cells::of_stretches(cells, stretch)).collect();
        let log = within(&sides(&cells)).filter(|found| found.requests.iter().all(|&n| n >= LEAST as f64));
        let hosts = log.as_ref().map(|log| shares_of_hosts(&cells, log)).unwrap_or_default();
        let [old, new] = Plain::of(strata.iter().copied().flatten()).cpu;
        Part { cpu: old + new, log, hosts }
    }

    fn effect(&self) -> Option<Effect> {
        let hosts: Vec<HostShare> = self.hosts.values().copied().collect();
        Some(Effect::Student(self.log?.estimated, 0.0).with_hosts(&hosts))
    }
}

fn sides(cells: &[Cell]) -> Vec<[Tally; 2]> {
    cells.iter().map(|cell| cell.sides).collect()
}

/// Returns the contribution of each host to an estimate.
fn shares_of_hosts(cells: &[Cell], found: &Within) -> BTreeMap<u32, HostShare> {
    let mut hosts: BTreeMap<u32, HostShare> = BTreeMap::new();
    for of_host in cells.chunk_by(|one, other| one.host == other.host) {
        let own = share(&sides(of_host), found);
        let sum = hosts.entry(of_host[0].host).or_default();
        *sum = HostShare { share: sum.share + own.share, beyond: sum.beyond + own.beyond };
    }
    let all: f64 = hosts.values().map(|host| host.share).sum();
    hosts.values_mut().for_each(|host| *host = HostShare { share: host.share / all, beyond: host.beyond / all });
    hosts
}

/// Returns the contribution of each host to the estimate of all parts, weighted by CPU time.
fn shares(parts: &[Part]) -> Vec<HostShare> {
    let all: f64 = parts.iter().filter(|part| part.log.is_some()).map(|part| part.cpu).sum();
    let mut hosts: BTreeMap<u32, HostShare> = BTreeMap::new();
    for part in parts {
        for (host, own) in &part.hosts {
            let sum = hosts.entry(*host).or_default();
            sum.share += part.cpu / all * own.share;
            sum.beyond += part.cpu / all * own.beyond;
        }
    }
    hosts.into_values().collect()
}

/// Combines the effects on the usual requests of all parts, weighted by CPU time.
fn usual(parts: &[Part]) -> Option<Estimated> {
    let known: Vec<(f64, Estimated)> = parts.iter().filter_map(|part| Some((part.cpu, part.log?.estimated))).collect();
    let all: f64 = known.iter().map(|(cpu, _)| cpu).sum();
    Estimated::weighted(known.into_iter().map(|(cpu, effect)| (cpu / all, effect)))
}
