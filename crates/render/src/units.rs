//! Numbers for people: the digits that their uncertainty supports, in a suitable unit.

use steady_model::{Interval, Nanos};

/// The no-break space between a number and its unit.
pub const TIE: &str = "\u{a0}";
/// The maximum number of decimals, for any interval.
const MOST_DECIMALS: usize = 6;

/// Returns how many decimals an uncertainty of `half_width` supports. If its first digit is 1 or 2, two of its digits
/// are shown, otherwise one. Rounding then moves no end by more than a sixth of the half-width.
pub fn decimals(half_width: f64) -> usize {
    if !(half_width.is_finite() && half_width > 0.0) {
        return MOST_DECIMALS;
    }
    let exponent = half_width.log10().floor();
    // Round first, because a half-width of 0.296 is printed as 0.30 and then starts with 3.
    let leading = (half_width / 10f64.powf(exponent) * 10.0).round() / 10.0;
    let digits = if leading < 2.95 { 1.0 } else { 0.0 };
    (digits - exponent).clamp(0.0, MOST_DECIMALS as f64) as usize
}

/// Returns how many decimals show `digits` significant digits of `value`.
pub fn decimals_of(value: f64, digits: i32) -> usize {
    if !(value.is_finite() && value != 0.0) {
        return 0;
    }
    let decimals =
        |value: f64| (f64::from(digits) - 1.0 - value.abs().log10().floor()).clamp(0.0, MOST_DECIMALS as f64);
    // Rounding may add a digit before the point: 999.9 ms with three digits is 1000 ms.
    let scale = 10f64.powf(decimals(value));
    decimals((value * scale).round() / scale) as usize
}

/// Returns the decimals that an interval supports, and enough of them that a non-zero end does not round to zero.
pub(crate) fn digits(range: Interval) -> usize {
    /// The most decimals to add for an end.
    const MORE: usize = 3;
    let half = range.half_width();
    if !half.is_finite() {
        let end = if range.low.is_finite() { range.low } else { range.high };
        return decimals_of(end, 2);
    }
    // Ends that differ by rounding errors only are one value.
    if half <= 1e-12 {
        return if range.low.abs() <= 1e-9 { 0 } else { decimals_of(range.low, 3) };
    }
    let enough = decimals(half);
    if !excludes_zero(range) {
        return enough;
    }
    let is_shown = |decimals: &usize| !vanishes(range.low, *decimals) && !vanishes(range.high, *decimals);
    (enough..enough + MORE).find(is_shown).unwrap_or(enough + MORE)
}

/// Returns whether a value that is not zero looks like zero with so many decimals.
fn vanishes(value: f64, decimals: usize) -> bool {
    value != 0.0 && fixed(value, decimals).chars().all(|letter| matches!(letter, '0' | '.'))
}

fn excludes_zero(range: Interval) -> bool {
    range.low > 0.0 || range.high < 0.0
}

/// Returns an interval with its unit once: `37.9 to 38.5 %`. An infinite end becomes `or more` or `or less`.
pub fn between(range: Interval, unit: &str) -> String {
    let decimals = digits(range);
    match (range.low.is_finite(), range.high.is_finite()) {
        (true, true) => format!("{} to {}{unit}", fixed(range.low, decimals), fixed(range.high, decimals)),
        (true, false) => format!("{}{unit} or more", fixed(range.low, decimals)),
        (false, true) => format!("{}{unit} or less", fixed(range.high, decimals)),
        (false, false) => "no limit known".to_owned(),
    }
}

/// Formats `value` with a number of decimals. It never returns "-0.0", and returns `?` for infinities and NaN. A value
/// of a trillion or more has an exponent, because its digits would not fit a narrow terminal: `1.23e15`.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    if value.abs() >= 1e12 {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.decimals$}");
    let zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    if zero { text.trim_start_matches('-').to_owned() } else { text }
}

/// Formats `value` with three significant digits and at most two decimals, without trailing zeros: `0.05`, `12.3`,
/// `1240`.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    without_zeros(&fixed(value, decimals_of(value, 3).min(2))).to_owned()
}

