//! Formats costs with as many digits as their interval and resolution support, and defines the groups of probes in
//! reports.

use steady_model::Probe;

use steady_render::units::{TIE, decimals, decimals_of, fixed, percent, thousands, time, time_unit};

use crate::record::{Cost, Mode};

/// Maximal number of significant digits of a cost.
const DIGITS: i32 = 4;

/// Formats the figures of one cost in one unit.
pub(super) struct Figures<'a> {
    cost: &'a Cost,
    unit: &'static str,
    scale: f64,
    decimals: usize,
}

impl<'a> Figures<'a> {
    /// Chooses the unit by the size of the median.
    pub(super) fn of(cost: &'a Cost) -> Self {
        let (unit, scale) = unit_of(cost.median_seconds);
        let off = cost.interval().half_width().max(cost.resolution_seconds) * scale;
        // An uncertainty of zero or infinity does not limit the digits.
        let supported = if off.is_finite() && off > 0.0 { decimals(off) } else { usize::MAX };
        Figures { cost, unit, scale, decimals: supported.min(decimals_of(cost.median_seconds * scale, DIGITS)) }
    }

    /// The median: `21.4 ns`.
    pub(super) fn median(&self) -> String {
        format!("{}{TIE}{}", self.number(self.cost.median_seconds), self.unit)
    }

    /// The interval in the unit of the median: `21.3 to 21.6`.
    pub(super) fn interval(&self) -> String {
        let interval = self.cost.interval();
        if interval.low.is_finite() && interval.high.is_finite() {
            format!("{}{TIE}to{TIE}{}", self.number(interval.low), self.number(interval.high))
        } else {
            "–".to_owned()
        }
    }

    /// The interval for a sentence: `21.3 to 21.6 ns`, or `no interval`.
    pub(super) fn interval_with_unit(&self) -> String {
        match self.interval() {
            none if none == "–" => "no interval".to_owned(),
            interval => format!("{interval}{TIE}{}", self.unit),
        }
    }

    fn number(&self, seconds: f64) -> String {
        fixed(seconds * self.scale, self.decimals)
    }
}

/// Unit and scale for a cost. Zero is in nanoseconds.
fn unit_of(seconds: f64) -> (&'static str, f64) {
    if seconds == 0.0 || !seconds.is_finite() { ("ns", 1e9) } else { time_unit(seconds) }
}

/// A time with at most three digits.
pub(super) fn amount(seconds: f64) -> String {
    if seconds == 0.0 {
        return format!("0{TIE}ns");
    }
    let short = time(seconds);
    // A value below its unit has no trailing zeros: 0.0300 ns becomes 0.03 ns.
    match short.split_once(TIE) {
        Some((number, unit)) if number.starts_with("0.") => format!("{}{TIE}{unit}", number.trim_end_matches('0')),
        _ => short,
    }
}

/// Text of the spread (interquartile range) of the repetitions, with two digits.
pub(super) fn spread(cost: &Cost) -> String {
    let (unit, scale) = unit_of(cost.spread_seconds);
    let value = cost.spread_seconds * scale;
    format!("{}{TIE}{unit}", fixed(value, decimals_of(value, 2)))
}

/// Text for a cost below the resolution: `<0.03 ns`.
pub(super) fn below(cost: &Cost) -> String {
    format!("<{}", amount(cost.resolution_seconds))
}

/// Text for a bimodal distribution: `two modes: 1.21 µs (62 %) and 3.42 µs (38 %)`. Returns `None` for one mode.
pub(super) fn modes(cost: &Cost) -> Option<String> {
    let one = |mode: &Mode| format!("{}{TIE}({})", amount(mode.median_seconds), percent(mode.share_ratio));
    match cost.modes.as_slice() {
        [first, second] => Some(format!("two modes: {} and {}", one(first), one(second))),
        _ => None,
    }
}

/// Text for repetitions outside the bins of a histogram: `not on the axis: 1 below it, 2 above it`. Returns `None` if
/// there are none.
pub(super) fn beyond(cost: &Cost) -> Option<String> {
    let (below, above) = (cost.histogram.below, cost.histogram.above);
    let text = |number: u32, side: &str| {
        let number = usize::try_from(number).map_or_else(|_| number.to_string(), thousands);
        format!("{number}{TIE}{side}{TIE}it")
    };
    let sides: Vec<String> =
        [(below, "below"), (above, "above")].iter().filter(|(n, _)| *n > 0).map(|(n, side)| text(*n, side)).collect();
    (!sides.is_empty()).then(|| format!("not on the axis: {}", sides.join(", ")))
}

