//! Joint evaluation of whole experiments on simulated machines: its error rates, its cost, and those of pooling.
#![allow(clippy::print_stdout, reason = "prints figures with --nocapture")]

use rand::Rng;
use steady_model::{Layout, Verdict};
use steady_stats::{Joint, MeanRatio, Pair, Rules, Schedule, Sequence, Source, Stage, join, mean_ratio, single_look};

use crate::simulated::{Machine, NOISES, Noise, most, repeated};

fn rules(resolution: f64) -> Rules {
    Rules { alpha: 0.05, resolution, limits: vec![], grain: 1e-6 }
}

/// Measures one source until its sequence of looks ends, with at most `most` pairs.
fn measured(machine: &mut Machine, effect: f64, most: usize, rules: &Rules) -> Source {
    let (mut schedule, mut sequence) = (Schedule::new(), Sequence::new(rules.clone(), 1));
    let (mut pairs, mut stages, mut used) = (vec![vec![]], vec![], 0);
    for count in 1..=most {
        let layout = Layout::ALL[count % 2];
        pairs[0].push(machine.pair(layout, effect.ln_1p()));
        let last = count == most;
        if schedule.due(count, count as f64) || last {
            let look = sequence.look(&pairs, count as f64 / most as f64, last);
            stages.push(Stage { pairs: pairs[0][used..].to_vec(), progress: look.progress });
            used = count;
            if look.done {
                break;
            }
        }
    }
    Source { stages, open: true }
}

/// Measures concurrent sources that an observer ends as soon as all their pairs together `seem_to_differ`. `pair` runs
/// a pair of equal commands.
fn watched(
    machines: &mut [Machine],
    most: usize,
    pair: impl Fn(&mut Machine) -> Pair,
    seem_to_differ: impl Fn(&[Pair]) -> bool,
) -> Vec<Source> {
    let mut sources = vec![Source { stages: vec![], open: true }; machines.len()];
    for count in (8..=most).step_by(8) {
        for (source, machine) in sources.iter_mut().zip(machines.iter_mut()) {
            let pairs = (0..8).map(|_| pair(machine)).collect();
            source.stages.push(Stage { pairs, progress: count as f64 / most as f64 });
        }
        if seem_to_differ(&pooled(&sources)) {
            break;
        }
    }
    sources
}

/// Measures sources with different noise and sizes.
fn sources(count: usize, effect: f64, seed: u64, rules: &Rules) -> Vec<Source> {
    let of = |index: usize| {
        let seed = seed * 1000 + index as u64;
        let noise = NOISES[(seed as usize + index) % NOISES.len()];
        measured(&mut Machine::new(noise, seed), effect, 24 + 24 * (index % 3), rules)
    };
    (0..count).map(of).collect()
}

fn pooled(sources: &[Source]) -> Vec<Pair> {
    sources.iter().flat_map(|source| &source.stages).flat_map(|stage| stage.pairs.clone()).collect()
}

fn one(sources: &[Source], rules: &Rules) -> Joint {
    join(&[sources.to_vec()], rules).remove(0)
}

fn differs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

fn holds(low: Option<f64>, high: Option<f64>, change: f64) -> bool {
    low.is_none_or(|low| low <= change) && high.is_none_or(|high| change <= high)
}