/// Returns a number in decimals without its trailing zeros.
pub(crate) fn without_zeros(text: &str) -> &str {
    let has_decimals = text.contains('.') && !text.contains('e');
    if has_decimals { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Formats a number of events per run with three significant digits: `950`, `12.3 million`.
pub fn count(value: f64) -> String {
    let (scaled, word) = match value.abs() {
        size if size >= 999.5e6 => (value / 1e9, "billion"),
        size if size >= 999.5e3 => (value / 1e6, "million"),
        size if size >= 9_999.5 => (value / 1e3, "thousand"),
        _ => return short(value),
    };
    format!("{}{TIE}{word}", short(scaled))
}

/// Formats a share as a percentage with two significant digits: `1.2 %`, `62 %`.
pub fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if value != 0.0 && value.abs() < 0.01 {
        return format!("under{TIE}0.01{TIE}%");
    }
    format!("{}{TIE}%", fixed(value, decimals_of(value, 2).min(2)))
}

/// Formats a share as given by an option: `1 %`, `0.5 %`, `99.9 %`.
pub fn setting(ratio: f64) -> String {
    format!("{}{TIE}%", without_zeros(&fixed(ratio * 100.0, MOST_DECIMALS)))
}

/// Formats a confidence level with up to two digits of its error rate, rounded down: `95 %`, `93.9 %`, `99.96 %`.
pub fn level(confidence: f64) -> String {
    let error = (1.0 - confidence) * 100.0;
    if !(error > 0.0 && error.is_finite()) {
        return setting(confidence);
    }
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, MOST_DECIMALS as f64);
    let scale = 10_f64.powf(decimals);
    // The sum allows for the rounding of a level such as 0.95.
    setting((confidence * 100.0 * scale + 1e-6).floor() / scale / 100.0)
}

/// A time below this is the rounding error of a difference of equal times.
const ROUNDING: f64 = 1e-15;

/// Returns a suitable unit of time, and how many of it make a second.
pub fn time_unit(seconds: f64) -> (&'static str, f64) {
    match seconds.abs() {
        size if size < ROUNDING => ("ms", 1e3),
        size if size >= 0.9995 => ("s", 1.0),
        size if size >= 0.999_5e-3 => ("ms", 1e3),
        size if size >= 0.999_5e-6 => ("µs", 1e6),
        _ => ("ns", 1e9),
    }
}

/// Returns the unit of a time in a row whose largest time is `largest`: that of the largest time, or a unit of its own
/// if it is less than a tenth of it, because it would lose its digits.
pub fn time_unit_beside(seconds: f64, largest: f64) -> (&'static str, f64) {
    time_unit(if 10.0 * seconds.abs() < largest { seconds } else { largest })
}

/// Formats a time and the uncertainty of its mean, in the unit that suits the time: `12.31 ms ±0.05`.
pub fn time_with(seconds: f64, interval: Interval) -> String {
    time_with_beside(seconds, interval, seconds)
}

/// Formats a time and the uncertainty of its mean. See [`time_unit_beside`] for its unit.
pub fn time_with_beside(seconds: f64, interval: Interval, largest: f64) -> String {
    let off = (seconds - interval.low).max(interval.high - seconds);
    if !off.is_finite() {
        return format!("{}{TIE}±?", time_beside(seconds, largest));
    }
    if off <= 0.0 {
        return time_beside(seconds, largest);
    }
    // In this unit, the uncertainty has at most two digits before the point: more would not be significant.
    let seconds_or_off = seconds.max(10.0 * off);
    let (unit, scale) = time_unit_beside(seconds_or_off, largest.max(seconds_or_off));
    let off = off * scale;
    let decimals = decimals(off);
    format!("{}{TIE}{unit}{TIE}±{}", fixed(seconds * scale, decimals), fixed(off, decimals))
}

/// A time and its interval, both in one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeAndRange {
    /// The time with its unit: `12.31 ms`.
    pub time: String,
    /// The interval in the same unit, which is not repeated: `12.26 to 12.36`.
    pub range: String,
    /// The unit.
    pub unit: &'static str,
}