/// Group of probes in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// Probes that read clocks.
    Clocks,
    /// Function calls and system calls.
    Calls,
    /// System calls that were measured by name.
    Named,
    /// Switches between processes or threads.
    Switches,
    /// Locks and atomic operations.
    Locks,
    /// Page faults and loads.
    Memory,
    /// Creation of processes and threads, and execution of programs.
    Processes,
    /// Probes of signals and pipes.
    Rest,
}

impl Group {
    /// All groups, in the order of reports.
    pub(super) const ALL: [Group; 8] = [
        Group::Clocks,
        Group::Calls,
        Group::Named,
        Group::Switches,
        Group::Locks,
        Group::Memory,
        Group::Processes,
        Group::Rest,
    ];

    /// Heading of the group in tables.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Group::Clocks => "Clocks",
            Group::Calls => "Calls",
            Group::Named => "System calls by name, at their cheapest",
            Group::Switches => "Switches",
            Group::Locks => "Locks and atomics",
            Group::Memory => "Memory",
            Group::Processes => "Processes",
            Group::Rest => "Other",
        }
    }

    /// The group that a probe belongs to.
    pub(super) fn of(probe: Probe) -> Group {
        match probe {
            Probe::ClockRealtime | Probe::ClockMonotonic | Probe::ClockProcessCpu | Probe::ClockThreadCpu => {
                Group::Clocks
            }
            Probe::FunctionCall | Probe::SystemCall | Probe::PublishedFunctionCall | Probe::PublishedSystemCall => {
                Group::Calls
            }
            Probe::Call(_) => Group::Named,
            Probe::ProcessSwitch
            | Probe::PublishedProcessSwitch
            | Probe::ThreadSwitchCondvar
            | Probe::ThreadSwitchFutex => Group::Switches,
            Probe::LockUncontended | Probe::LockContended | Probe::AtomicAlone | Probe::AtomicContended => Group::Locks,
            Probe::PageFault
            | Probe::PageFaultMany
            | Probe::PageFaultCold
            | Probe::LoadL1
            | Probe::LoadL2
            | Probe::LoadShared
            | Probe::LoadMemory => Group::Memory,
            Probe::ForkExit | Probe::VforkExit | Probe::ThreadStart | Probe::SpawnStatic | Probe::SpawnDynamic => {
                Group::Processes
            }
            Probe::Signal | Probe::PipeByte => Group::Rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Histogram;

    fn cost(median_seconds: f64, ends: (f64, f64), resolution_seconds: f64) -> Cost {
        Cost {
            probe: Probe::SystemCall,
            loops: 1000,
            median_seconds,
            low_seconds: ends.0,
            high_seconds: ends.1,
            spread_seconds: 1e-9,
            resolution_seconds,
            below_resolution: false,
            modes: vec![],
            repetitions: 100,
            set_apart: 0,
            all_disturbed: false,
            expected_events: 1e5,
            counted_events: 100_000,
            histogram: Histogram { low_seconds: 0.0, width_seconds: 1e-9, counts: vec![], below: 0, above: 0 },
            notes: vec![],
        }
    }

    fn formatted(cost: &Cost) -> (String, String) {
        let figures = Figures::of(cost);
        (figures.median().replace(TIE, " "), figures.interval().replace(TIE, " "))
    }

    #[test]
    fn digits_follow_interval_and_resolution() {
        let plain = |median: &str, interval: &str| (median.to_owned(), interval.to_owned());
        assert_eq!(formatted(&cost(1.02e-7, (1.01e-7, 1.03e-7), 1e-11)), plain("102.0 ns", "101.0 to 103.0"));
        assert_eq!(formatted(&cost(1.5234e-6, (1.52e-6, 1.53e-6), 1e-11)), plain("1.523 µs", "1.520 to 1.530"));
        assert_eq!(formatted(&cost(5.1e-10, (5.09e-10, 5.11e-10), 3e-11)), plain("0.51 ns", "0.51 to 0.51"));
        assert_eq!(formatted(&cost(1.0e-9, (1.0e-9, 1.0e-9), 0.0)), plain("1.000 ns", "1.000 to 1.000"));
        assert_eq!(formatted(&cost(1.0e-9, (f64::NEG_INFINITY, f64::INFINITY), 0.0)), plain("1.000 ns", "–"));
        assert_eq!(formatted(&cost(-2.0e-10, (-4.0e-10, 1.0e-10), 1e-11)), plain("-0.20 ns", "-0.40 to 0.10"));
        assert_eq!(formatted(&cost(f64::NAN, (f64::NAN, f64::NAN), f64::NAN)), plain("? ns", "–"));
    }

    #[test]
    fn very_small_times_have_few_digits() {
        let plain = |seconds| amount(seconds).replace(TIE, " ");
        assert_eq!(plain(3e-11), "0.03 ns");
        assert_eq!(plain(2.5e-6), "2.50 µs");
        assert_eq!(plain(0.0), "0 ns");
    }
}
