//! Parsers of option values: times, sizes, shares, CPUs, exit statuses.

use std::ops::{Bound, RangeBounds};

use steady_linux::{Root, topology};
use steady_model::{FailureRule, Nanos, NotPercent, parse_percent};

use crate::Failure;

/// Parses a time above zero and up to a year: `10s`, `1m30s`, `500ms`, or a number of seconds.
///
/// # Errors
/// The text is not such a time. The error says what to write instead.
pub fn duration(text: &str) -> Result<Nanos, String> {
    /// A year, which keeps all sums of nanoseconds far from overflow.
    const LONGEST_SECONDS: f64 = 365.0 * 86_400.0;
    let seconds =
        seconds(text).ok_or("write a number with a unit, as in 500ms, 10s, 1m30s or 2h, or a number of seconds")?;
    let nanos = Nanos::from_seconds(seconds);
    match seconds <= LONGEST_SECONDS && nanos > Nanos::ZERO {
        true => Ok(nanos),
        false => Err("it must be longer than 0 s and at most a year".to_owned()),
    }
}

/// Parses a time above zero of any length, such as the age of a run: `30d`, `12h`, `1year`, or a number of seconds.
///
/// # Errors
/// The text is not such a time. The error says what to write instead.
pub fn age(text: &str) -> Result<Nanos, String> {
    let age = seconds(text).filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    age.map(Nanos::from_seconds)
        .ok_or_else(|| "write a time longer than 0 s with a unit, as in 30d, 12h or 1year".to_owned())
}

/// Parses a number of seconds, or numbers with units.
fn seconds(text: &str) -> Option<f64> {
    let number = text.trim().parse().ok();
    number.or_else(|| Some(humantime::parse_duration(text).ok()?.as_secs_f64()))
}

/// Parses a time above zero and up to a day.
///
/// # Errors
/// The text is not such a time. The error says what to write instead.
pub fn span(text: &str) -> Result<Nanos, String> {
    /// A day. A longer time is probably a typing error.
    const LONGEST: Nanos = Nanos(86_400_000_000_000);
    match duration(text) {
        Ok(time) if time > LONGEST => Err("it must be at most a day".to_owned()),
        Err(why) if why.contains("a year") => Err("it must be longer than 0 s and at most a day".to_owned()),
        other => other,
    }
}

/// Parses a number of bytes, with a unit as in dd(1): `131072`, `128K`, `128KiB`, `1M`, `1MB` (a million).
///
/// # Errors
/// The text is not such a number. The error says what to write instead.
pub fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 11] = [
        ("", 1),
        ("B", 1),
        ("K", 1 << 10),
        ("KiB", 1 << 10),
        ("kB", 1_000),
        ("M", 1 << 20),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("G", 1 << 30),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ];
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let unit = UNITS.iter().find(|(name, _)| *name == unit.trim_start()).map(|(_, bytes)| *bytes);
    let bytes = number.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    bytes.ok_or_else(|| "write a number of bytes, such as 131072, 128K or 1M".to_owned())
}

/// Returns a parser of whole numbers in `range`, whose errors say what to write.
pub fn whole_number<T: TryFrom<u64>>(
    range: impl RangeBounds<u64> + Clone,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        // The parser of the standard library accepts a sign.
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| is_number && range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| match (range.start_bound(), range.end_bound()) {
            (Bound::Included(first), Bound::Included(last)) => {
                format!("it must be a whole number from {first} to {last}")
            }
            _ if is_number && text.bytes().any(|byte| byte != b'0') => "it is too large".to_owned(),
            (Bound::Included(first), _) => format!("it must be a whole number, at least {first}"),
            _ => "it must be a whole number".to_owned(),
        })
    }
}

/// Parses a resolution: above 0 and below 100 %.
///
/// # Errors
/// The text is not such a share. The error says what to write instead.
pub(super) fn resolution(text: &str) -> Result<f64, String> {
    match parse_percent(text) {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        Err(NotPercent(Some(advice))) if advice != "0%" => Err(format!("a share has a % sign: write {advice}")),
        _ => Err("write a share between 0 and 100 %, such as 1% or 0.5%".to_owned()),
    }
}

/// Parses a confidence: from 50 % to below 100 %. A number below 1 needs no `%`, because as a percentage it would be
/// below 50 %.
///
/// # Errors
/// The text is not such a share. The error says what to write instead.
pub(super) fn confidence(text: &str) -> Result<f64, String> {
    let share = parse_percent(text).ok().or_else(|| text.parse().ok());
    share
        .filter(|share| (0.5..1.0).contains(share))
        .ok_or_else(|| "write a share from 50 % to below 100 %, such as 95% or 0.95".to_owned())
}