/// Formats two numbers with one unit and equal decimals: `0.48 to 1.42 ms`. The larger one has three significant digits,
/// or as many as their difference supports.
pub fn low_to_high(low: f64, high: f64, unit: &str) -> String {
    let digits = Digits::of(low.abs().max(high.abs()), (high - low) / 2.0);
    format!("{} to {}{}", digits.text(low), digits.text(high), after_value(unit))
}

/// How values of about one size are written: with an exponent if they are very small or large.
struct Digits {
    has_exponent: bool,
    /// The number of decimals, of the mantissa if there is an exponent.
    decimals: usize,
}

impl Digits {
    /// The digits of values up to `largest` that `half_width` distinguishes, at least three. A `half_width` of zero
    /// distinguishes none.
    fn of(largest: f64, half_width: f64) -> Self {
        /// The smallest half-width that [`MOST_DECIMALS`] show.
        const LEAST: f64 = 3e-6;
        let is_wide = half_width > 0.0 && half_width.is_finite();
        let has_exponent = needs_exponent(largest) || largest != 0.0 && is_wide && half_width < LEAST;
        let scale = if has_exponent { 10f64.powf(largest.log10().floor()) } else { 1.0 };
        let distinguished = if is_wide { decimals(half_width / scale) } else { 0 };
        Digits { has_exponent, decimals: decimals_of(largest / scale, 3).max(distinguished) }
    }

    fn text(&self, value: f64) -> String {
        let decimals = self.decimals;
        if self.has_exponent { format!("{value:.decimals$e}") } else { fixed(value, decimals) }
    }
}

/// Returns whether values up to `largest` are too small or large to be written without an exponent.
pub(crate) fn needs_exponent(largest: f64) -> bool {
    largest != 0.0 && !(1e-3..1e7).contains(&largest)
}

/// A unit of the user, which may be empty, as it follows a value.
fn after_value(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!("{TIE}{unit}") }
}

/// Formats a time and its interval in one unit. The unit suits the larger of the time and the uncertainty, because a
/// time that is far smaller than its interval would otherwise be shown with digits that are not significant.
pub fn time_and_range(seconds: f64, interval: Interval) -> TimeAndRange {
    let ends = [interval.low, interval.high].into_iter().filter(|end| end.is_finite());
    let off = ends.map(|end| (seconds - end).abs()).fold(0.0, f64::max);
    let (unit, scale) = time_unit(seconds.abs().max(10.0 * off));
    let range = Interval { low: interval.low * scale, high: interval.high * scale };
    let value = seconds * scale;
    let decimals = match decimals(off * scale) {
        _ if off <= 0.0 => decimals_of(value, 3),
        few if vanishes(value, few) && excludes_zero(range) => decimals_of(value, 1),
        few => few,
    };
    TimeAndRange { time: format!("{}{TIE}{unit}", fixed(value, decimals)), range: between(range, ""), unit }
}

/// Formats a time with three significant digits: `12.3 ms`.
pub fn time(seconds: f64) -> String {
    time_beside(seconds, seconds)
}

/// Formats a time with three significant digits. See [`time_unit_beside`] for its unit.
pub fn time_beside(seconds: f64, largest: f64) -> String {
    if !seconds.is_finite() {
        return "?".to_owned();
    }
    let seconds = if seconds.abs() < ROUNDING { 0.0 } else { seconds };
    let (unit, scale) = time_unit_beside(seconds, largest);
    format!("{}{TIE}{unit}", fixed(seconds * scale, decimals_of(seconds * scale, 3)))
}

/// Formats a value with a unit of the user, which may be empty: `12.3 ms`, `1.24e9`.
pub fn with_unit(value: f64, unit: &str) -> String {
    Digits::of(value.abs(), 0.0).text(value) + &after_value(unit)
}

/// Formats a value with a unit of the user, and its interval with as many digits: `123.2 ms`, `123.1 to 123.4 ms`.
pub fn with_unit_and_range(value: f64, interval: Interval, unit: &str) -> (String, String) {
    let Interval { low, high } = interval;
    let digits = Digits::of(low.abs().max(high.abs()), interval.half_width());
    (digits.text(value) + &after_value(unit), low_to_high(low, high, unit))
}

