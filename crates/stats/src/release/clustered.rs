//! One version after the other: regression of cost on the version and on what is known of the load, with errors from
//! stretches of time.

use std::collections::{BTreeMap, BTreeSet};

use super::linear;
use super::units::mean_in_time_error;
use super::{Estimated, critical};

/// One stretch of time of one version.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedCost {
    /// Which longer stretch it belongs to; numbered in order of time.
    pub cluster: u64,
    /// Where it was, such as on which host: places are each compared with themselves.
    pub place: u32,
    /// Whether NEW served.
    pub is_new: bool,
    /// Requests: its weight.
    pub requests: f64,
    /// The logarithm of cost.
    pub cost: f64,
    /// What is known of the load.
    pub covariates: Vec<f64>,
}

/// What the regression found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clustered {
    /// The effect with the load taken off.
    pub estimated: Estimated,
    /// The plain difference of the means.
    pub plain: f64,
    /// By how much knowing the load inflates the variance of the effect.
    pub inflation: f64,
}

/// The effect of the version on the cost, given the covariates. `None` where there are too few clusters, or the version and the
/// load are one.
pub fn clustered(rows: &[TimedCost]) -> Option<Clustered> {
    let covariates = rows.iter().map(|row| row.covariates.len()).min()?;
    let weights: Vec<f64> = rows.iter().map(|row| row.requests).collect();
    // Half and half, so that exchanging the versions negates the column.
    let version: Vec<f64> = rows.iter().map(|row| if row.is_new { 0.5 } else { -0.5 }).collect();
    let cost: Vec<f64> = rows.iter().map(|row| row.cost).collect();
    let load: Vec<Vec<f64>> = (0..covariates)
        .map(|at| beside_places(rows, &rows.iter().map(|row| row.covariates[at]).collect::<Vec<f64>>()))
        .collect();
    let without = |target: &[f64]| -> Option<Vec<f64>> {
        let found = linear::regress(&load, target, &weights)?;
        Some(linear::residuals(&load, &found, target))
    };
    // Frisch, Waugh and Lovell: what is left of version and cost once the load is taken out of both.
    let (plain_version, plain_cost) = (beside_places(rows, &version), beside_places(rows, &cost));
    let version_left = without(&plain_version)?;
    let cost_left = without(&plain_cost)?;
    let square = |values: &[f64]| values.iter().zip(&weights).map(|(value, w)| value * value * w).sum::<f64>();
    let joint = |one: &[f64], other: &[f64]| {
        one.iter().zip(other).zip(&weights).map(|((one, other), w)| one * other * w).sum::<f64>()
    };
    let own = square(&version_left);
    let inflation = square(&plain_version) / own;
    let effect = joint(&version_left, &cost_left) / own;
    let plain = joint(&plain_version, &plain_cost) / square(&plain_version);
    let mut scores: Vec<(u64, f64)> = Vec::new();
    for (row, ((v, c), w)) in rows.iter().zip(version_left.iter().zip(&cost_left).zip(&weights)) {
        let score = w * v * (c - effect * v);
        match scores.last_mut() {
            Some((cluster, sum)) if *cluster == row.cluster => *sum += score,
            _ => scores.push((row.cluster, score)),
        }
    }
    let clusters = scores.len() as f64;
    let freedom = clusters - 1.0 - places(rows) as f64 - covariates as f64;
    if freedom < 1.0 || !effect.is_finite() || !inflation.is_finite() {
        return None;
    }
    let scores: Vec<f64> = scores.into_iter().map(|(_, score)| score).collect();
    let meat = mean_in_time_error(&scores) * clusters / freedom;
    let estimated = Estimated { effect, variance: meat / (own * own), freedom };
    (estimated.variance > 0.0).then_some(Clustered { estimated, plain, inflation })
}

/// Values less their mean in their place.
fn beside_places(rows: &[TimedCost], values: &[f64]) -> Vec<f64> {
    let mut means: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (row, value) in rows.iter().zip(values) {
        let mean = means.entry(row.place).or_default();
        mean.0 += row.requests * value;
        mean.1 += row.requests;
    }
    rows.iter().zip(values).map(|(row, value)| value - means[&row.place].0 / means[&row.place].1).collect()
}

fn places(rows: &[TimedCost]) -> usize {
    rows.iter().map(|row| row.place).collect::<BTreeSet<u32>>().len()
}

/// Whether two answers about the same effect differ by more than their errors.
pub fn differ(one: &Estimated, other: &Estimated, alpha: f64) -> bool {
    let freedom = one.freedom.min(other.freedom);
    (one.effect - other.effect).abs() > critical(alpha, freedom) * (one.variance + other.variance).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(effect: f64, overlap: bool) -> Vec<TimedCost> {
        let row = |at: u64| {
            let is_new = at >= 30;
            let wave = (at as f64 * 0.9).sin() * 0.2;
            let load = if overlap { wave } else { 0.1 * wave + if is_new { 0.5 } else { 0.0 } };
            let noise = 0.01 * (at as f64 * 2.3).cos();
            let cost = 14.0 + 1.3 * load + noise + if is_new { effect } else { 0.0 };
            TimedCost { cluster: at / 2, place: 0, is_new, requests: 50.0, cost, covariates: vec![load] }
        };
        (0..60).map(row).collect()
    }

    #[test]
    fn load_is_told_from_the_version_where_it_overlaps() {
        let found = clustered(&rows(0.05, true)).unwrap();
        assert!((found.estimated.effect - 0.05).abs() < 0.005 && found.inflation < 1.1, "{found:?}");
        assert!(found.estimated.interval(0.05).holds(0.05));
        let apart = clustered(&rows(0.05, false)).unwrap();
        assert!(apart.inflation > 10.0, "{apart:?}");
    }

    #[test]
    fn exchanging_the_versions_negates_it() {
        let one = rows(0.05, true);
        let other: Vec<TimedCost> = one.iter().map(|row| TimedCost { is_new: !row.is_new, ..row.clone() }).collect();
        let (one, other) = (clustered(&one).unwrap(), clustered(&other).unwrap());
        assert_eq!(one.estimated.effect, -other.estimated.effect);
        assert_eq!((one.estimated.variance, one.inflation), (other.estimated.variance, other.inflation));
        assert!(!differ(&one.estimated, &one.estimated, 0.05) && differ(&one.estimated, &other.estimated, 0.05));
    }

    #[test]
    fn places_are_compared_with_themselves() {
        let mut rows = rows(0.05, true);
        let second: Vec<TimedCost> = rows
            .iter()
            .filter(|row| row.is_new || row.cluster % 2 == 0)
            .map(|row| TimedCost { place: 1, cost: row.cost + 3.0, ..row.clone() })
            .collect();
        rows.extend(second);
        rows.sort_by_key(|row| row.cluster);
        let found = clustered(&rows).unwrap();
        assert!((found.estimated.effect - 0.05).abs() < 0.005, "{found:?}");
        assert_eq!(clustered(&[]), None);
    }
}
