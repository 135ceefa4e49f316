//! The tail probability of a sum of scores with random, fair signs.

use crate::normal;
use crate::scale::Scratch;

/// Up to this number of scores, all combinations of signs are enumerated.
const COUNTED: usize = 16;
/// From this effective number of scores on, the normal tail with its first corrections is as accurate as the
/// saddlepoint approximation.
const MANY: f64 = 400.0;
/// Up to this number of scores, all combinations of signs are enumerated if some scores leave gaps between sums.
const COUNTED_WITH_GAPS: usize = 20;
/// A score leaves gaps between sums if its square is this multiple of the sum of the squares of all smaller scores. With
/// 2, the gaps change probabilities by up to a tenth.
const GAP: f64 = 2.0;
/// Gaps matter if the square of the score is at least this part of the sum of all squares. From it on, the saddlepoint
/// approximation is wrong by more than a tenth.
const COARSE: f64 = 1.0 / 200.0;
/// Scores whose relative difference is smaller differ only by rounding.
const ROUNDING: f64 = 1e-12;

/// Returns the two-sided tail probability: that the sum of the scratch's `score`s with random signs is at least as far
/// from zero as `sum`. Scores of zero are ignored.
pub(crate) fn two_sided(sum: f64, scratch: &mut Scratch) -> f64 {
    let Scratch { score, sums, .. } = scratch;
    let sum = sum.abs();
    let count = score.iter().filter(|&&q| q > 0.0).count();
    let upper = if count <= COUNTED { counted(sum, score, sums) } else { approximated(sum, score, count, sums) };
    (2.0 * upper).min(1.0)
}

/// Exact enumeration of all `2^n` sums: each is a sum over one half of the scores plus a sum over the other half.
fn counted(sum: f64, score: &[f64], sums: &mut [Vec<f64>; 3]) -> f64 {
    let total: f64 = score.iter().sum();
    // Sums that differ only by rounding count as equal.
    let threshold = sum - ROUNDING * total;
    halves(score, sums);
    let [left, right, _] = sums;
    let mut reaching = 0u64;
    let mut from = right.len();
    for &l in left.iter() {
        while from > 0 && l + right[from - 1] >= threshold {
            from -= 1;
        }
        reaching += (right.len() - from) as u64;
    }
    reaching as f64 / (left.len() * right.len()) as f64
}

/// Fills the first two lists with the sums over one half of the scores and over the other half, with all combinations of
/// signs, in ascending order. Scores of zero are ignored.
fn halves(score: &[f64], sums: &mut [Vec<f64>; 3]) {
    let [left, right, spare] = sums;
    left.clear();
    left.push(0.0);
    right.clear();
    right.push(0.0);
    for (turn, &q) in score.iter().filter(|&&q| q > 0.0).enumerate() {
        add_sign(if turn % 2 == 0 { &mut *left } else { &mut *right }, q, spare);
    }
}

/// Adds a further score with either sign to ascending sums, and keeps them ascending.
fn add_sign(sums: &mut Vec<f64>, q: f64, spare: &mut Vec<f64>) {
    spare.clear();
    let (mut minus, mut plus) = (0, 0);
    while minus < sums.len() || plus < sums.len() {
        if minus < sums.len() && sums[minus] - q <= sums[plus] + q {
            spare.push(sums[minus] - q);
            minus += 1;
        } else {
            spare.push(sums[plus] + q);
            plus += 1;
        }
    }
    std::mem::swap(sums, spare);
}

/// Approximates the upper tail from the moments of the scores, by the saddlepoint if few scores dominate the sum, or by
/// enumeration of the dominant scores if their sums have gaps.
fn approximated(sum: f64, score: &[f64], count: usize, sums: &mut [Vec<f64>; 3]) -> f64 {
    let (mut second, mut fourth, mut sixth, mut total, mut largest) = (0.0, 0.0, 0.0, 0.0, 0.0_f64);
    for &q in score {
        let square = q * q;
        total += q;
        second += square;
        fourth += square * square;
        sixth += square * square * square;
        largest = largest.max(q);
    }
    if sum >= total * (1.0 - ROUNDING) {
        return (-(count as f64)).exp2();
    }
    let z = sum / second.sqrt();
    let (kappa4, kappa6) = (-2.0 * fourth / second.powi(2), 16.0 * sixth / second.powi(3));
    if z < 0.5 || second * second / fourth > MANY {
        return edgeworth(z, kappa4, kappa6);
    }
    let threshold = sum - ROUNDING * total;
    let equal = score.iter().filter(|&&q| is_equal(q, largest)).count();
    let dominant = match equal > COUNTED {
        true => with_equal(threshold, score, largest, equal),
        // With a larger effective number, none of the largest scores can leave gaps.
        false if second * second < (COUNTED + 2) as f64 * fourth => with_largest(threshold, score, sums),
        false => None,
    };
    dominant.map_or_else(|| saddlepoint(sum, score, second), |tail| tail.max((-(count as f64)).exp2()))
}

