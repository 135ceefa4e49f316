//! A coin for each request: what is left within cells of time and place, compared.

use steady_model::{Absent, Reading, ReleaseWarning};
use steady_stats::release::{Estimated, Within, within};

use crate::answer::{Answer, RouteAnswer};
use crate::cells::{self, Cell, Cost};
use crate::effect::{Effect, Plain};
use crate::means;
use crate::window::Line;

/// A route with fewer requests of either version has no change of its own, and is judged together with others like it.
const LEAST: u64 = 20;

/// One route, or several rare ones.
struct Part {
    cpu: f64,
    log: Option<Within>,
    plain: Option<(f64, Within)>,
}

/// The answer of the lines, which are in order.
pub(crate) fn answer(lines: &[Line]) -> Answer {
    let (mut parts, mut routes, mut rare) = (Vec::new(), Vec::new(), Vec::new());
    for of_route in lines.chunk_by(|one, other| one.row.route == other.row.route) {
        let plain = Plain::of(of_route);
        if plain.requests.contains(&0) {
            continue;
        }
        let part = (plain.requests.iter().all(|&n| n >= LEAST)).then(|| Part::new(&[of_route]));
        let effect = part.as_ref().and_then(|part| part.log).map(|found| Effect::Student(found.estimated, 0.0));
        let few = || Absent::because(format!("fewer than {LEAST} requests of one version, or never at the same time"));
        routes.push(RouteAnswer { route: of_route[0].row.route, plain, effect: effect.ok_or_else(few) });
        match part {
            Some(part) if part.log.is_some() => parts.push(part),
            _ => rare.push(of_route),
        }
    }
    if !rare.is_empty() {
        parts.push(Part::new(&rare));
    }
    let total = total(&parts);
    let warnings = total.as_ref().ok().and_then(|total| means_differ(&parts, total)).into_iter().collect();
    Answer { total: total.map(|total| Effect::Student(total, 0.0)), routes, warnings, ..Answer::of_coins() }
}

impl Part {
    fn new(routes: &[&[Line]]) -> Part {
        let seconds = |cost| routes.iter().map(|lines| cells::of_seconds(lines, cost)).collect::<Vec<Vec<Cell>>>();
        let logs = seconds(Cost::Log);
        let stretch = cells::best_stretch(&logs.concat());
        let sides = |seconds: &[Vec<Cell>]| -> Vec<[steady_stats::release::Tally; 2]> {
            let longer = seconds.iter().flat_map(|cells| cells::of_stretches(cells, stretch));
            longer.map(|cell| cell.sides).collect()
        };
        let plain = Plain::of(routes.iter().copied().flatten());
        let requests = (plain.requests[0] + plain.requests[1]) as f64;
        let log = within(&sides(&logs)).filter(|found| found.requests.iter().all(|&n| n >= LEAST as f64));
        let means = within(&sides(&seconds(Cost::Plain)));
        Part { cpu: plain.cpu[0] + plain.cpu[1], log, plain: means.map(|found| (requests, found)) }
    }
}

/// The effects of the routes, each with its share of CPU time.
fn total(parts: &[Part]) -> Reading<Estimated> {
    let told: Vec<(f64, Estimated)> = parts.iter().filter_map(|part| Some((part.cpu, part.log?.estimated))).collect();
    let all: f64 = told.iter().map(|(cpu, _)| cpu).sum();
    Estimated::weighted(told.into_iter().map(|(cpu, effect)| (cpu / all, effect)))
        .ok_or_else(|| Absent::because(format!("fewer than {LEAST} requests of one version")))
}

/// Whether the plain means, compared within the same cells, contradict what the usual request did.
fn means_differ(parts: &[Part], total: &Estimated) -> Option<ReleaseWarning> {
    let known = || parts.iter().filter(|part| part.log.is_some()).filter_map(|part| Some((part.cpu, part.plain?)));
    let all: f64 = known().map(|(cpu, _)| cpu).sum();
    // Relative to the mean of both: to first order the same as the difference of logarithms.
    let relative_part = |(_, (requests, found)): (f64, (f64, Within))| (requests / all, found.estimated);
    means::differ(&Estimated::weighted(known().map(relative_part))?, total.effect)
}
