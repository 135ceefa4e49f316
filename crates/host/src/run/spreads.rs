//! Measures how far a host is from quiet: the spread of the times that the same work takes.

use std::collections::BTreeMap;

use steady_linux::clock;
use steady_model::{Absent, Nanos, Reading, Resource};
use steady_rulers::Rulers;
use steady_stats::descriptive::quantile;

use crate::record::RulerSpread;

/// Minimum number of readings of a ruler for a spread.
const MIN_READINGS: usize = 5;

/// Reads all rulers in turn for some time, and returns the spread of the readings of each.
///
/// # Errors
/// No ruler could be read [`MIN_READINGS`] times.
pub(crate) fn spreads(rulers: &mut Rulers, time: Nanos) -> Reading<Vec<RulerSpread>> {
    let begun = clock::monotonic();
    let mut readings: BTreeMap<Resource, Vec<f64>> = BTreeMap::new();
    while clock::monotonic() - begun < time {
        for resource in Resource::ALL {
            // A reading fails if the machine lacks the resource, or is too slow at this moment.
            if let Ok(reading) = rulers.read(resource) {
                readings.entry(resource).or_default().push(reading.seconds_per_unit);
            }
        }
    }
    let spreads: Vec<RulerSpread> = readings.into_iter().filter_map(|(resource, all)| of(resource, &all)).collect();
    if spreads.is_empty() { Err(Absent::because("no ruler could be read often enough")) } else { Ok(spreads) }
}

fn of(resource: Resource, readings: &[f64]) -> Option<RulerSpread> {
    if readings.len() < MIN_READINGS {
        return None;
    }
    let mut sorted = readings.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |part: f64| quantile(&sorted, part);
    let median = at(0.5).filter(|median| *median > 0.0)?;
    Some(RulerSpread {
        ruler: resource,
        readings: readings.len(),
        spread_ratio: (at(0.75)? - at(0.25)?) / median,
        range_ratio: (at(1.0)? - at(0.0)?) / median,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_the_interquartile_range() {
        let spread = of(Resource::Alu, &[5.0, 1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((spread.readings, spread.spread_ratio, spread.range_ratio), (5, 2.0 / 3.0, 4.0 / 3.0));
        assert_eq!(of(Resource::Alu, &[1.0; 4]), None);
        assert_eq!(of(Resource::Alu, &[2.0; 9]).unwrap().spread_ratio, 0.0);
    }
}