/// Returns the upper tail if one of the [`COUNTED`] largest scores leaves gaps between sums that the smaller scores do not
/// fill. Otherwise `None`.
///
/// The distribution has steps at the gaps, which no smooth approximation follows. The scores down to the smallest one
/// that leaves gaps are therefore enumerated. The sum of the others is approximately normal.
fn with_largest(sum: f64, score: &[f64], sums: &mut [Vec<f64>; 3]) -> Option<f64> {
    let spare = &mut sums[2];
    spare.clear();
    spare.extend(score.iter().filter(|&&q| q > 0.0));
    spare.select_nth_unstable_by(COUNTED, |a, b| b.total_cmp(a));
    let mut largest = [0.0; COUNTED];
    largest.copy_from_slice(&spare[..COUNTED]);
    largest.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut square: f64 = spare[COUNTED..].iter().map(|q| q * q).sum();
    let least = COARSE * (square + largest.iter().map(|q| q * q).sum::<f64>());
    let mut dominant = &largest[..];
    while let Some((last, larger)) = dominant.split_last()
        && last * last < least.max(GAP * square)
    {
        square += last * last;
        dominant = larger;
    }
    if dominant.is_empty() {
        return None;
    }
    // The sum of a few remaining scores is not normal.
    if spare.len() <= COUNTED_WITH_GAPS {
        return Some(counted(sum, score, sums));
    }
    halves(dominant, sums);
    let [left, right, _] = sums;
    Some(smoothed(sum, left, right, square.sqrt()))
}

/// Returns the mean of normal upper tails at `sum`. Their centres are the sums of one value of each of two ascending
/// lists.
fn smoothed(sum: f64, left: &[f64], right: &[f64], deviation: f64) -> f64 {
    /// In standard deviations, the distance from which on a normal tail counts as 0 or 1.
    const REACH: f64 = 6.0;
    let reach = REACH * deviation;
    // The values of `right` from `certain` on have a tail of 1, and those from `possible` on have one above 0.
    let (mut certain, mut possible) = (right.len(), right.len());
    let mut tail = 0.0;
    for l in left {
        while certain > 0 && l + right[certain - 1] - reach >= sum {
            certain -= 1;
        }
        while possible > 0 && l + right[possible - 1] + reach >= sum {
            possible -= 1;
        }
        let between = right[possible..certain].iter().map(|r| normal::upper_tail((sum - l - r) / deviation));
        tail += (right.len() - certain) as f64 + between.sum::<f64>();
    }
    tail / (left.len() * right.len()) as f64
}

/// Returns the upper tail if more than [`COUNTED`] scores are as large as the largest, and leave gaps between sums.
/// Otherwise `None`. See [`with_largest`]; here the enumerated sum is binomial.
fn with_equal(sum: f64, score: &[f64], largest: f64, equal: usize) -> Option<f64> {
    let square: f64 = score.iter().filter(|&&q| !is_equal(q, largest)).map(|q| q * q).sum();
    if largest * largest < GAP * square {
        return None;
    }
    let deviation = square.sqrt().max(f64::MIN_POSITIVE);
    let (mut probability, mut tail) = ((-(equal as f64)).exp2(), 0.0);
    for minus in 0..=equal {
        let centre = (equal as f64 - 2.0 * minus as f64) * largest;
        tail += probability * normal::upper_tail((sum - centre) / deviation);
        probability *= (equal - minus) as f64 / (minus + 1) as f64;
    }
    Some(tail)
}

fn is_equal(q: f64, largest: f64) -> bool {
    q >= largest * (1.0 - ROUNDING)
}

