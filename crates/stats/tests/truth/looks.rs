//! Looks: how they spend alpha, when they end a comparison, and special cases.

use steady_model::{Layout, Verdict};
use steady_stats::{Pair, Paired, Reason, Rules, Sequence, Slot, single_look};

use crate::simulated::{Machine, NOISES, Noise, most};

fn rules() -> Rules {
    Rules { alpha: 0.05, resolution: 0.005, limits: vec![], grain: 1e-6 }
}

fn pairs(noise: Noise, seed: u64, count: usize, theta: f64) -> Vec<Pair> {
    let mut machine = Machine::new(noise, seed);
    (0..count).map(|_| machine.pair(Layout::Turns, theta)).collect()
}

#[test]
fn looks_together_spend_exactly_alpha() {
    let pairs = pairs(Noise::Heavy, 1, 200, 0.0);
    let mut sequence = Sequence::new(rules(), 1);
    let mut spent = 0.0;
    for count in [12, 20, 50, 120, 200] {
        let look = sequence.look(&[pairs[..count].to_vec()], count as f64 / 200.0, count == 200);
        assert!(look.alpha_spent >= spent && look.alpha_spent <= 0.05 + 1e-15, "{}", look.alpha_spent);
        assert!(count == 200 || look.alpha_spent < 0.05, "some error must be left for the final look");
        spent = look.alpha_spent;
    }
    assert!((spent - 0.05).abs() < 1e-15);
}

/// Each look spends a part of the remaining alpha. After several looks without new data, the interval must be wider
/// than that of a single look with all of alpha.
#[test]
fn repeated_looks_widen_the_interval() {
    let pairs = pairs(Noise::Heavy, 2, 60, 0.0);
    let once = single_look(&pairs, &rules());
    let mut sequence = Sequence::new(rules(), 1);
    let looks: Vec<_> =
        (1..=5).map(|k| sequence.look(std::slice::from_ref(&pairs), f64::from(k) / 5.0, k == 5)).collect();
    let width = |estimate: &steady_stats::Estimate| estimate.verdict_high.unwrap() - estimate.verdict_low.unwrap();
    assert!(width(&looks[4].contenders[0]) > 1.2 * width(&once));
}

#[test]
fn intervals_never_widen_from_look_to_look() {
    let pairs = pairs(Noise::Bursts, 3, 100, 0.02);
    let mut sequence = Sequence::new(rules(), 1);
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for count in [12, 24, 48, 100] {
        let look = sequence.look(&[pairs[..count].to_vec()], count as f64 / 100.0, count == 100);
        let estimate = &look.contenders[0];
        let now = (estimate.verdict_low.unwrap_or(f64::NEG_INFINITY), estimate.verdict_high.unwrap_or(f64::INFINITY));
        assert!(now.0 >= low && now.1 <= high);
        (low, high) = now;
        let change = estimate.size.change.unwrap();
        assert!(low <= change && change <= high);
    }
}

/// A clear effect ends a comparison early, unless a limit is undecided.
#[test]
fn a_comparison_ends_when_the_verdict_is_decided() {
    let look = |theta: f64, limits: Vec<f64>| {
        let pairs = pairs(Noise::Skewed, 4, 60, theta);
        Sequence::new(Rules { limits, ..rules() }, 1).look(&[pairs], 0.5, false)
    };
    let clear = look(0.3_f64.ln_1p(), vec![]);
    assert!(clear.done);
    assert_eq!(clear.contenders[0].verdict, Verdict::Slower);
    assert_eq!(look(-0.3, vec![]).contenders[0].verdict, Verdict::Faster);
    assert!(!look(0.3_f64.ln_1p(), vec![0.3]).done, "a limit within the interval is undecided");
    assert!(look(0.3_f64.ln_1p(), vec![0.1]).done);
}

#[test]
fn equal_commands_are_called_the_same() {
    let pairs = pairs(Noise::Heavy, 5, 4000, 0.0);
    let look = Sequence::new(rules(), 1).look(&[pairs], 0.1, false);
    assert!(look.done && look.alpha_spent == 0.05, "at half the resolution, all of alpha is spent");
    assert_eq!(look.contenders[0].verdict, Verdict::Same);
    assert!(look.contenders[0].within_resolution);
}

#[test]
fn too_few_pairs_give_no_verdict() {
    for count in 0..6 {
        let estimate = single_look(&pairs(Noise::Heavy, 6, count, 3.0), &rules());
        assert_eq!((estimate.verdict, estimate.reason), (Verdict::Undecided, Some(Reason::TooFewPairs)));
        assert_eq!((estimate.verdict_low, estimate.size.high), (None, None));
    }
    assert_eq!(single_look(&pairs(Noise::Heavy, 6, 6, 3.0), &rules()).verdict, Verdict::Slower);
}

