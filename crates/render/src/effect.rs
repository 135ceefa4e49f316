//! Relative changes as text: in percent, or as a factor if they are large.

use std::borrow::Cow;

use steady_model::{FailIf, GateState, Interval, Metric, Reading, Verdict};

use crate::document::{Emphasis, Sentence};
pub use crate::units::between;
use crate::units::{TIE, decimals_of, digits, fixed, setting};

/// Changes from this ratio up are written as factors.
const FACTOR: f64 = 2.0;

/// A change whose interval excludes zero, formatted for use in a sentence.
pub struct Effect {
    /// Whether the command costs more than the reference command.
    pub more: bool,
    /// The estimate: `38.2 %`, or the factor `3.2`.
    pub size: String,
    /// The confidence interval, without brackets: `37.9 to 38.5 %`, or `3.1 to 3.3`.
    pub range: String,
    /// Whether the numbers are factors: this command's cost divided by the reference's.
    pub factor: bool,
}

impl Effect {
    /// Formats a relative change and its interval. At least twice the reference command's cost becomes a factor.
    pub fn of(change: f64, interval: Interval) -> Self {
        if 1.0 + change >= FACTOR {
            let range = Interval { low: 1.0 + interval.low, high: 1.0 + interval.high };
            return Effect { more: true, size: point(1.0 + change, range), range: between(range, ""), factor: true };
        }
        let more = change > 0.0;
        let Interval { low, high } = interval;
        let range = if more {
            Interval { low: low * 100.0, high: high * 100.0 }
        } else {
            Interval { low: high * -100.0, high: low * -100.0 }
        };
        let size = format!("{}{TIE}%", point(change.abs() * 100.0, range));
        Effect { more, size, range: between(range, &format!("{TIE}%")), factor: false }
    }

    /// Returns the change relative to the reference command: `38.2 % more`, `3.2 times as much`, `3.1 % less`.
    pub fn relative(&self) -> String {
        self.relative_with("less")
    }

    /// As [`Effect::relative`], for the noun of a metric: `50 % fewer`.
    pub fn relative_of(&self, metric: Metric) -> String {
        self.relative_with(less(metric))
    }

    fn relative_with(&self, less: &str) -> String {
        match (self.factor, self.more) {
            (true, _) => format!("{}{TIE}times as much", self.size),
            (false, true) => format!("{}{TIE}more", self.size),
            (false, false) => format!("{}{TIE}{less}", self.size),
        }
    }
}

/// Returns the opposite of *more* in front of the noun of a metric: `fewer` instructions, `less` CPU time.
pub fn less(metric: Metric) -> &'static str {
    match metric {
        Metric::Instructions | Metric::Faults | Metric::Switches => "fewer",
        Metric::Cpu | Metric::Elapsed | Metric::Wall | Metric::Memory | Metric::Energy | Metric::Custom(_) => "less",
    }
}

/// Returns a verdict in a few words: `5.8 % more`, `less`, `same`. The size is included if its interval agrees with the
/// verdict.
pub fn verdict_in_words(verdict: Verdict, change: &Reading<f64>, interval: &Reading<Interval>) -> String {
    match (verdict, change, interval) {
        (Verdict::Same, ..) => "same".to_owned(),
        (Verdict::Undecided, ..) => "undecided".to_owned(),
        (Verdict::Slower, Ok(change), Ok(interval)) if *change > 0.0 && interval.low > 0.0 => {
            Effect::of(*change, *interval).relative()
        }
        (Verdict::Faster, Ok(change), Ok(interval)) if *change < 0.0 && interval.high < 0.0 => {
            Effect::of(*change, *interval).relative()
        }
        (Verdict::Slower, ..) => "more".to_owned(),
        (Verdict::Faster, ..) => "less".to_owned(),
    }
}

/// Returns the sentence that says whether a condition of `--fail-if` on a metric holds, from the interval of the change
/// if there is one. `of` names what it is about, after a blank, or is empty.
pub fn condition(fail_if: FailIf, metric: Metric, state: GateState, interval: Option<Interval>, of: &str) -> Sentence {
    let plain = |text: String| (Emphasis::Plain, text);
    let (emphasis, holds, why) = match state {
        GateState::Holds => (Emphasis::More, "holds", decided_because(fail_if.limit(metric), interval)),
        GateState::DoesNotHold => (Emphasis::Same, "does not hold", decided_because(fail_if.limit(metric), interval)),
        GateState::Open => {
            (Emphasis::Open, "is open", format!(": {}", undecided_because(fail_if.limit(metric), interval)))
        }
    };
    vec![plain(format!("The condition {fail_if} ")), (emphasis, holds.to_owned()), plain(format!("{of}{why}."))]
}

