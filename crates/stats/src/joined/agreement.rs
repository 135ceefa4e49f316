//! Whether the sources tell of one effect.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::game::{Game, Told};
use crate::normal;

/// Cochran's test that all sources have the same effect.
///
/// A source that ended early may have ended for what made it deviate. Its deviation is then worth no more than what a
/// motion that may be stopped at any time seldom reaches (Robbins 1970, with the first look's time as the mixture's).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Whether nothing beyond chance lies between them.
    pub agrees: bool,
    /// The sum of the squared deviations.
    pub q: f64,
    /// How large it is expected to be: one less than there are sources that tell.
    pub degrees_of_freedom: usize,
    /// The probability of a sum as large, had all the same effect.
    pub p: f64,
    /// The share of the sum beyond what is expected (I squared, Higgins and Thompson 2002).
    pub i_squared: f64,
    /// Where they differ: the sources that stand out, by their place; the farthest where none does by itself.
    pub outlying: Vec<usize>,
}

/// A source's deviation from all together.
struct Deviation {
    index: usize,
    /// Squared, in standard errors, as if it had been fixed when to end.
    square: f64,
    /// Its share of all information.
    share: f64,
}

/// The agreement of the sources of a game, at an error of `alpha`; `None` where fewer than two tell.
pub(super) fn agreement(game: &Game, alpha: f64) -> Option<Agreement> {
    let each = game.each();
    let degrees = each.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    let information: f64 = each.iter().map(|told| told.error.powi(-2)).sum();
    let centre = each.iter().map(|told| told.effect / told.error.powi(2)).sum::<f64>() / information;
    let deviation = |told: &Told| Deviation {
        index: told.index,
        square: square(told, centre),
        share: told.error.powi(-2) / information,
    };
    let deviations: Vec<Deviation> = each.iter().map(deviation).collect();
    let q: f64 = deviations.iter().map(|one| one.square).sum();
    let p = ChiSquared::new(degrees as f64).ok()?.sf(q);
    let agrees = p >= alpha;
    Some(Agreement {
        agrees,
        q,
        degrees_of_freedom: degrees,
        p,
        i_squared: if q > 0.0 { (1.0 - degrees as f64 / q).max(0.0) } else { 0.0 },
        outlying: if agrees { vec![] } else { outlying(&deviations, alpha) },
    })
}

/// The squared deviation of one source.
fn square(told: &Told, centre: f64) -> f64 {
    let plain = ((told.effect - centre) / told.error).powi(2);
    if told.progress >= 1.0 {
        return plain;
    }
    let part = told.progress / (told.progress + told.first);
    // The logarithm of the probability to reach so far at any time, and the square that is as rare.
    let log = 0.5 * (1.0 - part).ln().abs() - part * plain / 2.0;
    if log >= 0.0 { 0.0 } else { normal::two_sided_quantile(log.exp()).powi(2).min(plain) }
}

/// Those that deviate by more than the largest of so many would by chance. A source with a large share draws the centre
/// towards itself, which is allowed for.
fn outlying(deviations: &[Deviation], alpha: f64) -> Vec<usize> {
    let limit = normal::two_sided_quantile(alpha / deviations.len() as f64).powi(2);
    let alone = |one: &Deviation| one.square / (1.0 - one.share).max(1e-6);
    let farthest = deviations.iter().map(alone).fold(0.0, f64::max);
    let far = deviations.iter().filter(|one| alone(one) >= limit.min(0.999 * farthest));
    far.map(|one| one.index).collect()
}
