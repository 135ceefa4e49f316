//! Axes: the values they show, the positions of values, and the labels of ticks.

use steady_model::Metric;

use crate::units::{
    TIE, count, decimals_of, fixed, memory, needs_exponent, short, time, time_unit, with_unit, without_zeros,
};

/// The quantity of an axis, which decides its ticks and their unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Natural logarithms of ratios, labelled as relative changes, or as factors if they are large.
    Change,
    /// Points in time, in seconds.
    Clock,
    /// The cost of a run, in the unit of the metric.
    Cost(Metric),
    /// Shares from 0 to 1, labelled in percent.
    Share,
    /// Numbers whose unit is given elsewhere.
    Number,
    /// Natural logarithms of numbers: equal factors have equal distances. Labels are the numbers.
    LogNumber,
    /// Numbers of events, in integers.
    Count,
    /// Positive numbers on a logarithmic axis: equal factors have equal distances.
    Factors,
}

/// A range of values, mapped to positions from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The quantity that the axis shows.
    pub kind: Kind,
    /// The value at position 0.
    pub low: f64,
    /// The value at position 1, greater than `low`.
    pub high: f64,
}

/// The position of a value on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AxisPosition {
    /// Before the low end, or not a number.
    Below,
    /// On the axis, from 0 (the low end) to 1 (the high end).
    At(f64),
    /// Beyond the high end.
    Above,
}

/// Ranges of at least this length, in natural logarithms, have factors as labels: from half to twice.
const FACTORS: f64 = 1.4;

impl Scale {
    /// Returns an axis over these values. A range that is empty or not finite is replaced by a valid one.
    pub fn new(kind: Kind, low: f64, high: f64) -> Self {
        let is_long = low.is_finite() && high.is_finite() && high > low;
        if is_long && (kind != Kind::Factors || low > 0.0) {
            return Scale { kind, low, high };
        }
        if kind == Kind::Factors {
            let low = if low.is_finite() && low > 0.0 { low } else { 1.0 };
            return Scale { kind, low, high: 2.0 * low };
        }
        let middle = if low.is_finite() { low } else { 0.0 };
        let half = if middle == 0.0 || kind == Kind::Change { 0.01 } else { middle.abs() * 0.01 };
        Scale { kind, low: middle - half, high: middle + half }
    }

    /// Adds a margin of 6 % at both ends.
    pub fn padded(self) -> Self {
        let room = (self.high - self.low) * 0.06;
        Scale { low: self.low - room, high: self.high + room, ..self }
    }

    /// Returns the position of `value`.
    pub fn place(&self, value: f64) -> AxisPosition {
        let at = |value: f64| if self.kind == Kind::Factors { value.ln() } else { value };
        match (at(value) - at(self.low)) / (at(self.high) - at(self.low)) {
            share if share < 0.0 => AxisPosition::Below,
            share if share > 1.0 => AxisPosition::Above,
            share if share.is_nan() => AxisPosition::Below,
            share => AxisPosition::At(share),
        }
    }

    /// Returns the position of `value`, limited to the range from 0 to 1.
    pub fn clamped(&self, value: f64) -> f64 {
        match self.place(value) {
            AxisPosition::Below => 0.0,
            AxisPosition::At(share) => share,
            AxisPosition::Above => 1.0,
        }
    }

    /// Returns a value with its unit.
    pub fn label(&self, value: f64) -> String {
        match self.kind {
            Kind::Change if value.abs() >= FACTORS => {
                let factor = value.exp();
                format!("{}×", fixed(factor, decimals_of(factor, 2)))
            }
            Kind::Change | Kind::Share => {
                let percent = if self.kind == Kind::Share { value } else { value.exp_m1() } * 100.0;
                format!("{}{TIE}%", fixed(percent, decimals_of(percent, 2)))
            }
            Kind::Count => count(value),
            Kind::Clock | Kind::Cost(Metric::Cpu | Metric::Elapsed | Metric::Wall) => time(value),
            Kind::Cost(Metric::Memory) => memory(value),
            Kind::Cost(Metric::Instructions | Metric::Faults | Metric::Switches) => count(value),
            Kind::Cost(metric @ (Metric::Energy | Metric::Custom(_))) => with_unit(value, metric.unit()),
            Kind::Number | Kind::Factors => short(value),
            Kind::LogNumber => short(value.exp()),
        }
    }