/// Returns why a condition holds or does not hold, after a colon, if an end of the interval is printed as the limit
/// elsewhere. Else it is empty, because the interval shows it.
fn decided_because(limit: f64, interval: Option<Interval>) -> String {
    let Some(Interval { low, high }) = interval.filter(|interval| interval.half_width().is_finite()) else {
        return String::new();
    };
    let range = Interval { low: low * 100.0, high: high * 100.0 };
    let decimals = decimals_apart(range, &[100.0 * limit]);
    if decimals == digits(range) {
        return String::new();
    }
    let side = match (low > limit, high < limit) {
        (true, _) => "above",
        (_, true) => "below",
        _ => return String::new(),
    };
    let (low, high) = (fixed(range.low, decimals), fixed(range.high, decimals));
    format!(": {low} to {high}{TIE}% is {side} {}", setting(limit))
}

/// Returns why a condition is open. The interval has a digit more than elsewhere at least, which shows on which side of
/// the limit its ends are.
fn undecided_because(limit: f64, interval: Option<Interval>) -> String {
    match interval.filter(|interval| interval.holds(limit)) {
        Some(Interval { low, high }) if low.is_finite() && high.is_finite() => {
            let range = Interval { low: low * 100.0, high: high * 100.0 };
            let decimals = decimals_apart(range, &[100.0 * limit]).max(digits(range) + 1);
            let (low, high) = (fixed(range.low, decimals), fixed(range.high, decimals));
            format!("{} lies between {low} and {high}{TIE}%", setting(limit))
        }
        _ => "the data do not decide it".to_owned(),
    }
}

/// Returns a change with its sign, and its interval: (`+5.1 %`, `3.3 to 7.0 %`).
pub fn signed(change: f64, interval: Interval) -> (String, String) {
    let range = Interval { low: interval.low * 100.0, high: interval.high * 100.0 };
    (plus(format!("{}{TIE}%", point(change * 100.0, range))), between(range, &format!("{TIE}%")))
}

/// Adds a plus sign to a formatted change, unless it has a minus sign or is rounded to zero.
pub fn plus(text: String) -> String {
    let is_positive = !text.starts_with('-') && text.contains(|letter| matches!(letter, '1'..='9'));
    if is_positive { format!("+{text}") } else { text }
}

/// As [`signed`], but a change that sentences have as a factor is one here, too: (`6.9 times`, `6.8 to 7.0`).
pub fn sized(change: f64, interval: Interval) -> (String, String) {
    let effect = Effect::of(change, interval);
    match effect.factor && interval.low > 0.0 {
        true => (format!("{}{TIE}times", effect.size), effect.range),
        false => signed(change, interval),
    }
}

/// As [`signed`], for an undecided change. If an end of the interval would be printed as 0 or as the resolution, there
/// are more digits, which show on which side of it the end is.
pub fn signed_apart(change: f64, interval: Interval, resolution: f64) -> (String, String) {
    if !interval.half_width().is_finite() {
        return signed(change, interval);
    }
    let range = Interval { low: interval.low * 100.0, high: interval.high * 100.0 };
    let decimals = decimals_apart(range, &[0.0, -100.0 * resolution, 100.0 * resolution]);
    let [change, low, high] = [change * 100.0, range.low, range.high].map(|value| fixed(value, decimals));
    (plus(format!("{change}{TIE}%")), format!("{low} to {high}{TIE}%"))
}

/// Returns the decimals of a finite interval, and more of them if an end would be printed as one of the limits.
fn decimals_apart(range: Interval, limits: &[f64]) -> usize {
    /// The most digits to add.
    const MORE: usize = 3;
    let first = digits(range);
    let meets = |end: f64, decimals: usize| {
        limits.iter().any(|limit| *limit != end && fixed(*limit, decimals) == fixed(end, decimals))
    };
    let is_apart = |decimals: &usize| ![range.low, range.high].into_iter().any(|end| meets(end, *decimals));
    (first..first + MORE).find(is_apart).unwrap_or(first + MORE)
}

/// Formats an estimate with the digits that its interval supports.
fn point(value: f64, range: Interval) -> String {
    fixed(value, if range.half_width().is_finite() { digits(range) } else { decimals_of(value, 2) })
}

