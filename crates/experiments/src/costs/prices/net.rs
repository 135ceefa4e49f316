//! From costs to prices.

use steady_model::{Absent, CostsReport, Interval, Measured, Price, Priced, Probe, Reading, Timed};
use steady_stats::descriptive::quantile;

use super::super::judge::Kept;

/// The prices of `lacking` that follow from a report.
pub fn net(report: &CostsReport, lacking: &[Priced]) -> Vec<(Priced, Reading<Price>)> {
    lacking.iter().map(|priced| (*priced, price(report, *priced))).collect()
}

fn price(report: &CostsReport, priced: Priced) -> Reading<Price> {
    match priced {
        Priced::MinorFault => whole(report, Probe::PageFault),
        Priced::MinorFaultMany => whole(report, Probe::PageFaultMany),
        Priced::MinorFaultCold => whole(report, Probe::PageFaultCold),
        Priced::Switch => whole(report, Probe::ProcessSwitch),
        Priced::KernelEntry => whole(report, Probe::SystemCall),
        Priced::Call(call) => whole(report, Probe::Call(call)),
        Priced::Fork => increment(report, Probe::ForkExit, None),
        Priced::Vfork => increment(report, Probe::VforkExit, None),
        Priced::Thread => increment(report, Probe::ThreadStart, None),
        Priced::Exec => increment(report, Probe::SpawnStatic, Some(Probe::VforkExit)),
    }
}

/// The cost of a probe as it is.
fn whole(report: &CostsReport, probe: Probe) -> Reading<Price> {
    let found = report.costs.iter().find(|(of, _)| *of == probe);
    let cost = found.ok_or_else(|| Absent::because(format!("{} was not measured", probe.name())))?;
    let cost = cost.1.as_ref().map_err(|absent| Absent::because(format!("{}: {absent}", probe.name())))?;
    positive(Price { seconds: cost.median, interval: cost.interval })
}

/// What a probe costs beyond `beneath`, the part of it that has a price of its own, and beyond the faults and switches
/// that were counted in it.
fn increment(report: &CostsReport, probe: Probe, beneath: Option<Probe>) -> Reading<Price> {
    let (fault, switch) = (whole(report, Probe::PageFault)?, whole(report, Probe::ProcessSwitch)?);
    let counted = |probe: Probe| -> Reading<[f64; 2]> {
        let measured = measured(report, probe)?;
        Ok([per_event(measured, |timed| timed.minor_faults), per_event(measured, switches)])
    };
    let [mut faults, mut switched] = counted(probe)?;
    let mut taken = Vec::new();
    if let Some(beneath) = beneath {
        let [less_faults, less_switches] = counted(beneath)?;
        (faults, switched) = (faults - less_faults, switched - less_switches);
        taken.push((1.0, whole(report, beneath)?));
    }
    taken.extend([(faults, fault), (switched, switch)]);
    positive(less(whole(report, probe)?, &taken))
}

fn switches(timed: &Timed) -> u64 {
    timed.voluntary_switches + timed.involuntary_switches
}

fn measured(report: &CostsReport, probe: Probe) -> Reading<&Measured> {
    let found = report.record.measured.iter().find(|(of, _)| *of == probe);
    let (_, measured) = found.ok_or_else(|| Absent::because(format!("{} was not measured", probe.name())))?;
    measured.as_ref().map_err(|absent| Absent::because(format!("{}: {absent}", probe.name())))
}

/// How often something was counted for each event, in the middle repetition of those that the cost rests on.
fn per_event(measured: &Measured, count: impl Fn(&Timed) -> u64) -> f64 {
    let net = |timed: &Timed, empty: &Timed| (count(timed) as f64 - count(empty) as f64) / timed.events as f64;
    let counts: Vec<f64> =
        Kept::of(measured).repetitions.iter().map(|repetition| net(&repetition.probe, &repetition.empty)).collect();
    quantile(&counts, 0.5).unwrap_or(f64::NAN)
}

/// A price less so many times others. They were measured apart, so their errors are added as squares, each end by itself
/// (the method of variance estimates recovery, Zou and Donner 2008).
fn less(whole: Price, others: &[(f64, Price)]) -> Price {
    let square = |times: f64, distance: f64| (times * distance).powi(2);
    let seconds = whole.seconds - others.iter().map(|(times, price)| times * price.seconds).sum::<f64>();
    let (mut below, mut above) =
        (square(1.0, whole.seconds - whole.interval.low), square(1.0, whole.interval.high - whole.seconds));
    for (times, price) in others {
        let ends = [price.seconds - price.interval.low, price.interval.high - price.seconds];
        // What is taken away too much is missing.
        let [low, high] = if *times >= 0.0 { [ends[1], ends[0]] } else { ends };
        (below, above) = (below + square(*times, low), above + square(*times, high));
    }
    Price { seconds, interval: Interval { low: seconds - below.sqrt(), high: seconds + above.sqrt() } }
}

/// A price is more than nothing.
fn positive(price: Price) -> Reading<Price> {
    if price.seconds > 0.0 {
        return Ok(price);
    }
    Err(Absent::because("what it brings about, at its own price, comes to as much as it costs in all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(seconds: f64, half_width: f64) -> Price {
        Price { seconds, interval: Interval { low: seconds - half_width, high: seconds + half_width } }
    }

    #[test]
    fn errors_are_added_as_squares() {
        let net = less(price(100.0, 3.0), &[(20.0, price(1.0, 0.2)), (1.0, price(10.0, 0.0))]);
        assert_eq!(net.seconds, 70.0);
        assert!((net.interval.low - 65.0).abs() < 1e-9 && (net.interval.high - 75.0).abs() < 1e-9);
    }

    #[test]
    fn each_end_of_what_is_taken_away_moves_the_other() {
        let lopsided = Price { seconds: 1.0, interval: Interval { low: 1.0, high: 3.0 } };
        let net = less(price(10.0, 0.0), &[(2.0, lopsided)]);
        assert_eq!((net.seconds, net.interval.low, net.interval.high), (8.0, 4.0, 8.0));
        let more = less(price(10.0, 0.0), &[(-2.0, lopsided)]);
        assert_eq!((more.seconds, more.interval.low, more.interval.high), (12.0, 12.0, 16.0));
    }

    #[test]
    fn nothing_is_no_price() {
        assert!(positive(price(0.0, 1.0)).is_err() && positive(price(-1.0, 0.1)).is_err());
        assert!(positive(price(f64::NAN, 0.1)).is_err());
    }
}
