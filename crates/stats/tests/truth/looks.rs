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

/// Looks share one error rate, so the interval at the end is wider than that of a single look. It is narrower than the
/// union bound would make it, by which the last of five looks has a fifth of the error: 2.58 instead of 1.96 standard
/// errors.
#[test]
fn looks_widen_the_interval_by_less_than_the_union_bound() {
    let width = |estimate: &steady_stats::Estimate| estimate.verdict_high.unwrap() - estimate.verdict_low.unwrap();
    let ratio = |seed: u64| {
        let pairs = pairs(Noise::Slots, seed, 400, 0.0);
        let mut sequence = Sequence::new(Rules { resolution: 1e-6, ..rules() }, 1);
        let look = |fifth: usize| sequence.look(&[pairs[..80 * fifth].to_vec()], fifth as f64 / 5.0, fifth == 5);
        let looks: Vec<_> = (1..=5).map(look).collect();
        (width(&looks[4].contenders[0]) / width(&single_look(&pairs, &rules()))).ln()
    };
    let mean = (1..=40).map(ratio).sum::<f64>().exp().powf(1.0 / 40.0);
    assert!(mean > 1.01 && mean < 1.15, "{mean}");
}

/// A further look at the same pairs tests the same statistic, and so costs almost nothing.
#[test]
fn looks_without_new_pairs_hardly_widen_the_interval() {
    let pairs = pairs(Noise::Heavy, 2, 60, 0.0);
    let once = single_look(&pairs, &rules());
    let mut sequence = Sequence::new(rules(), 1);
    let looks: Vec<_> =
        (1..=5).map(|k| sequence.look(std::slice::from_ref(&pairs), f64::from(k) / 5.0, k == 5)).collect();
    let width = |estimate: &steady_stats::Estimate| estimate.verdict_high.unwrap() - estimate.verdict_low.unwrap();
    assert!(width(&looks[4].contenders[0]) < 1.1 * width(&once));
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

/// Returns 200 pairs, half of them turns, with an effect of 20 % of which duets show a part.
fn partly_shown(part: f64) -> Vec<Pair> {
    let mut machine = Machine::new(Noise::Heavy, 8);
    let effect = |layout| if layout == Layout::Duet { 0.2 * part } else { 0.2 };
    let layouts = [Layout::Turns, Layout::Duet].into_iter().cycle().take(200);
    layouts.map(|layout| machine.pair(layout, effect(layout))).collect()
}

/// Duets show less or more than an effect. The interval of the size contains those of all pairs and of the turns.
#[test]
fn size_contains_the_intervals_of_all_pairs_and_of_the_turns() {
    for part in [0.5, 1.5] {
        let pairs = partly_shown(part);
        let estimate = single_look(&pairs, &rules());
        let [turns, duets] = &estimate.layouts[..] else { panic!("two layouts: {estimate:?}") };
        assert!((duets.effect.change.unwrap() - (0.2 * part).exp_m1()).abs() < 0.01);
        let ends = if part < 1.0 {
            (estimate.verdict_low, turns.effect.high)
        } else {
            (turns.effect.low, estimate.verdict_high)
        };
        assert_eq!((estimate.size.low, estimate.size.high), ends, "{part}");
        assert_eq!((estimate.size.change, estimate.size.pairs), (turns.effect.change, 100));
        // Exchanging the labels mirrors the size.
        let mirrored = single_look(&pairs.iter().map(|pair| pair.swapped()).collect::<Vec<_>>(), &rules()).size;
        for (one, other) in [(mirrored.low, estimate.size.high), (mirrored.high, estimate.size.low)] {
            let product = (1.0 + one.unwrap()) * (1.0 + other.unwrap());
            assert!((product - 1.0).abs() < 1e-9, "{product}");
        }
    }
}

/// With few turns, the size reaches from a part of the interval of all pairs to its multiple.
#[test]
fn few_turns_leave_the_size_to_all_pairs() {
    let few = |turns: usize| {
        let (sequential, mut chosen): (Vec<Pair>, Vec<Pair>) =
            partly_shown(1.0).into_iter().partition(|pair| pair.layout == Layout::Turns);
        chosen.extend(&sequential[..turns]);
        single_look(&chosen, &rules())
    };
    for (turns, part) in [(0, 0.8), (3, 0.85), (5, 0.85)] {
        let estimate = few(turns);
        let (low, high) = (estimate.size.low.unwrap(), estimate.size.high.unwrap());
        assert_eq!(estimate.size.pairs, 100 + turns);
        let verdict = (estimate.verdict_low.unwrap(), estimate.verdict_high.unwrap());
        let ratios = (low.ln_1p() / verdict.0.ln_1p(), verdict.1.ln_1p() / high.ln_1p());
        assert!(ratios.0 <= part + 1e-9 && (ratios.0 - ratios.1).abs() < 1e-9, "{turns}: {ratios:?}");
        assert!(ratios.0 > part - 0.2, "{turns}: {ratios:?}");
    }
    // Equal commands have one interval.
    let mut machine = Machine::new(Noise::Heavy, 9);
    let equal: Vec<Pair> = Layout::ALL.into_iter().cycle().take(60).map(|layout| machine.pair(layout, 0.0)).collect();
    let estimate = single_look(&equal, &rules());
    assert_eq!((estimate.size.low, estimate.size.high), (estimate.verdict_low, estimate.verdict_high));
}

/// Runs in duets that cost twice as much as in turns may show half of an effect, or twice as much.
#[test]
fn contention_widens_the_size() {
    let contended = |factor: f64| -> Vec<Pair> {
        let slower = |pair: &Pair| Pair { old: factor * pair.old, new: factor * pair.new, ..*pair };
        let all = partly_shown(1.0);
        all.iter()
            .enumerate()
            .filter(|(i, pair)| pair.layout == Layout::Duet || i % 60 == 0)
            .map(|(_, pair)| if pair.layout == Layout::Duet { slower(pair) } else { *pair })
            .collect()
    };
    let high = |factor: f64| single_look(&contended(factor), &rules()).size.high.unwrap();
    assert!(high(1.0) == high(0.7) && high(1.8) > high(1.0), "{} {} {}", high(0.7), high(1.0), high(1.8));
}

/// With a limit, error is kept for later looks as long as the limit may be inside the interval.
#[test]
fn precise_pairs_do_not_end_a_sequence_with_an_open_limit() {
    let pairs = pairs(Noise::Heavy, 5, 4000, 0.02_f64.ln_1p());
    let look =
        |limits: Vec<f64>| Sequence::new(Rules { limits, ..rules() }, 1).look(std::slice::from_ref(&pairs), 0.1, false);
    assert!(look(vec![]).done && look(vec![0.01]).done);
    let open = look(vec![0.02]);
    assert!(!open.done && open.alpha_spent < 0.05, "{open:?}");
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