/// Returns what a metric measures: `CPU time`.
pub fn noun(metric: Metric) -> Cow<'static, str> {
    match metric {
        Metric::Cpu => "CPU time".into(),
        Metric::Elapsed => "elapsed time".into(),
        Metric::Wall => "wall time".into(),
        Metric::Memory => "peak memory".into(),
        Metric::Instructions => "instructions".into(),
        Metric::Faults => "page faults".into(),
        Metric::Switches => "voluntary context switches".into(),
        Metric::Energy => "energy".into(),
        Metric::Custom(custom) => custom.name().to_owned().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(change: f64, low: f64, high: f64) -> (String, String) {
        let effect = Effect::of(change, Interval { low, high });
        (effect.relative().replace(TIE, " "), effect.range.replace(TIE, " "))
    }

    #[test]
    fn effects_are_percentages_or_factors() {
        assert_eq!(plain(0.382, 0.379, 0.385), ("38.2 % more".into(), "37.9 to 38.5 %".into()));
        assert_eq!(plain(-0.031, -0.033, -0.029), ("3.10 % less".into(), "2.90 to 3.30 %".into()));
        assert_eq!(plain(2.2, 2.16, 2.24), ("3.20 times as much".into(), "3.16 to 3.24".into()));
        assert_eq!(plain(-0.6875, -0.70, -0.675), ("68.8 % less".into(), "67.5 to 70.0 %".into()));
        assert_eq!(plain(0.5, 0.02, f64::INFINITY), ("50 % more".into(), "2.0 % or more".into()));
    }

    #[test]
    fn events_are_fewer() {
        let effect = Effect::of(-0.5, Interval { low: -0.52, high: -0.48 });
        assert_eq!(effect.relative_of(Metric::Switches).replace(TIE, " "), "50.0 % fewer");
        assert_eq!(effect.relative_of(Metric::Cpu).replace(TIE, " "), "50.0 % less");
    }

    #[test]
    fn a_change_in_a_table_is_a_factor_where_it_is_one_in_a_sentence() {
        let shown = |change, low, high| {
            let (size, range) = sized(change, Interval { low, high });
            format!("{size} ({range})").replace(TIE, " ")
        };
        assert_eq!(shown(5.88, 5.84, 5.92), "6.88 times (6.84 to 6.92)");
        assert_eq!(shown(0.382, 0.379, 0.385), "+38.2 % (37.9 to 38.5 %)");
        assert_eq!(shown(1.5, -0.2, 6.0), "+150 % (-20 to 600 %)");
    }

    #[test]
    fn changes_have_their_sign() {
        let shown = |change: f64| signed(change, Interval { low: -0.1, high: 2.0 }).0.replace(TIE, " ");
        assert_eq!([shown(1.28), shown(-0.05), shown(0.0)], ["+128 %", "-5 %", "0 %"]);
    }

    #[test]
    fn an_undecided_end_near_a_limit_has_one_more_digit() {
        let apart = |low, high| signed_apart(0.02, Interval { low, high }, 0.01).1.replace(TIE, " ");
        assert_eq!(apart(-0.004, 0.084), "-0.4 to 8.4 %");
        assert_eq!(apart(-0.009, 0.07), "-0.9 to 7.0 %");
        assert_eq!(apart(-0.02, 0.07), "-2 to 7 %");
    }

    #[test]
    fn a_condition_shows_on_which_side_of_the_limit_the_interval_is() {
        let words = |fail_if: &str, state, low, high| {
            let fail_if = fail_if.parse().unwrap();
            let spans = condition(fail_if, Metric::Cpu, state, Some(Interval { low, high }), "");
            spans.into_iter().map(|(_, text)| text).collect::<String>().replace(TIE, " ")
        };
        let holds = words("slower>1%", GateState::Holds, 0.0142, 0.08);
        assert_eq!(holds, "The condition slower>1% holds: 1.4 to 8.0 % is above 1 %.");
        let holds = words("faster>1%", GateState::Holds, -0.08, -0.0142);
        assert_eq!(holds, "The condition faster>1% holds: -8.0 to -1.4 % is below -1 %.");
        let fails = words("slower>1%", GateState::DoesNotHold, -0.08, 0.0098);
        assert_eq!(fails, "The condition slower>1% does not hold: -8.00 to 0.98 % is below 1 %.");
        assert_eq!(words("slower>1%", GateState::Holds, 0.03, 0.11), "The condition slower>1% holds.");
        let open = words("slower>1%", GateState::Open, 0.0097, 0.08);
        assert_eq!(open, "The condition slower>1% is open: 1 % lies between 0.97 and 8.00 %.");
    }

    #[test]
    fn an_end_near_zero_does_not_round_to_zero() {
        assert_eq!(plain(0.004, 0.0004, 0.008), ("0.40 % more".into(), "0.04 to 0.80 %".into()));
        assert_eq!(plain(0.085, 0.0004, 0.207), ("8.50 % more".into(), "0.04 to 20.70 %".into()));
        assert_eq!(plain(-0.085, -0.207, -0.000_02), ("8.500 % less".into(), "0.002 to 20.700 %".into()));
    }
}