#[test]
fn equal_costs_are_decided_only_up_to_the_grain() {
    let slot = |i: usize| Slot { order: if i.is_multiple_of(3) { 1 } else { -1 }, cpu: 0 };
    let at = |cost: f64| (0..40).map(|i| Pair { layout: Layout::Turns, slot: slot(i), old: cost, new: cost }).collect();
    let judge = |pairs: Vec<Pair>, grain: f64| single_look(&pairs, &Rules { grain, ..rules() });
    let coarse = judge(at(0.040), 0.004);
    assert_eq!((coarse.verdict, coarse.reason), (Verdict::Undecided, Some(Reason::BelowGrain)));
    assert!((coarse.verdict_high.unwrap() - 0.1).abs() < 1e-6);
    let fine = judge(at(1e6), 1.0);
    assert_eq!((fine.verdict, fine.reason), (Verdict::Same, None));
}

/// Duets underestimate effects: the size comes from the turns, and the verdict from all pairs.
#[test]
fn size_comes_from_the_turns() {
    let mut machine = Machine::new(Noise::Heavy, 8);
    let pairs: Vec<Pair> = (0..200)
        .map(|i| if i % 2 == 0 { machine.pair(Layout::Turns, 0.2) } else { machine.pair(Layout::Duet, 0.1) })
        .collect();
    let estimate = single_look(&pairs, &rules());
    let change = estimate.size.change.unwrap();
    assert!((change - 0.2_f64.exp_m1()).abs() < 0.01 && estimate.size.pairs == 100, "{change}");
    assert_eq!(estimate.layouts.len(), 2);
    assert!((estimate.layouts[1].effect.change.unwrap() - 0.1_f64.exp_m1()).abs() < 0.01);
    let few: Vec<Pair> =
        pairs.iter().enumerate().filter(|(i, pair)| pair.layout == Layout::Duet || *i < 10).map(|(_, p)| *p).collect();
    assert_eq!(single_look(&few, &rules()).size.pairs, 105, "five turns are too few");
}

/// Holm's procedure: contenders that clearly differ leave their share of the error to the others, except with limits.
#[test]
fn clear_contenders_leave_their_share_to_the_others() {
    let clear = pairs(Noise::Skewed, 9, 100, 0.5);
    let close = pairs(Noise::Skewed, 10, 100, 0.0);
    let width = |contenders: &[Vec<Pair>], limits: Vec<f64>| {
        let look = Sequence::new(Rules { limits, ..rules() }, contenders.len()).look(contenders, 1.0, true);
        let last = look.contenders.last().unwrap();
        last.verdict_high.unwrap() - last.verdict_low.unwrap()
    };
    let alone = width(std::slice::from_ref(&close), vec![]);
    assert_eq!(width(&[clear.clone(), close.clone()], vec![]), alone);
    assert!(width(&[close.clone(), close.clone()], vec![]) > 1.05 * alone);
    assert!(width(&[clear, close], vec![0.3]) > 1.05 * alone);
}

#[test]
fn undecided_verdicts_have_a_time_to_settle() {
    let estimate = single_look(&pairs(Noise::Heavy, 11, 14, 0.0), &rules());
    assert_eq!(estimate.verdict, Verdict::Undecided);
    assert!(estimate.time_to_settle.unwrap() > 1.0);
    let calm = single_look(&pairs(Noise::Bursts, 11, 200, 0.0), &rules());
    assert!(calm.widening.unwrap() > 1.1, "{:?}", calm.widening);
}

#[test]
fn small_error_rates_are_correct() {
    let alphas = [0.001, 0.01, 0.05];
    let mut table = String::new();
    let mut worst = vec![];
    for (count, experiments) in [(12, 40_000), (21, 30_000), (50, 20_000), (200, 8_000)] {
        let mut rejected = [0; 3];
        for experiment in 0..experiments {
            let noise = NOISES[experiment % NOISES.len()];
            let mut machine = Machine::new(noise, experiment as u64 * 1000 + count as u64);
            let pairs: Vec<Pair> = (0..count).map(|_| machine.pair(Layout::Turns, 0.0)).collect();
            let p = Paired::new(&pairs, 0.0).test(0.0).p;
            for (rejected, alpha) in rejected.iter_mut().zip(alphas) {
                *rejected += usize::from(p <= alpha);
            }
        }
        for (rejected, alpha) in rejected.into_iter().zip(alphas) {
            table += &format!("n {count:4} alpha {alpha}: {:.5}\n", rejected as f64 / experiments as f64);
            if rejected > most(experiments, alpha) {
                worst.push((count, alpha, rejected));
            }
        }
    }
    assert!(worst.is_empty(), "{worst:?}\n{table}");
}