/// Edgeworth expansion of the upper tail of a symmetric sum (Hall, The Bootstrap and Edgeworth Expansion, 1992, 2.3).
fn edgeworth(z: f64, kappa4: f64, kappa6: f64) -> f64 {
    let square = z * z;
    let third = z * (square - 3.0);
    let fifth = z * (square * square - 10.0 * square + 15.0);
    let seventh = z * (square * square * square - 21.0 * square * square + 105.0 * square - 105.0);
    let correction = kappa4 / 24.0 * third + kappa6 / 720.0 * fifth + kappa4 * kappa4 / 1152.0 * seventh;
    (normal::upper_tail(z) + normal::density(z) * correction).clamp(0.0, 1.0)
}

/// Lugannani and Rice's saddlepoint approximation (Saddle point approximation for the distribution of the sum of
/// independent random variables, 1980), with the cumulant function sum(log cosh(q t)) of random signs.
fn saddlepoint(sum: f64, score: &[f64], second: f64) -> f64 {
    let (t, at) = tilt(sum, score, second);
    let w = (2.0 * (t * sum - at.cumulant)).max(0.0).sqrt();
    let u = t * at.curvature.sqrt();
    (normal::upper_tail(w) + normal::density(w) * (u.recip() - w.recip())).clamp(0.0, 1.0)
}

/// The cumulant generating function at a tilt, and its first two derivatives.
struct Cumulants {
    cumulant: f64,
    mean: f64,
    curvature: f64,
}

impl Cumulants {
    fn at(t: f64, score: &[f64]) -> Cumulants {
        let mut sums = Cumulants { cumulant: 0.0, mean: 0.0, curvature: 0.0 };
        // One logarithm for the product of eight factors, each between 0.5 and 1.
        for eight in score.chunks(8) {
            let mut product = 1.0;
            for &q in eight {
                let decay = (-2.0 * q * t).exp();
                let tanh = (1.0 - decay) / (1.0 + decay);
                sums.cumulant += q * t;
                product *= 0.5 * (1.0 + decay);
                sums.mean += q * tanh;
                sums.curvature += q * q * (1.0 - tanh * tanh);
            }
            sums.cumulant += product.ln();
        }
        sums
    }
}