    /// Returns about five ticks: their positions from 0 to 1, and their labels.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let ticks = match self.kind {
            Kind::Change if self.high - self.low >= FACTORS => {
                let label = |factor: f64| format!("{}×", without_zeros(&fixed(factor, decimals_of(factor, 3))));
                factors(self.low, self.high, label)
            }
            Kind::Change => {
                let percent = |log: f64| log.exp_m1() * 100.0;
                let steps = round_steps(percent(self.low), percent(self.high));
                let label = |value: f64, decimals| format!("{}{TIE}%", fixed(value, decimals));
                labelled(&steps, label).into_iter().map(|(value, label)| ((value / 100.0).ln_1p(), label)).collect()
            }
            Kind::Share => labelled(&round_steps(self.low * 100.0, self.high * 100.0), |value, _| {
                format!("{}{TIE}%", short(value))
            })
            .into_iter()
            .map(|(value, label)| (value / 100.0, label))
            .collect(),
            Kind::Count => {
                let whole = |value: &f64| value.fract().abs() < 1e-9;
                let steps = round_steps(self.low, self.high).0.into_iter().filter(whole);
                steps.map(|value| (value, count(value))).collect()
            }
            Kind::Clock => scaled(self.low, self.high, "", clock_unit(self.high)),
            Kind::Cost(metric @ (Metric::Energy | Metric::Custom(_))) => {
                let (exponent, size) = exponent(self.low.abs().max(self.high.abs()));
                scaled(self.low, self.high, &exponent, (metric.unit(), size))
            }
            Kind::Cost(metric) => scaled(self.low, self.high, "", cost_unit(metric, self.high)),
            Kind::Number => labelled(&round_steps(self.low, self.high), fixed),
            Kind::LogNumber => factors(self.low, self.high, short),
            Kind::Factors => powers(self.low, self.high),
        };
        let inside = |(value, label)| match self.place(value) {
            AxisPosition::At(share) => Some((share, label)),
            AxisPosition::Below | AxisPosition::Above => None,
        };
        ticks.into_iter().filter_map(inside).collect()
    }
}

/// Returns the unit for points in time, and its length in seconds.
fn clock_unit(high: f64) -> (&'static str, f64) {
    match high {
        _ if high >= 10_800.0 => ("h", 3600.0),
        _ if high >= 300.0 => ("min", 60.0),
        _ if high >= 1.0 => ("s", 1.0),
        _ => ("ms", 1e-3),
    }
}

/// Returns the unit of a cost, and its size in the metric's base unit. Custom metrics have the unit of the user.
fn cost_unit(metric: Metric, high: f64) -> (&'static str, f64) {
    match metric {
        Metric::Cpu | Metric::Elapsed | Metric::Wall => {
            let (unit, scale) = time_unit(high);
            (unit, 1.0 / scale)
        }
        Metric::Memory => match high {
            _ if high >= 1024f64.powi(3) => ("GiB", 1024f64.powi(3)),
            _ if high >= 1024f64.powi(2) => ("MiB", 1024f64.powi(2)),
            _ => ("KiB", 1024.0),
        },
        Metric::Instructions => match high {
            _ if high >= 1e9 => ("billion", 1e9),
            _ if high >= 1e6 => ("million", 1e6),
            _ => ("thousand", 1e3),
        },
        Metric::Faults | Metric::Switches | Metric::Energy | Metric::Custom(_) => ("", 1.0),
    }
}

/// Returns the exponent that all labels up to `largest` have if it is very small or large, such as `e-9`, and its power
/// of ten.
fn exponent(largest: f64) -> (String, f64) {
    if !needs_exponent(largest) {
        return (String::new(), 1.0);
    }
    let exponent = 3 * (largest.log10() / 3.0).floor() as i32;
    (format!("e{exponent}"), 10f64.powi(exponent))
}

/// Returns ticks at round multiples of a unit. Each number is followed by `exponent`.
fn scaled(low: f64, high: f64, exponent: &str, unit: (&str, f64)) -> Vec<(f64, String)> {
    let (unit, size) = unit;
    let tie = if unit.is_empty() { "" } else { TIE };
    let label = |value: f64, decimals| format!("{}{exponent}{tie}{unit}", fixed(value, decimals));
    let ticks = labelled(&round_steps(low / size, high / size), label);
    ticks.into_iter().map(|(value, label)| (value * size, label)).collect()
}

/// The least number of labels from which the values between them can be read.
const LEAST: usize = 3;

/// Returns three to six round numbers from `low` to `high`, and the decimals that distinguish them.
fn round_steps(low: f64, high: f64) -> (Vec<f64>, usize) {
    let rough = (high - low) / 5.0;
    if !(rough.is_finite() && rough > 0.0) {
        return (vec![], 0);
    }
    let scale = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * scale).find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * scale);
    let multiples = |step: f64| -> Vec<f64> {
        let first = (low / step).ceil();
        let count = ((high / step).floor() - first + 1.0).clamp(0.0, 21.0) as usize;
        (0..count).map(|index| (first + index as f64) * step).collect()
    };
    let whole = multiples(step);
    let (step, values) = if whole.len() < LEAST { (step / 2.0, multiples(step / 2.0)) } else { (step, whole) };
    let is_whole = |decimals: &i32| {
        let digits = step * 10f64.powi(*decimals);
        digits > 0.5 && (digits - digits.round()).abs() < 1e-6
    };
    (values, (0..9).find(is_whole).unwrap_or(9) as usize)
}

/// Pairs each number with its label.
fn labelled(steps: &(Vec<f64>, usize), label: impl Fn(f64, usize) -> String) -> Vec<(f64, String)> {
    let (values, decimals) = steps;
    values.iter().map(|value| (*value, label(*value, *decimals))).collect()
}