/// Formats a value with a unit of the user, and the uncertainty of its mean: `12.31 ms ±0.05`.
pub fn with_unit_and_interval(value: f64, interval: Interval, unit: &str) -> String {
    let off = (value - interval.low).max(interval.high - value);
    let largest = value.abs().max(off);
    match off {
        _ if !off.is_finite() => format!("{}{TIE}±?", with_unit(value, unit)),
        _ if off <= 0.0 => with_unit(value, unit),
        _ if Digits::of(largest, off).has_exponent => {
            let exponent = largest.log10().floor();
            let (scale, unit) = (10f64.powf(exponent), after_value(unit));
            let decimals = decimals(off / scale);
            format!(
                "{}e{exponent}{unit}{TIE}±{}e{exponent}",
                fixed(value / scale, decimals),
                fixed(off / scale, decimals)
            )
        }
        _ => format!("{}{}{TIE}±{}", fixed(value, decimals(off)), after_value(unit), fixed(off, decimals(off))),
    }
}

/// Formats a duration for prose: `3.1 s`, `12 min`, `3.5 h`.
pub fn duration(time: Nanos) -> String {
    let seconds = time.seconds();
    match seconds {
        _ if seconds >= 7200.0 => format!("{}{TIE}h", fixed(seconds / 3600.0, decimals_of(seconds / 3600.0, 2))),
        _ if seconds >= 120.0 => format!("{}{TIE}min", fixed(seconds / 60.0, decimals_of(seconds / 60.0, 2))),
        _ if seconds >= 1.0 => format!("{}{TIE}s", fixed(seconds, 1)),
        _ => self::time(seconds),
    }
}

/// Formats a time as given by an option, without decimals if it is a whole number.
pub fn time_setting(time: Nanos) -> String {
    duration(time).replace(".0\u{a0}", "\u{a0}")
}

/// Formats a time as the value of an option: `90s`, `9m`, `2h`. Only whole numbers have a unit there.
pub fn time_option(time: Nanos) -> String {
    const SECOND: u64 = 1_000_000_000;
    let units = [("h", 3600 * SECOND, 7200 * SECOND), ("m", 60 * SECOND, 120 * SECOND), ("s", SECOND, SECOND)];
    let fits = |(_, unit, least): &(&str, u64, u64)| time.0 >= *least && time.0.is_multiple_of(*unit);
    match units.iter().find(|unit| fits(unit)) {
        Some((name, unit, _)) => format!("{}{name}", time.0 / unit),
        None => time.seconds().to_string(),
    }
}

/// Returns the next round time at or above a number of seconds: a round number of seconds, minutes or hours.
pub fn round_time_up(seconds: f64) -> Nanos {
    let unit = match seconds {
        below if below <= 90.0 => 1.0,
        below if below <= 5400.0 => 60.0,
        _ => 3600.0,
    };
    Nanos::from_seconds(unit * round_up(seconds / unit))
}

/// Formats an amount of memory: `3.20 MiB`.
pub fn memory(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power =
        (0..UNITS.len() - 1).find(|power| bytes < 999.5 * 1024f64.powi(*power as i32)).unwrap_or(UNITS.len() - 1);
    let value = bytes / 1024f64.powi(power as i32);
    let decimals = if power == 0 { 0 } else { decimals_of(value, 3) };
    format!("{}{TIE}{}", fixed(value, decimals), UNITS[power])
}

/// Formats a number with separators between thousands: `12,400`.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let groups = digits.as_bytes()[head..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let first = (head > 0).then(|| digits[..head].to_owned());
    first.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