/// Returns the tilt t at which the mean of the sum, sum(q tanh(q t)), is `sum`, by Newton's method within a bracket.
fn tilt(sum: f64, score: &[f64], second: f64) -> (f64, Cumulants) {
    let (mut low, mut high, mut t) = (0.0_f64, f64::INFINITY, sum / second);
    let mut at = Cumulants::at(t, score);
    for _ in 0..60 {
        if (at.mean - sum).abs() <= 1e-6 * sum {
            break;
        }
        if at.mean < sum {
            low = t
        } else {
            high = t
        }
        let next = t + (sum - at.mean) / at.curvature;
        t = match (next > low && next < high, high.is_finite()) {
            (true, _) => next,
            (false, true) => (low + high) / 2.0,
            (false, false) => 2.0 * t,
        };
        at = Cumulants::at(t, score);
    }
    (t, at)
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{Binomial, DiscreteCDF};

    use super::*;

    fn p(sum: f64, score: &[f64]) -> f64 {
        let mut scratch = Scratch::default();
        scratch.score.extend(score);
        two_sided(sum, &mut scratch)
    }

    /// Enumerates all sums one by one.
    fn enumerated(sum: f64, score: &[f64]) -> f64 {
        let reaches = |signs: &u32| {
            let signed = score.iter().enumerate().map(|(i, q)| if signs >> i & 1 == 1 { *q } else { -q });
            signed.sum::<f64>().abs() >= sum.abs() - 1e-9
        };
        (0..1_u32 << score.len()).filter(reaches).count() as f64 / (1_u64 << score.len()) as f64
    }

    #[test]
    fn all_combinations_of_signs_are_counted() {
        for count in 1..=13 {
            let ranks: Vec<f64> = (1..=count).map(f64::from).collect();
            let uneven: Vec<f64> = ranks.iter().map(|rank| rank * (1.3 + (rank * 7.0).sin())).collect();
            for score in [ranks, uneven] {
                let total: f64 = score.iter().sum();
                for sum in [0.0, score[0], total / 3.0, total - 2.0 * score[0], total] {
                    assert_eq!(p(sum, &score), enumerated(sum, &score), "{sum} of {score:?}");
                    assert_eq!(p(-sum, &score), p(sum, &score));
                }
            }
        }
    }

    #[test]
    fn equal_signs_have_the_smallest_probability() {
        for count in [1, 6, 20, 21, 60] {
            let score = vec![1.5; count];
            assert_eq!(p(1.5 * count as f64, &score), (1.0 - count as f64).exp2());
        }
        assert_eq!(p(0.0, &[]), 1.0);
    }

    /// Compares the approximations with the enumeration of 20 scores, which is still feasible.
    #[test]
    fn the_saddlepoint_is_accurate_where_the_normal_tail_is_not() {
        let score: Vec<f64> = (1..=20).map(|rank| f64::from(rank) * if rank % 3 == 0 { 2.0 } else { 1.0 }).collect();
        let second: f64 = score.iter().map(|q| q * q).sum();
        for z in [1.0, 2.0, 2.6, 3.0, 3.3] {
            let sum = z * second.sqrt();
            let exact = counted(sum, &score, &mut Default::default());
            let close = approximated(sum, &score, score.len(), &mut Default::default());
            assert!((close / exact - 1.0).abs() < 0.12, "{z}: {close} {exact}");
        }
        let normal = normal::upper_tail(3.3);
        assert!(normal > 2.0 * counted(3.3 * second.sqrt(), &score, &mut Default::default()));
    }

    /// Returns scores with gaps between their sums: `large` ones of about 1, and `small` ones of about `size`.
    fn gapped(large: u32, spread: f64, small: u32, size: f64) -> Vec<f64> {
        let large = (0..large).map(|n| 1.0 + spread * (f64::from(n) * 2.3).sin());
        large.chain((0..small).map(|n| size * (1.0 + 0.4 * (f64::from(n) * 1.7).sin()))).collect()
    }

    /// Compares with the enumeration of all scores, at sums of random signs.
    #[test]
    fn a_few_large_scores_among_small_ones_are_enumerated() {
        let mut seed = 1_u64;
        let mut sum_of = |score: &[f64]| -> f64 {
            let signed = score.iter().map(|q| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if seed >> 62 == 0 { -q } else { *q }
            });
            signed.sum()
        };
        for (large, count) in [4, 6, 8, 12, 16].into_iter().flat_map(|large| [18, 22].map(|count| (large, count))) {
            for (spread, size) in
                [(0.0, 1e-9), (0.0, 0.03), (0.1, 0.03), (0.1, 0.1), (0.2, 0.25), (0.6, 0.4), (1.0, 0.3)]
            {
                let score = gapped(large, spread, count - large, size);
                for sum in (0..150).map(|_| sum_of(&score)) {
                    let exact = counted(sum, &score, &mut Default::default());
                    if (1e-3..0.15).contains(&exact) {
                        let close = approximated(sum, &score, score.len(), &mut Default::default());
                        let case = format!("{large} of {count}, {spread} {size}: {close} {exact}");
                        assert!((close / exact - 1.0).abs() < 0.11, "{case}");
                    }
                }
            }
        }
    }

    /// Of many equal scores, the sum is binomial.
    #[test]
    fn equal_scores_have_a_binomial_sum() {
        for count in [17, 20, 30, 60, 200] {
            for small in [0, 40] {
                let score = gapped(count, 0.0, small, 1e-6);
                let binomial = Binomial::new(0.5, u64::from(count)).unwrap();
                for plus in count.div_ceil(2) + 1..=count {
                    let exact = binomial.sf(u64::from(plus) - 1);
                    let sum = 2.0 * f64::from(plus) - f64::from(count) - 1e-4;
                    if !(1e-6..0.25).contains(&exact) {
                        continue;
                    }
                    let close = p(sum, &score) / 2.0;
                    assert!((close / exact - 1.0).abs() < 1e-6, "{plus} of {count}, {small}: {close} {exact}");
                }
            }
        }
    }

    #[test]
    fn both_approximations_agree() {
        let score: Vec<f64> = (1..=900).map(|rank| f64::from(rank) * (1.5 + f64::from(rank).sin())).collect();
        let (second, fourth) = score.iter().fold((0.0, 0.0), |(s, f), q| (s + q * q, f + q * q * q * q));
        let sixth: f64 = score.iter().map(|q| q.powi(6)).sum();
        for z in [0.6, 1.0, 2.0, 3.0, 4.0] {
            let series = edgeworth(z, -2.0 * fourth / (second * second), 16.0 * sixth / second.powi(3));
            let saddle = saddlepoint(z * second.sqrt(), &score, second);
            assert!((series / saddle - 1.0).abs() < 0.01, "{z}: {series} {saddle}");
        }
    }
}