#[test]
fn error_rates_and_coverage_are_correct_for_any_number_of_sources() {
    let (mut table, mut broken) = (String::new(), false);
    for (count, experiments) in [(2, 40), (5, 40), (20, 15)] {
        let experiments = repeated(experiments);
        let limit = most(experiments, 0.05);
        // With a fine resolution, sources end by their budget; with a coarse one, as early as possible.
        for (effect, resolution) in [(0.0, 0.005), (0.0, 0.02), (0.01, 0.005), (0.05, 0.01)] {
            let rules = rules(resolution);
            let (mut wrong, mut missed, mut missized, mut disagree) = (0, 0, 0, 0);
            let (mut early, mut naive, mut width, mut naive_width) = (0, 0, 0.0, 0.0);
            for seed in 0..experiments as u64 {
                let sources = sources(count, effect, seed + 17_000, &rules);
                let joint = one(&sources, &rules);
                let estimate = &joint.estimate;
                wrong += usize::from(effect == 0.0 && differs(estimate.verdict));
                missed += usize::from(!holds(estimate.verdict_low, estimate.verdict_high, effect));
                missized += usize::from(!holds(estimate.size.low, estimate.size.high, effect));
                disagree += usize::from(joint.agreement.is_some_and(|agreement| !agreement.agrees));
                early += sources.iter().filter(|source| source.stages.last().unwrap().progress < 1.0).count();
                let single = single_look(&pooled(&sources), &rules);
                naive += usize::from(!holds(single.verdict_low, single.verdict_high, effect));
                let log = |low: Option<f64>, high: Option<f64>| (high.unwrap_or(9.0) - low.unwrap_or(-1.0)).ln();
                width += log(estimate.verdict_low, estimate.verdict_high);
                naive_width += log(single.verdict_low, single.verdict_high);
            }
            let early = 100.0 * early as f64 / (experiments * count) as f64;
            let cost = ((width - naive_width) / experiments as f64).exp();
            table += &format!(
                "{count:2} sources in {experiments} joins, {effect}, ±{resolution}: wrong {wrong}, missed {missed}, \
                 size {missized}, disagree {disagree}; {early:.0} % ended early; pooled missed {naive}, is {cost:.2} \
                 times narrower\n"
            );
            broken |= wrong.max(missed).max(missized).max(disagree) > limit;
        }
    }
    println!("{table}");
    assert!(!broken, "{table}");
}

/// If equal sources are ended as soon as they seem to differ, pooling finds a difference too often, and the joint
/// evaluation does not.
#[test]
fn ending_sources_that_seem_to_differ_does_not_raise_the_error_rate() {
    let experiments = repeated(75);
    let rules = rules(0.005);
    for count in [2, 5] {
        let (mut naive, mut joined) = (0, 0);
        for seed in 0..experiments as u64 {
            let machine = |index| Machine::new(Noise::Skewed, 31_000_000 + 100 * seed + index);
            let mut machines: Vec<Machine> = (0..count).map(machine).collect();
            let seem_to_differ = |pairs: &[Pair]| differs(single_look(pairs, &rules).verdict);
            let sources = watched(&mut machines, 96, |machine| machine.pair(Layout::Turns, 0.0), seem_to_differ);
            naive += usize::from(differs(single_look(&pooled(&sources), &rules).verdict));
            joined += usize::from(differs(one(&sources, &rules).estimate.verdict));
        }
        println!("{count} watched sources: pooled {naive}, joined {joined} of {experiments}");
        assert!(naive > experiments / 10, "{count}: pooling should be wrong more often: {naive}");
        assert!(joined <= most(experiments, 0.05), "{count}: {joined} of {experiments}");
    }
}

/// The mean is tested at a level for a fixed number of pairs. If equal sources are ended as soon as their means seem to
/// differ, the mean gives a direction too often. In a join of such sources, it must give none.
#[test]
fn ending_sources_whose_means_seem_to_differ_gives_no_direction() {
    const LEVEL: f64 = 0.05;
    let experiments = repeated(150);
    let rules = rules(0.005);
    let mean = |pairs: &[Pair]| mean_ratio(&[pairs.iter().map(|pair| (pair.old, pair.new)).collect()], LEVEL);
    let is_away = |mean: MeanRatio| {
        mean.effect.low.is_some_and(|low| low > 0.0) || mean.effect.high.is_some_and(|high| high < 0.0)
    };
    // The costs have two modes.
    let pair = |machine: &mut Machine| {
        let pair = machine.pair(Layout::Turns, 0.0);
        let mut factor = || if machine.coin.random_bool(0.3) { 3.0 } else { 1.0 };
        Pair { old: factor() * pair.old, new: factor() * pair.new, ..pair }
    };
    let (mut assumed_fixed, mut checked, mut prevented) = (0, 0, 0);
    for seed in 0..experiments as u64 {
        let mut machines = [0, 1].map(|index| Machine::new(Noise::Skewed, 71_000_000 + 100 * seed + index));
        let sources = watched(&mut machines, 96, pair, |pairs| is_away(mean(pairs)));
        let (estimate, mean) = (one(&sources, &rules).estimate, mean(&pooled(&sources)));
        assumed_fixed += usize::from(differs(estimate.clone().weighed_against(mean, 0.005).estimate.verdict));
        let weighed = estimate.checked_against(mean, 0.005);
        checked += usize::from(differs(weighed.estimate.verdict));
        prevented += usize::from(weighed.mean_decides);
        assert!(!(weighed.mean_decides && differs(weighed.estimate.verdict)), "{seed}: {weighed:?}");
    }
    println!("by the mean {assumed_fixed}, checked {checked}, prevented {prevented} of {experiments}");
    assert!(assumed_fixed > experiments / 10, "the mean should be wrong more often: {assumed_fixed}");
    assert!(checked <= most(experiments, 0.05), "{checked} of {experiments}");
}