/// Returns the CPUs of `--cpus`, if the option was given.
///
/// # Errors
/// The list is empty or malformed, or this process may not use one of the CPUs.
pub fn chosen_cpus(list: Option<&str>) -> Result<Option<Vec<usize>>, Failure> {
    let Some(list) = list else { return Ok(None) };
    let usage = |why: String| Failure::Usage(format!("--cpus '{list}': {why}"));
    let wanted = topology::parse_cpu_list(list).map_err(|reason| usage(reason.to_string()))?;
    let allowed = topology::allowed_cpus(&Root::default()).map_err(|reason| usage(reason.to_string()))?;
    match wanted.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(usage(format!("CPU {cpu} is not among the allowed CPUs ({allowed:?})"))),
        None if wanted.is_empty() => Err(usage("it names no CPU".to_owned())),
        None => Ok(Some(wanted)),
    }
}

/// The value of `--ignore-failure`: exit statuses that count as successes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoredFailures {
    /// Every exit status counts as a success.
    All,
    /// These exit statuses count as successes.
    Codes(Vec<i32>),
}

impl std::str::FromStr for IgnoredFailures {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(IgnoredFailures::All);
        }
        let code = |word: &str| match word.trim().parse() {
            Ok(code) if (0..=255).contains(&code) => Ok(code),
            _ => Err(format!("'{word}' is not an exit status; write 1 or 1,3")),
        };
        text.split(',').map(code).collect::<Result<_, _>>().map(IgnoredFailures::Codes)
    }
}

/// The rule for failed runs that follows from `--ignore-failure`.
pub fn failures(flag: Option<&IgnoredFailures>) -> FailureRule {
    match flag {
        None => FailureRule::Abort,
        Some(IgnoredFailures::All) => FailureRule::IgnoreAll,
        Some(IgnoredFailures::Codes(codes)) => FailureRule::IgnoreCodes(codes.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_units() {
        assert_eq!(duration("10"), Ok(Nanos(10_000_000_000)));
        assert_eq!(duration("0.5"), Ok(Nanos(500_000_000)));
        assert_eq!(duration("1m30s"), Ok(Nanos(90_000_000_000)));
        assert_eq!(duration("500ms"), Ok(Nanos(500_000_000)));
        for wrong in ["", "0", "-1", "nan", "inf", "1e30", "10x", "ten", "2years"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans_are_no_longer_than_a_day() {
        assert_eq!(span("5s"), Ok(Nanos(5_000_000_000)));
        assert_eq!(span("24h"), Ok(Nanos(86_400_000_000_000)));
        for wrong in ["0", "0s", "25h", "3days", "2years", "-1", "x"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
        assert!(span("2days").unwrap_err().contains("a day") && span("2years").unwrap_err().contains("a day"));
    }

    #[test]
    fn sizes_have_units() {
        let known = [("131072", 131_072), ("128K", 131_072), ("1 MiB", 1 << 20), ("1MB", 1_000_000), ("2G", 2 << 30)];
        for (text, bytes) in known {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "K", "-1", "1.5M", "1Q", "99999999999999999999", "99999999999G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_have_a_range() {
        let (any, some, few) = (whole_number::<u64>(..), whole_number::<u32>(1..), whole_number::<u32>(6..=100));
        assert_eq!((any("0"), some("4294967295"), few("6"), few("100")), (Ok(0), Ok(u32::MAX), Ok(6), Ok(100)));
        for wrong in ["", "x", "1.5", "-1", "+1"] {
            assert_eq!(any(wrong), Err("it must be a whole number".to_owned()), "{wrong}");
        }
        assert_eq!(some("0"), Err("it must be a whole number, at least 1".to_owned()));
        for large in ["4294967296", "99999999999999999999"] {
            assert_eq!(some(large), Err("it is too large".to_owned()), "{large}");
        }
        for wrong in ["5", "101", "99999999999999999999", "x"] {
            assert_eq!(few(wrong), Err("it must be a whole number from 6 to 100".to_owned()), "{wrong}");
        }
    }

    #[test]
    fn shares_have_bounds() {
        assert_eq!(resolution("1%"), Ok(0.01));
        assert_eq!(confidence("0.99"), Ok(0.99));
        assert_eq!(resolution("0.5"), Err("a share has a % sign: write 0.5% or 50%".to_owned()));
        assert_eq!(resolution("0"), resolution("0%"), "no advice that is refused");
        for wrong in ["0%", "100%", "x", "-1%", "0.01", "1"] {
            assert!(resolution(wrong).is_err(), "{wrong}");
        }
        for wrong in ["100%", "10%", "1.5"] {
            assert!(confidence(wrong).is_err(), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_positive_time_or_refused(text in ".*|[0-9.]{0,12}(ns|us|ms|s|m|h|days|years)?") {
            if let Ok(time) = duration(&text) {
                proptest::prop_assert!(time > Nanos::ZERO);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_list_of_statuses_causes_no_panic(text in ".*") {
            let _ = text.parse::<IgnoredFailures>();
        }
    }

    #[test]
    fn ignored_statuses_are_read() {
        assert_eq!("all".parse(), Ok(IgnoredFailures::All));
        assert_eq!("1,3".parse(), Ok(IgnoredFailures::Codes(vec![1, 3])));
        for wrong in ["", "x", "256", "-1", "1,"] {
            assert!(wrong.parse::<IgnoredFailures>().is_err(), "{wrong}");
        }
    }
}