/// Returns the next round number at or above `value`, at least 1, so that a rough number does not look exact.
pub fn round_up(value: f64) -> f64 {
    const STEPS: [f64; 11] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let scale = 10f64.powf(value.max(1.0).log10().floor());
    let step = STEPS.iter().map(|step| (step * scale).ceil()).find(|step| *step >= value - 1e-9 * scale);
    step.unwrap_or(10.0 * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_have_equal_decimals() {
        assert_eq!(low_to_high(0.19, 0.2, "s"), format!("0.190 to 0.200{TIE}s"));
        assert_eq!(low_to_high(9.96, 120.0, ""), "10 to 120");
        assert_eq!(low_to_high(1.0, 2e9, ""), "1.00e0 to 2.00e9");
        assert_eq!(low_to_high(0.0, 0.0, ""), "0 to 0");
    }

    #[test]
    fn values_of_users_have_the_digits_that_their_interval_supports() {
        let plain = |text: String| text.replace(TIE, " ");
        let beside = |value, low, high| plain(with_unit_and_interval(value, Interval { low, high }, "u"));
        assert_eq!(beside(123.24, 123.14, 123.34), "123.24 u ±0.10");
        assert_eq!(beside(1.234e7, 1.232e7, 1.236e7), "1.2340e7 u ±0.0020e7");
        assert_eq!(beside(0.001_23, 0.001_229_6, 0.001_230_4), "1.2300e-3 u ±0.0004e-3");
        assert_eq!(beside(0.0, -4e-9, 4e-9), "0e-9 u ±4e-9");
        assert_eq!(beside(0.0, 0.0, 0.0), "0 u");
        let range = |value, low, high| {
            let (value, range) = with_unit_and_range(value, Interval { low, high }, "u");
            plain(format!("{value} ({range})"))
        };
        assert_eq!(range(123.2, 123.1, 123.4), "123.20 u (123.10 to 123.40 u)");
        assert_eq!(range(1.2333e7, 1.232e7, 1.234e7), "1.2333e7 u (1.2320e7 to 1.2340e7 u)");
        assert_eq!(range(12.0, 9.0, 15.0), "12.0 u (9.0 to 15.0 u)");
        assert_eq!(plain(with_unit(2.5e-10, "s")), "2.50e-10 s");
    }

    #[test]
    fn numbers_that_are_rounded_up_have_the_next_word() {
        let plain = |value: f64| count(value).replace(TIE, " ");
        assert_eq!(
            [9_999.4, 9_999.6, 999_600.0, 999.6e6].map(plain)[..],
            ["9999", "10 thousand", "1 million", "1 billion"]
        );
        assert_eq!(short(1e20), "1.00e20");
        assert_eq!(setting(1e18).replace(TIE, " "), "1.00e20 %");
    }

    #[test]
    fn decimals_follow_the_uncertainty() {
        let cases = [(0.3, 1), (0.296, 1), (0.29, 2), (0.12, 2), (0.05, 2), (0.015, 3), (2.0, 1), (3.0, 0), (40.0, 0)];
        for (half_width, expected) in cases {
            assert_eq!(decimals(half_width), expected, "{half_width}");
        }
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-0.06, 1), "-0.1");
        assert_eq!((fixed(-999_999_999_999.0, 0), fixed(-1.234e15, 1)), ("-999999999999".into(), "-1.23e15".into()));
    }

    #[test]
    fn confidence_levels_are_rounded_down_and_never_reach_100_percent() {
        let cases = [
            (0.95, "95 %"),
            (0.99, "99 %"),
            (0.9, "90 %"),
            (1.0 - 0.06079, "93.9 %"),
            (1.0 - 0.015_199, "98.4 %"),
            (0.999_64, "99.964 %"),
            (0.5, "50 %"),
            (1.0, "100 %"),
        ];
        for (confidence, text) in cases {
            assert_eq!(level(confidence).replace(TIE, " "), text);
        }
    }

    #[test]
    fn times_have_the_unit_of_their_size() {
        let plain = |text: String| text.replace(TIE, " ");
        assert_eq!(plain(time_with(0.012_312, Interval { low: 0.012_26, high: 0.012_36 })), "12.31 ms ±0.05");
        assert_eq!(plain(time_with(0.000_677, Interval { low: 0.000_333, high: 0.001_021 })), "0.7 ms ±0.3");
        assert_eq!(plain(time_with(0.5, Interval::EVERYTHING)), "500 ms ±?");
        let near = Interval { low: 0.000_97, high: 0.000_99 };
        assert_eq!(plain(time_with_beside(0.000_98, near, 0.001_02)), "0.980 ms ±0.010");
        assert_eq!(plain(time_with_beside(0.000_98, near, 5.0)), "980 µs ±10");
        assert_eq!(
            [0.001_02, 0.1, 5.0].map(|largest| plain(time_beside(0.000_98, largest)))[..],
            ["0.980 ms", "980 µs", "980 µs"]
        );
        assert_eq!(plain(time(2.5e-7)), "250 ns");
        assert_eq!(plain(time(0.0)), "0 ms");
        assert_eq!(plain(time(-3e-18)), "0 ms");
        assert_eq!(plain(time(0.999_9)), "1.00 s");
        assert_eq!(plain(duration(Nanos(3_140_000_000))), "3.1 s");
        assert_eq!(plain(duration(Nanos(754_000_000_000))), "13 min");
    }

    #[test]
    fn a_time_and_its_interval_have_one_unit() {
        let shown = |seconds, low, high| {
            let shown = time_and_range(seconds, Interval { low, high });
            format!("{} ({})", shown.time, shown.range).replace(TIE, " ")
        };
        assert_eq!(shown(592e-6, 571e-6, 611e-6), "592 µs (571 to 611)");
        // The interval is wide: 332 µs ±110 would have digits that are not significant.
        assert_eq!(shown(332e-6, 222e-6, 442e-6), "0.33 ms (0.22 to 0.44)");
        assert_eq!(shown(-332e-6, -442e-6, -222e-6), "-0.33 ms (-0.44 to -0.22)");
        assert_eq!(shown(2e-6, -9e-3, 13e-3), "0 ms (-9 to 13)");
        assert_eq!(shown(0.0, -9e-6, 13e-6), "0 µs (-9 to 13)");
        assert_eq!(shown(118e-6, 64e-6, 3.64e-3), "0.1 ms (0.1 to 3.6)");
        assert_eq!(shown(12.3e-3, 12.3e-3, 12.3e-3), "12.3 ms (12.3 to 12.3)");
        assert_eq!(shown(332e-6, 222e-6, f64::INFINITY), "0.33 ms (0.22 or more)");
        assert_eq!(shown(332e-6, f64::NEG_INFINITY, f64::INFINITY), "332 µs (no limit known)");
    }

    #[test]
    fn memory_shares_and_short_numbers_are_rounded() {
        let plain = |text: String| text.replace(TIE, " ");
        assert_eq!(plain(memory(3.0 * 1024.0 * 1024.0)), "3.00 MiB");
        assert_eq!(plain(memory(512.0)), "512 B");
        assert_eq!([short(0.203), short(12.34), short(1240.4), short(3.0)], ["0.2", "12.3", "1240", "3"]);
        assert_eq!([plain(setting(0.01)), plain(setting(0.999))], ["1 %", "99.9 %"]);
        assert_eq!(
            [plain(percent(0.0)), plain(percent(0.0123)), plain(percent(1e-6))],
            ["0 %", "1.2 %", "under 0.01 %"]
        );
        assert_eq!([38.2, 412.0, 0.3, 12.0, 1.1, 83.0].map(round_up), [40.0, 500.0, 1.0, 12.0, 2.0, 100.0]);
    }

    #[test]
    fn suggested_times_are_round_in_their_unit() {
        let text = |seconds: f64| time_option(round_time_up(seconds));
        assert_eq!([0.3, 38.2, 90.0, 91.0, 412.0].map(text), ["1s", "40s", "100s", "2m", "8m"]);
        assert_eq!([5400.0, 5401.0, 30_000.0].map(text), ["100m", "2h", "10h"]);
        assert_eq!(time_option(Nanos::from_seconds(4.5)), "4.5");
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!(
            [0, 7, 999, 1000, 12_400, 1_234_567].map(thousands),
            ["0", "7", "999", "1,000", "12,400", "1,234,567"]
        );
    }
}