#[test]
fn sources_of_one_look_are_nearly_as_precise_as_pooling() {
    for count in [2, 5, 20] {
        let (mut ratio, experiments) = (0.0, 40);
        for seed in 0..experiments {
            let source = |index: u64| {
                let mut machine = Machine::new(Noise::Skewed, 41_000_000 + 100 * seed + index);
                Source::fixed((0..60).map(|_| machine.pair(Layout::Turns, 0.01)).collect())
            };
            let sources: Vec<Source> = (0..count).map(source).collect();
            let (joint, single) = (one(&sources, &rules(0.01)).estimate, single_look(&pooled(&sources), &rules(0.01)));
            let width = |low: Option<f64>, high: Option<f64>| high.unwrap() - low.unwrap();
            ratio +=
                (width(joint.verdict_low, joint.verdict_high) / width(single.verdict_low, single.verdict_high)).ln();
        }
        let ratio = (ratio / experiments as f64).exp();
        println!("{count} fixed sources: {ratio:.3} times as wide as pooled");
        assert!(ratio < 1.06, "{count}: {ratio}");
    }
}

/// Ten short experiments together detect an effect that each alone rarely detects.
#[test]
fn ten_undecided_sources_find_what_one_cannot() {
    let rules = rules(0.002);
    let (mut found, mut alone, mut alike, experiments) = (0, 0, 0, 60_u64);
    for seed in 0..experiments {
        let source =
            |index: u64| measured(&mut Machine::new(Noise::Heavy, 51_000_000 + 100 * seed + index), 0.006, 40, &rules);
        let sources: Vec<Source> = (0..10).map(source).collect();
        let joint = one(&sources, &rules);
        found += usize::from(joint.estimate.verdict == Verdict::Slower);
        alike += usize::from(joint.agreement.unwrap().agrees);
        let single = Sequence::new(rules.clone(), 1).look(&[pooled(&sources[..1])], 1.0, true);
        alone += usize::from(single.contenders[0].verdict == Verdict::Slower);
    }
    println!("ten detect it in {found}, one in {alone} of {experiments}; agree in {alike}");
    assert!(found as f64 > 0.9 * experiments as f64 && (alone as f64) < 0.4 * experiments as f64, "{found} {alone}");
    assert!(alike as f64 > 0.85 * experiments as f64, "{alike}");
}

/// A large effect ends every source at its first look. The joint result must not be less precise than each alone.
#[test]
fn sources_that_end_at_the_first_look_lose_no_precision() {
    let rules = rules(0.01);
    for count in [2, 5] {
        let source = |index: u64| measured(&mut Machine::new(Noise::Heavy, 61_000_000 + index), 0.5, 400, &rules);
        let sources: Vec<Source> = (0..count).map(source).collect();
        assert!(sources.iter().all(|source| source.stages.last().unwrap().progress < 0.5), "they should end early");
        let joint = one(&sources, &rules);
        let estimate = &joint.estimate;
        assert_eq!(estimate.verdict, Verdict::Slower);
        assert!(joint.agreement.unwrap().agrees);
        let width = estimate.verdict_high.unwrap() - estimate.verdict_low.unwrap();
        let alone: f64 = sources.iter().map(|source| own_width(source, &rules)).sum::<f64>() / count as f64;
        println!("{count} sources: {width:.4}, each alone {alone:.4}");
        let wanted = if count == 2 { 1.2 } else { 0.75 };
        assert!(width < wanted * alone, "{count}: {width} {alone}");
    }
}

/// Returns the width of the final interval of a source of at most 400 pairs.
fn own_width(source: &Source, rules: &Rules) -> f64 {
    let mut sequence = Sequence::new(rules.clone(), 1);
    let mut pairs = vec![vec![]];
    let mut width = f64::INFINITY;
    for stage in &source.stages {
        pairs[0].extend_from_slice(&stage.pairs);
        let look = sequence.look(&pairs, pairs[0].len() as f64 / 400.0, false);
        width = look.contenders[0].verdict_high.unwrap_or(9.0) - look.contenders[0].verdict_low.unwrap_or(-1.0);
    }
    width
}
