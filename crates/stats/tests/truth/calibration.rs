//! Whole experiments with looks on simulated machines: how often the verdict and the interval are wrong.

use steady_model::{Layout, Verdict};
use steady_stats::{Estimate, Look, Pair, Rules, Schedule, Sequence};

use crate::simulated::{Machine, NOISES, Noise, most, repeated};

const PAIRS: usize = 100;

fn rules() -> Rules {
    Rules { alpha: 0.05, resolution: 0.005, limits: vec![], grain: 1e-6 }
}

/// The layouts of the pairs.
#[derive(Clone, Copy, Debug)]
enum Mix {
    Turns,
    Duets,
    Both,
}

/// Runs one experiment until it is done, with a contender for each effect (log ratios), of which duets show the part
/// `shown`.
fn experiment(machine: &mut Machine, mix: Mix, effects: &[f64], shown: f64) -> Look {
    let (mut schedule, mut sequence) = (Schedule::new(), Sequence::new(rules(), effects.len()));
    let mut pairs: Vec<Vec<Pair>> = vec![vec![]; effects.len()];
    for count in 1..=PAIRS {
        let layout = match mix {
            Mix::Turns => Layout::Turns,
            Mix::Duets => Layout::Duet,
            Mix::Both => Layout::ALL[usize::from(machine.normal() > 0.0)],
        };
        for (pairs, &effect) in pairs.iter_mut().zip(effects) {
            pairs.push(machine.pair(layout, if layout == Layout::Duet { shown * effect } else { effect }));
        }
        let last = count == PAIRS;
        if schedule.due(count, count as f64) || last {
            let look = sequence.look(&pairs, count as f64 / PAIRS as f64, last);
            if look.done {
                return look;
            }
        }
    }
    unreachable!("the last look ends the experiment")
}

fn differs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

/// Returns whether the interval of the size contains that of the verdict and the change, on the same side of zero. The
/// interval of the verdict contains the change, too, unless the change is that of the turns alone.
fn contains_the_verdict(estimate: &Estimate) -> bool {
    let (size, verdict) = (estimate.size, (estimate.verdict_low, estimate.verdict_high));
    let (Some(low), Some(high), Some(change)) = (size.low, size.high, size.change) else { return true };
    let is_contained = verdict.0.is_none_or(|end| low <= end) && verdict.1.is_none_or(|end| end <= high);
    let agrees = match estimate.verdict {
        Verdict::Slower => low > 0.0,
        Verdict::Faster => high < 0.0,
        Verdict::Same | Verdict::Undecided => low <= 0.0 && 0.0 <= high,
    };
    let is_of_all = estimate.size.pairs == estimate.pairs;
    is_contained && agrees && low <= change && change <= high && (!is_of_all || holds(verdict.0, verdict.1, change))
}

fn holds(low: Option<f64>, high: Option<f64>, change: f64) -> bool {
    low.is_none_or(|low| low <= change) && high.is_none_or(|high| change <= high)
}

#[test]
fn error_rates_and_coverage_are_correct_on_every_machine() {
    let experiments = repeated(60);
    let limit = most(experiments, 0.05);
    let (mut table, mut broken) = (String::new(), vec![]);
    let (mut total, mut false_alarms) = (0, 0);
    for noise in NOISES {
        for mix in [Mix::Turns, Mix::Duets, Mix::Both] {
            for effect in [0.0, 0.1] {
                let (mut wrong, mut missed, mut missized) = (0, 0, 0);
                for seed in 0..experiments {
                    let mut machine = Machine::new(noise, seed as u64 + 7_000_000);
                    let look = experiment(&mut machine, mix, &[f64::ln_1p(effect)], 1.0);
                    let estimate = &look.contenders[0];
                    assert!(contains_the_verdict(estimate), "{estimate:?}");
                    wrong += usize::from(effect == 0.0 && differs(estimate.verdict));
                    missed += usize::from(!holds(estimate.verdict_low, estimate.verdict_high, effect));
                    missized += usize::from(!holds(estimate.size.low, estimate.size.high, effect));
                }
                table += &format!("{noise:?} {mix:?} {effect}: wrong {wrong}, missed {missed}, size {missized}\n");
                if wrong.max(missed).max(missized) > limit {
                    broken.push((noise, effect));
                }
                if effect == 0.0 {
                    total += experiments;
                    false_alarms += wrong;
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:?}: more than {limit} of {experiments}\n{table}");
    assert!(false_alarms <= most(total, 0.05), "{false_alarms} of {total}\n{table}");
}

/// Duets that show less or more than an effect do not bias the size.
#[test]
fn the_size_is_covered_if_duets_show_less_or_more() {
    let experiments = repeated(60);
    let limit = most(experiments, 0.05);
    for noise in NOISES {
        for (effect, shown) in [(0.1, 0.85), (-0.1, 0.9), (0.004, 0.85), (0.02, 0.85), (0.1, 1.17), (-0.02, 1.15)] {
            let missed = |seed: &usize| {
                let mut machine = Machine::new(noise, *seed as u64 + 9_000_000);
                let size = experiment(&mut machine, Mix::Both, &[f64::ln_1p(effect)], shown).contenders[0].size;
                !holds(size.low, size.high, effect)
            };
            let missed = (0..experiments).filter(missed).count();
            assert!(missed <= limit, "{noise:?}, {effect} of which {shown} is shown: {missed} of {experiments}");
        }
    }
}

#[test]
fn several_contenders_share_one_error_rate() {
    let experiments = repeated(60);
    let wrong = |seed: usize| {
        let mut machine = Machine::new(Noise::Bursts, seed as u64);
        let look = experiment(&mut machine, Mix::Both, &[0.0, 0.2, 0.0], 1.0);
        differs(look.contenders[0].verdict) || differs(look.contenders[2].verdict)
    };
    let wrong = (0..experiments).filter(|&seed| wrong(seed)).count();
    assert!(wrong <= most(experiments, 0.05), "{wrong} of {experiments}");
}

/// A machine whose slow CPU alternates with the pairs: a design that alternates too always uses the slow CPU for NEW.
#[test]
fn random_draws_are_valid_where_alternation_is_not() {
    let slow = |machine: &mut Machine, alternate: bool| {
        let (mut schedule, mut sequence) = (Schedule::new(), Sequence::new(rules(), 1));
        let mut pairs = vec![vec![]];
        for count in 1..=PAIRS {
            let turn = if count % 2 == 0 { 1 } else { -1 };
            let mut pair = machine.pair(Layout::Duet, 0.0);
            if alternate {
                pair.slot.cpu = turn;
            }
            let cost = if pair.slot.cpu == turn { &mut pair.new } else { &mut pair.old };
            *cost *= 1.05;
            pairs[0].push(pair);
            if schedule.due(count, count as f64) || count == PAIRS {
                let look = sequence.look(&pairs, count as f64 / PAIRS as f64, count == PAIRS);
                if look.done {
                    return look.contenders[0].verdict;
                }
            }
        }
        Verdict::Undecided
    };
    let experiments = repeated(50);
    let alarms = |alternate: bool| {
        let alarm = |seed: &u64| differs(slow(&mut Machine::new(Noise::Heavy, *seed), alternate));
        (0..experiments as u64).filter(alarm).count()
    };
    let (alternating, drawn) = (alarms(true), alarms(false));
    assert!(alternating > experiments * 9 / 10, "alternation should give wrong verdicts: {alternating}");
    assert!(drawn <= most(experiments, 0.05), "{drawn} of {experiments}");
}