/// Returns ticks at powers of two. If there would be too many, they are powers of 4, 8 and so on.
fn powers(low: f64, high: f64) -> Vec<(f64, String)> {
    const MOST: f64 = 7.0;
    let (first, last) = (low.log2().ceil(), high.log2().floor());
    let step = ((last - first) / MOST).ceil().max(1.0);
    let count = ((last - first) / step).clamp(0.0, MOST) as usize;
    (0..=count).map(|index| (first + index as f64 * step).exp2()).map(|value| (value, short(value))).collect()
}

/// Returns ticks at round factors, or at round numbers if the axis is too short for them; the values are their natural
/// logarithms.
fn factors(low: f64, high: f64, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    let decades = |steps: &[f64]| -> Vec<f64> {
        let each = |power: i32| steps.iter().map(move |step| step * 10f64.powi(power)).collect::<Vec<_>>();
        (-9..=9).flat_map(each).filter(|factor| (low..=high).contains(&factor.ln())).collect()
    };
    let dense = decades(&[1.0, 2.0, 5.0]);
    let chosen = match dense.len() {
        0..LEAST => round_steps(low.exp(), high.exp()).0.into_iter().filter(|factor| *factor > 0.0).collect(),
        LEAST..=7 => dense,
        _ => decades(&[1.0]),
    };
    chosen.into_iter().map(|factor| (factor.ln(), label(factor))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale) -> Vec<String> {
        scale.ticks().into_iter().map(|(_, label)| label.replace(TIE, " ")).collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let small = Scale::new(Kind::Change, -0.011, 0.012);
        assert_eq!(labels(small), ["-1.0 %", "-0.5 %", "0.0 %", "0.5 %", "1.0 %"]);
        assert_eq!(labels(Scale::new(Kind::Change, -1.0, 3.0)), ["0.5×", "1×", "2×", "5×", "10×", "20×"]);
        assert_eq!(labels(Scale::new(Kind::Clock, 0.0, 10.2)), ["0 s", "5 s", "10 s"]);
        assert_eq!(labels(Scale::new(Kind::Share, 0.0, 1.0)), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
        assert_eq!(labels(Scale::new(Kind::Count, 0.0, 22.0)), ["0", "5", "10", "15", "20"]);
        assert_eq!(labels(Scale::new(Kind::Count, 0.0, 2.0)), ["0", "1", "2"]);
        assert_eq!(labels(Scale::new(Kind::Cost(Metric::Cpu), 0.01, 0.0126)), ["10 ms", "11 ms", "12 ms"]);
        assert_eq!(labels(Scale::new(Kind::Number, 0.0, 45.0)), ["0", "10", "20", "30", "40"]);
        assert_eq!(labels(Scale::new(Kind::LogNumber, 13f64.ln(), 120f64.ln())), ["20", "50", "100"]);
        assert_eq!(labels(Scale::new(Kind::Number, 0.0, 0.9)), ["0.0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(labels(Scale::new(Kind::Factors, 1.0, 32.0)), ["1", "2", "4", "8", "16", "32"]);
        assert_eq!(labels(Scale::new(Kind::Change, -0.2, 0.6)), ["0 %", "25 %", "50 %", "75 %"]);
        assert_eq!(labels(Scale::new(Kind::Change, -0.2, 1.3)), ["1×", "2×", "3×"]);
        let energy = |low, high| labels(Scale::new(Kind::Cost(Metric::Energy), low, high));
        assert_eq!(energy(1.26e-7, 1.28e-7), ["126.0e-9 J", "126.5e-9 J", "127.0e-9 J", "127.5e-9 J", "128.0e-9 J"]);
        assert_eq!(energy(2.495e12, 2.505e12), ["2.496e12 J", "2.498e12 J", "2.500e12 J", "2.502e12 J", "2.504e12 J"]);
        assert_eq!(energy(0.0, 2.0), ["0.0 J", "0.5 J", "1.0 J", "1.5 J", "2.0 J"]);
        let short = Scale::new(Kind::Cost(Metric::Cpu), 0.0023, 0.0034);
        assert_eq!(labels(short), ["2.50 ms", "2.75 ms", "3.00 ms", "3.25 ms"]);
        assert_eq!(labels(Scale::new(Kind::LogNumber, 29f64.ln(), 44f64.ln())), ["30", "35", "40"]);
        assert_eq!(labels(Scale::new(Kind::Factors, 1.0, 5000.0)), ["1", "4", "16", "64", "256", "1024", "4096"]);
        for scale in [small, Scale::new(Kind::Clock, 3.0, 1e6)] {
            assert!(scale.ticks().iter().all(|(place, _)| (0.0..=1.0).contains(place)));
        }
    }

    #[test]
    fn any_range_makes_a_valid_axis() {
        for (low, high) in [(f64::NAN, 1.0), (1.0, 1.0), (f64::NEG_INFINITY, f64::INFINITY), (2.0, 1.0)] {
            for kind in [Kind::Change, Kind::Number, Kind::Count, Kind::Factors] {
                let scale = Scale::new(kind, low, high);
                assert!(scale.low < scale.high, "{low} {high}");
                assert!((0.0..=1.0).contains(&scale.clamped(f64::NAN)));
                assert!(scale.ticks().len() < 25, "{low} {high}");
            }
        }
    }
}
