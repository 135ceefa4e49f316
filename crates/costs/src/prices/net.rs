//! Computes prices from costs.

use steady_model::{Absent, Interval, Probe, Reading, Timed};
use steady_stats::descriptive::quantile;

use super::{Price, Priced};
use crate::judge::Kept;
use crate::record::{CostsRecord, Measured, ProbeCost};

/// Computes the prices in `lacking` from a record.
pub fn net(record: &CostsRecord, lacking: &[Priced]) -> Vec<(Priced, Reading<Price>)> {
    lacking.iter().map(|priced| (*priced, price(record, *priced))).collect()
}

fn price(record: &CostsRecord, priced: Priced) -> Reading<Price> {
    match priced {
        Priced::MinorFault => whole(record, Probe::PageFault),
        Priced::MinorFaultMany => whole(record, Probe::PageFaultMany),
        Priced::MinorFaultCold => whole(record, Probe::PageFaultCold),
        Priced::Switch => whole(record, Probe::ProcessSwitch),
        Priced::KernelEntry => whole(record, Probe::SystemCall),
        Priced::Call(call) => whole(record, Probe::Call(call)),
        Priced::Fork => increment(record, Probe::ForkExit, None),
        Priced::Vfork => increment(record, Probe::VforkExit, None),
        Priced::Thread => increment(record, Probe::ThreadStart, None),
        Priced::Exec => increment(record, Probe::SpawnStatic, Some(Probe::VforkExit)),
    }
}

/// Uses the whole cost of a probe as price.
fn whole(record: &CostsRecord, probe: Probe) -> Reading<Price> {
    let found = found(record, probe)?;
    let cost = found.cost.as_ref().map_err(|absent| Absent::because(format!("{}: {absent}", probe.name())))?;
    positive(Price { seconds: cost.median_seconds, interval: cost.interval() })
}

/// The cost of a probe minus the cost of the probe `included`, which is a part of it, and minus the counted faults and
/// switches.
fn increment(record: &CostsRecord, probe: Probe, included: Option<Probe>) -> Reading<Price> {
    let (fault, switch) = (whole(record, Probe::PageFault)?, whole(record, Probe::ProcessSwitch)?);
    let counted = |probe: Probe| -> Reading<[f64; 2]> {
        let measured = measured(record, probe)?;
        Ok([per_event(&measured, |timed| timed.minor_faults), per_event(&measured, switches)])
    };
    let [mut faults, mut switched] = counted(probe)?;
    let mut subtracted = Vec::new();
    if let Some(included) = included {
        let [less_faults, less_switches] = counted(included)?;
        (faults, switched) = (faults - less_faults, switched - less_switches);
        subtracted.push((1.0, whole(record, included)?));
    }
    subtracted.extend([(faults, fault), (switched, switch)]);
    positive(less(whole(record, probe)?, &subtracted))
}

fn switches(timed: &Timed) -> u64 {
    timed.voluntary_switches + timed.involuntary_switches
}

fn measured(record: &CostsRecord, probe: Probe) -> Reading<Measured<'_>> {
    found(record, probe)?.measured().map_err(|absent| Absent::because(format!("{}: {absent}", probe.name())))
}

fn found(record: &CostsRecord, probe: Probe) -> Reading<&ProbeCost> {
    let found = record.probes.iter().find(|one| one.probe == probe);
    found.ok_or_else(|| Absent::because(format!("{} was not measured", probe.name())))
}

/// Median count per event over the repetitions that the cost is computed from.
fn per_event(measured: &Measured<'_>, count: impl Fn(&Timed) -> u64) -> f64 {
    let net = |timed: &Timed, empty: &Timed| (count(timed) as f64 - count(empty) as f64) / timed.events as f64;
    let counts: Vec<f64> =
        Kept::of(measured).repetitions.iter().map(|repetition| net(&repetition.probe, &repetition.empty)).collect();
    quantile(&counts, 0.5).unwrap_or(f64::NAN)
}

/// Subtracts multiples of other prices. They were measured independently, so the squares of their errors are added.
/// This is done separately for each end of the interval (method of variance estimates recovery, Zou and Donner 2008).
fn less(whole: Price, others: &[(f64, Price)]) -> Price {
    let square = |times: f64, distance: f64| (times * distance).powi(2);
    let seconds = whole.seconds - others.iter().map(|(times, price)| times * price.seconds).sum::<f64>();
    let (mut below, mut above) =
        (square(1.0, whole.seconds - whole.interval.low), square(1.0, whole.interval.high - whole.seconds));
    for (times, price) in others {
        let ends = [price.seconds - price.interval.low, price.interval.high - price.seconds];
        // If a subtracted price is too high, the result is too low.
        let [low, high] = if *times >= 0.0 { [ends[1], ends[0]] } else { ends };
        (below, above) = (below + square(*times, low), above + square(*times, high));
    }
    Price { seconds, interval: Interval { low: seconds - below.sqrt(), high: seconds + above.sqrt() } }
}

/// Rejects prices that are not positive.
fn positive(price: Price) -> Reading<Price> {
    if price.seconds > 0.0 {
        return Ok(price);
    }
    Err(Absent::because("the events that it causes cost as much as the whole, at their own prices"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(seconds: f64, half_width: f64) -> Price {
        Price { seconds, interval: Interval { low: seconds - half_width, high: seconds + half_width } }
    }

    #[test]
    fn squares_of_errors_are_added() {
        let net = less(price(100.0, 3.0), &[(20.0, price(1.0, 0.2)), (1.0, price(10.0, 0.0))]);
        assert_eq!(net.seconds, 70.0);
        assert!((net.interval.low - 65.0).abs() < 1e-9 && (net.interval.high - 75.0).abs() < 1e-9);
    }

    #[test]
    fn the_upper_error_of_a_subtracted_price_moves_the_lower_end() {
        let lopsided = Price { seconds: 1.0, interval: Interval { low: 1.0, high: 3.0 } };
        let net = less(price(10.0, 0.0), &[(2.0, lopsided)]);
        assert_eq!((net.seconds, net.interval.low, net.interval.high), (8.0, 4.0, 8.0));
        let more = less(price(10.0, 0.0), &[(-2.0, lopsided)]);
        assert_eq!((more.seconds, more.interval.low, more.interval.high), (12.0, 12.0, 16.0));
    }

    #[test]
    fn prices_that_are_not_positive_are_rejected() {
        assert!(positive(price(0.0, 1.0)).is_err() && positive(price(-1.0, 0.1)).is_err());
        assert!(positive(price(f64::NAN, 0.1)).is_err());
    }
}
